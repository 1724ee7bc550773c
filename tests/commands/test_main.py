"""The command line: what it prints and writes, and one sentence with exit code 2 for bad input."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from rich.console import Console

from projected_kmeans import ProjectedKMeans
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.results import FitState
from tests.support.commands import ROWS, TRUTH, Call, check_refusal

# --- fit -----------------------------------------------------------------------------------------


def test_fit_prints_a_summary(call: Call, data: Path) -> None:
    """The fit prints data, clusters and scores, is silent on stderr, and writes nothing unasked."""
    run = call("fit", data, "-k", 3)
    assert run.code == 0, run
    assert run.err == ""
    assert "rows.npy, 60 x 12 float64" in run.out
    assert "3 of 20 to 20 rows, median 20" in run.out
    assert "accuracy" not in run.out
    assert list(data.parent.iterdir()) == [data]


def test_fit_json_is_one_object(call: Call, data: Path) -> None:
    """With --json, stdout is exactly the JSON document and stderr is empty."""
    run = call("fit", data, "-k", 3, "--json")
    assert (run.code, run.err, run.out.count("\n")) == (0, "", 1)
    document = json.loads(run.out)
    assert document["data"] == {"name": "rows.npy", "shape": [60, 12], "dtype": "float64"}
    assert document["results"]["cluster_sizes"] == [20, 20, 20]
    assert document["results"]["accuracy"] is None
    assert document["parameters"]["random_state"] == 0


def test_fit_passes_every_option(call: Call, data: Path) -> None:
    """Every flag reaches the estimator under its own name."""
    options = (
        "--components 5 --eps 0.2 --projection gaussian --solver hartigan --n-init 2 --max-iter 9 "
        "--seed 7 --polish 1 --threads 1"
    )
    run = call("fit", data, "-k", 3, *options.split(), "--json")
    assert run.code == 0, run
    expected = {
        "n_clusters": 3,
        "n_components": 5,
        "eps": 0.2,
        "projection": "gaussian",
        "solver": "hartigan",
        "n_init": 2,
        "max_iter": 9,
        "random_state": 7,
        "polish_iter": 1,
        "n_threads": 1,
    }
    assert expected.items() <= json.loads(run.out)["parameters"].items()


def test_defaults_are_the_estimators(call: Call, data: Path) -> None:
    """Flags that are left out mean what the estimator's own defaults mean, but for the seed."""
    parameters = json.loads(call("fit", data, "-k", 3, "--json").out)["parameters"]
    defaults = ProjectedKMeans(3, random_state=0).get_params()
    assert parameters == defaults


def test_projection_none(call: Call, data: Path) -> None:
    """--projection none clusters in the original space."""
    document = json.loads(call("fit", data, "-k", 3, "--projection", "none", "--json").out)
    assert document["parameters"]["projection"] is None
    assert document["results"]["n_components"] == 12


def test_fit_writes_what_the_library_computes(call: Call, data: Path, tmp_path: Path) -> None:
    """--out holds the labels and centers that the estimator finds with the same parameters."""
    run = call("fit", data, "-k", 3, "--seed", 5, "--out", tmp_path / "a" / "b")
    assert run.code == 0, run
    names = ["centers.npy", "labels.npy", "model.json", "report.json", "result.json"]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == names
    model = ProjectedKMeans(3, random_state=5).fit(ROWS)
    np.testing.assert_array_equal(np.load(tmp_path / "a/b/labels.npy"), model.labels_)
    np.testing.assert_array_equal(np.load(tmp_path / "a/b/centers.npy"), model.cluster_centers_)
    assert json.loads((tmp_path / "a/b/result.json").read_text())["key"] == model.key_


def test_same_command_same_bytes(call: Call, data: Path, tmp_path: Path) -> None:
    """Two runs of one command write the same labels, centers and model."""
    for name in ("first", "second"):
        call("fit", data, "-k", 3, "--out", tmp_path / name)
    for file in ("labels.npy", "centers.npy", "model.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


def test_accuracy_from_the_data_or_from_a_file(call: Call, tmp_path: Path) -> None:
    """P is computed from labels in the data file, or from --labels, which counts more."""
    scipy.io.savemat(tmp_path / "rows.mat", {"fea": ROWS, "gnd": TRUTH})
    assert "accuracy P     1.0000" in call("fit", tmp_path / "rows.mat", "-k", 3).out
    (tmp_path / "truth.csv").write_text("\n".join(["one"] * 60))
    run = call("fit", tmp_path / "rows.mat", "-k", 3, "--labels", tmp_path / "truth.csv", "--json")
    assert json.loads(run.out)["results"]["accuracy"] == pytest.approx(1 / 3)


def test_fit_reads_by_variable_and_format(call: Call, tmp_path: Path) -> None:
    """--variable and --format reach the reader."""
    with (tmp_path / "rows.data").open("wb") as handle:
        np.savez(handle, a=ROWS, b=ROWS[:, :5])
    run = call(
        "fit", tmp_path / "rows.data", "--format", "npz", "--variable", "b", "-k", 3, "--json"
    )
    assert json.loads(run.out)["data"]["shape"] == [60, 5]


def test_warnings_are_one_line(call: Call, tmp_path: Path) -> None:
    """Fewer distinct points than clusters are a warning on stderr, and a result."""
    np.save(tmp_path / "rows.npy", np.repeat(np.eye(2), 5, axis=0))
    run = call("fit", tmp_path / "rows.npy", "-k", 4, "--json")
    assert run.code == 0, run
    json.loads(run.out)
    assert run.err.startswith("projected-kmeans: warning: ")
    assert run.err.count("\n") == 1


def test_fit_within_a_time_budget(call: Call, data: Path) -> None:
    """A spent budget ends the fit with a result and exit code 0; the summary says why."""
    run = call("fit", data, "-k", 3, "--time-budget", 0, "--inertia-tol", 0.01)
    assert (run.code, run.err) == (0, "")
    assert "1 (time)" in run.out
    check_refusal(call("fit", data, "-k", 3, "--time-budget", -1), "time_budget=-1.0")


# --- predict -------------------------------------------------------------------------------------


def test_predict_prints_labels(call: Call, data: Path, model: Path) -> None:
    """Without --out, predict prints one label a line: those of the fit, for the same rows."""
    run = call("predict", model, data)
    assert (run.code, run.err) == (0, "")
    np.testing.assert_array_equal(
        [int(line) for line in run.out.splitlines()], np.load(model / "labels.npy")
    )


def test_predict_writes_labels(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--out writes .npy or .csv with the same labels."""
    for name in ("labels.npy", "labels.csv"):
        run = call("predict", model / "model.json", data, "--out", tmp_path / "new" / name)
        assert run.out == f"60 labels written to {tmp_path / 'new' / name}\n"
    expected = np.load(model / "labels.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "new/labels.npy"), expected)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "new/labels.csv", dtype=int), expected)
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_predict_json(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """--json gives one object: the labels, or the name of the file that has them."""
    document = json.loads(call("predict", model, data, "--json").out)
    assert document["n_samples"] == 60
    assert document["labels"] == np.load(model / "labels.npy").tolist()
    run = call("predict", model, data, "--json", "--out", tmp_path / "labels.npy")
    assert json.loads(run.out) == {"data": "rows.npy", "n_samples": 60, "out": "labels.npy"}


def test_headers_are_compared(call: Call, tmp_path: Path) -> None:
    """Columns in another order than at the fit are refused; the same order is fine."""
    header = "a,b,c,d,e,f,g,h,i,j,k,l"
    for name, names in (("fit", header), ("same", header), ("other", header[::-1])):
        np.savetxt(tmp_path / f"{name}.csv", ROWS, delimiter=",", header=names, comments="")
    assert call("fit", tmp_path / "fit.csv", "-k", 3, "--out", tmp_path / "model").code == 0
    run = call("predict", tmp_path / "model", tmp_path / "same.csv")
    assert (run.code, run.err) == (0, "")
    run = call("predict", tmp_path / "model", tmp_path / "other.csv")
    check_refusal(run, "'l' in column 1 where the model has 'a'")


# --- help ----------------------------------------------------------------------------------------


def test_help_teaches_with_an_example(call: Call) -> None:
    """The help of every command holds a line that can be typed."""
    for command in ([], ["demo"], ["fit"], ["predict"]):
        run = call(*command, "--help")
        assert (run.code, run.err) == (0, "")
        assert "  projected-kmeans " in run.out
    assert call().out == call("--help").out


def test_version(call: Call) -> None:
    """--version names the program and its version."""
    assert call("--version").out.startswith("projected-kmeans, version ")


def test_mistyped_words_get_suggestions(call: Call, data: Path) -> None:
    """A mistyped option or command is refused in one sentence, the option with its neighbour."""
    check_refusal(call("fit", data, "-k", 3, "--componets", 5), "--componets", "--components")
    check_refusal(call("fitt", data), "no such command", "did you mean 'fit'?")
    check_refusal(call("fit", data), "Missing option", "-k")
    check_refusal(call("fit"), "Missing argument", "DATA")


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("-k 61", ["61", "60"]),
        ("-k 0", ["n_clusters", "0"]),
        ("-k -3", ["n_clusters", "-3"]),
        ("-k many", ["many"]),
        ("-k 3 --components 13", ["n_components=13", "12"]),
        ("-k 3 --components 0", ["n_components", "0"]),
        ("-k 3 --components few", ["few", "auto"]),
        ("-k 3 --eps 0", ["eps", "0"]),
        ("-k 3 --eps 1", ["eps", "1"]),
        ("-k 3 --eps -0.5", ["eps", "-0.5"]),
        ("-k 3 --eps nan", ["eps", "nan"]),
        ("-k 3 --max-iter 0", ["max_iter", "0"]),
        ("-k 3 --n-init 0", ["n_init", "0"]),
        ("-k 3 --polish -1", ["polish_iter", "-1"]),
        ("-k 3 --threads 0", ["n_threads", "0"]),
        ("-k 3 --seed -1", ["-1"]),
        ("-k 3 --projection other", ["other", "sign"]),
        ("-k 3 --solver other", ["other", "lloyd"]),
        ("-k 3 --variable X", ["variable='X'"]),
        ("-k 3 --format mat", ["rows.npy", ".mat"]),
        ("-k 3 --labels none.csv", ["none.csv does not exist"]),
    ],
)
def test_bad_options(
    call: Call, data: Path, tmp_path: Path, options: str, parts: list[str]
) -> None:
    """A value that cannot be is refused in one sentence, and no folder is left behind."""
    run = call("fit", data, *options.split(), "--out", tmp_path / "out" / "deep")
    check_refusal(run, *parts)
    assert not (tmp_path / "out").exists()


def with_value(value: float) -> np.ndarray:
    """Return the rows with one bad value."""
    rows = ROWS.copy()
    rows[17, 4] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (with_value(np.nan), ["row 17", "column 4"]),
        (with_value(np.inf), ["row 17", "column 4"]),
        (with_value(-np.inf).astype(np.float32), ["row 17", "column 4"]),
        (ROWS * 1j, ["complex"]),
        (np.array([["a", "b"], ["c", "d"]]), ["<U1", "numbers"]),
        (np.arange(5.0), ["shape (5,)"]),
        (np.zeros((0, 4)), ["shape (0, 4)"]),
        (np.zeros((4, 0)), ["shape (4, 0)"]),
    ],
)
def test_bad_arrays(call: Call, tmp_path: Path, rows: Any, parts: list[str], model: Path) -> None:
    """Data that cannot be clustered is refused in one sentence by fit and by predict."""
    np.save(tmp_path / "bad.npy", rows)
    before = sorted(tmp_path.rglob("*"))
    check_refusal(call("fit", tmp_path / "bad.npy", "-k", 2, "--out", tmp_path / "out"), *parts)
    run = call("predict", model, tmp_path / "bad.npy", "--out", tmp_path / "new" / "labels.npy")
    check_refusal(run, *parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("extension", ["npy", "npz", "mat", "csv", "tsv", "xyz"])
def test_damaged_data(call: Call, tmp_path: Path, extension: str) -> None:
    """A damaged file of any format is refused by name."""
    path = tmp_path / f"rows.{extension}"
    path.write_bytes(b"\x93NUMPY\x01 cut short")
    check_refusal(call("fit", path, "-k", 2, "--out", tmp_path / "out"), str(path))
    assert list(tmp_path.iterdir()) == [path]


def test_other_features_at_predict(call: Call, model: Path, tmp_path: Path) -> None:
    """Rows of another width than the model's are refused with both numbers."""
    np.save(tmp_path / "narrow.npy", ROWS[:, :7])
    check_refusal(call("predict", model, tmp_path / "narrow.npy"), "7", "12")


def test_labels_of_another_length(call: Call, data: Path, tmp_path: Path) -> None:
    """True labels must be as many as rows."""
    np.save(tmp_path / "truth.npy", TRUTH[:-1])
    run = call("fit", data, "-k", 3, "--labels", tmp_path / "truth.npy")
    check_refusal(run, "59 labels for 60 rows")


def test_models_that_are_none(call: Call, data: Path, tmp_path: Path) -> None:
    """A folder without a model is refused."""
    check_refusal(call("predict", tmp_path, data), "model.json does not exist")


@pytest.mark.parametrize("command", ["fit", "demo", "predict"])
def test_output_is_checked_before_the_work(
    call: Call, data: Path, model: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output path under a regular file is refused before any long work, and nothing is left."""

    def work(*arguments: object, **options: object) -> None:
        pytest.fail("the work has started")

    for module, name in (("demo", "run_demo"), ("fit", "open_data"), ("predict", "load_model")):
        monkeypatch.setattr(f"projected_kmeans.commands.{module}.{name}", work)
    before = sorted(data.parent.rglob("*"))
    out = data / "deep" / "labels.npy"
    arguments: dict[str, list[object]] = {
        "fit": [data, "-k", 3],
        "demo": ["--n-samples", 400],
        "predict": [model, data],
    }
    check_refusal(call(command, *arguments[command], "--out", out), "cannot be written", str(data))
    assert sorted(data.parent.rglob("*")) == before


def test_label_files_of_other_formats(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """The labels go to .npy, .csv and .parquet only, to a file that is no folder."""
    check_refusal(
        call("predict", model, data, "--out", tmp_path / "a.txt"), "use .npy, .csv or .parquet"
    )
    (tmp_path / "folder.npy").mkdir()
    check_refusal(call("predict", model, data, "--out", tmp_path / "folder.npy"), "is a folder")


def test_too_little_memory(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory is one sentence too."""

    def work(*arguments: object, **options: object) -> None:
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr("projected_kmeans.commands.fit.open_data", work)
    check_refusal(call("fit", data, "-k", 3), "Unable to allocate 7 TiB")


def test_interruption_leaves_nothing(
    call: Call, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends with one line, exit code 130 and no empty folder."""

    def work(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("projected_kmeans.commands.fit.open_data", work)
    run = call("fit", data, "-k", 3, "--out", tmp_path / "out")
    assert run.code == 130
    assert run.err.strip() == "projected-kmeans: interrupted"
    assert not (tmp_path / "out").exists()


# --- progress ------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_progress_on_a_terminal() -> None:
    """On a terminal every step that the callback hears of is drawn, and nothing is stopped."""
    stream = Terminal()
    with show_progress(Console(file=stream, force_terminal=True, width=160)) as callback:
        assert callback is not None
        assert callback(FitState("reduce", 0, 3, 3, None, 0.1)) is False
        assert callback(FitState("cluster", 1, 5, 300, 1234.5, 0.2, 25.0, 11.8, 3e6)) is False
    for part in ("reduce", "cluster", "25 passes/s", "3 MB/s", "at most 11.8 s left", "restart 2"):
        assert part in stream.getvalue()


def test_no_progress_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe there is no callback and no output, even where colours are forced."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with show_progress(Console(file=stream)) as callback:
        assert callback is None
    assert stream.getvalue() == ""

"""The command ``fit``: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from projected_kmeans import ProjectedKMeans
from tests.support.commands import ROWS, TRUTH, Call, check_refusal


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


def test_limits_of_cluster_sizes(call: Call, data: Path) -> None:
    """Clusters keep the limits that options give, and impossible ones are refused."""
    sizes = ["--min-cluster-size", 10, "--max-cluster-size", 18]
    for options, wanted in ((["--balanced"], {15}), (sizes, set(range(10, 19)))):
        run = call("fit", data, "-k", 4, *options, "--json")
        assert run.code == 0, run
        assert set(json.loads(run.out)["results"]["cluster_sizes"]) <= wanted
    check_refusal(
        call("fit", data, "-k", 4, "--max-cluster-size", 14), "--max-cluster-size 14 have no room"
    )


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


def test_fit_within_a_time_budget(call: Call, data: Path) -> None:
    """A spent budget ends the fit with a result and exit code 0; the summary says why."""
    run = call("fit", data, "-k", 3, "--time-budget", 0, "--inertia-tol", 0.01)
    assert (run.code, run.err) == (0, "")
    assert "1 (time)" in run.out
    check_refusal(call("fit", data, "-k", 3, "--time-budget", -1), "--time-budget -1.0")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("-k 61", ["61", "60"]),
        ("-k 0", ["--clusters 0"]),
        ("-k -3", ["--clusters -3"]),
        ("-k many", ["many"]),
        ("-k 3 --components 13", ["--components 13", "12"]),
        ("-k 3 --components 0", ["--components 0"]),
        ("-k 3 --components few", ["few", "auto"]),
        ("-k 3 --eps 0", ["eps", "0"]),
        ("-k 3 --eps 1", ["eps", "1"]),
        ("-k 3 --eps -0.5", ["eps", "-0.5"]),
        ("-k 3 --eps nan", ["eps", "nan"]),
        ("-k 3 --max-iter 0", ["--max-iter 0"]),
        ("-k 3 --n-init 0", ["--n-init 0"]),
        ("-k 3 --polish -1", ["--polish -1"]),
        ("-k 3 --threads 0", ["--threads 0"]),
        ("-k 3 --seed -1", ["-1"]),
        ("-k 3 --projection other", ["other", "sign"]),
        ("-k 3 --solver other", ["other", "lloyd"]),
        ("-k 3 --variable X", ["--variable X"]),
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


def test_labels_of_another_length(call: Call, data: Path, tmp_path: Path) -> None:
    """True labels must be as many as rows."""
    np.save(tmp_path / "truth.npy", TRUTH[:-1])
    run = call("fit", data, "-k", 3, "--labels", tmp_path / "truth.npy")
    check_refusal(run, "59 labels for 60 rows")

"""The command ``fit``: what it takes, prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io

from projected_kmeans import (
    ProjectedKMeans,
    choose_n_clusters,
    inertia,
    load_model,
    random_projection_kmeans,
)
from tests.support.blobs import draw_blobs
from tests.support.command_tables import NAMES, make_table
from tests.support.commands import ROWS, TRUTH, Call, check_refusal, read_json


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
    for options, wanted in ((["--max-cluster-size", "equal"], {15}), (sizes, set(range(10, 19)))):
        run = call("fit", data, "-k", 4, *options, "--json")
        assert run.code == 0, run
        assert set(json.loads(run.out)["results"]["cluster_sizes"]) <= wanted
    check_refusal(
        call("fit", data, "-k", 4, "--max-cluster-size", 14), "--max-cluster-size 14 have no room"
    )
    check_refusal(
        call("fit", data, "-k", 4, "--max-cluster-size", "even"), "neither 'equal' nor a number"
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
    run = call("fit", data, "-k", 3, "--time-budget", 0, "--tol", 0.01)
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


SIDE = ("--id-column", "name", "--label-column", "kind")


def read_labels_of(path: Path) -> list[int]:
    """Return the last cell of every line but the header."""
    return [int(cells[-1]) for cells in list(csv.reader(path.read_text().splitlines()))[1:]]


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    """Return the table with a column of weights."""
    make_table().assign(mass=np.arange(60) % 4 + 1).to_csv(tmp_path / "w.csv", index=False)
    return tmp_path / "w.csv"


def test_a_column_holds_weights(call: Call, weighted: Path) -> None:
    """The fit is the weighted one of the other columns, and so is its report."""
    out = weighted.parent / "m"
    run = call("fit", weighted, "-k", 3, *SIDE, "--weight-column", "mass", "--out", out)
    assert run.code == 0, run
    table = pd.DataFrame(ROWS, columns=NAMES)
    weights = np.arange(60) % 4 + 1
    model = ProjectedKMeans(3, random_state=0).fit(table, sample_weight=weights)
    result = json.loads((out / "result.json").read_text())["results"]
    assert result["inertia"] == pytest.approx(model.inertia_)
    report = json.loads((out / "report.json").read_text())
    total = sum(one["inertia"] for one in report["clusters"])
    assert total == pytest.approx(model.inertia_)
    words = ("fit", weighted, "-k", 3, *SIDE, "--weight-column")
    check_refusal(call(*words, "massa"), "did you mean 'mass'?")


def test_rows_with_holes_are_skipped_on_request(call: Call, weighted: Path) -> None:
    """Label -1, counted in the summary; a model that skips still does so when it predicts."""
    table = pd.read_csv(weighted)
    table.loc[7, "c3"] = table.loc[9, "mass"] = np.nan
    table.to_csv(weighted, index=False)
    words = ("fit", weighted, "-k", 3, *SIDE, "--weight-column", "mass")
    check_refusal(call(*words), "has nothing on line 9, column 5; ", "--on-missing skip")
    out, labels = weighted.parent / "m", weighted.parent / "l.csv"
    run = call(*words, "--on-missing", "skip", "--out", out, "--out-labels", labels)
    assert run.code == 0, run
    assert "2 rows (label -1), 2 of them because they have a hole" in run.out
    assert np.flatnonzero(np.array(read_labels_of(labels)) < 0).tolist() == [7, 9]
    predict = ("predict", out, weighted, *SIDE, "--drop", "mass")
    assert call(*predict, "--out", labels).code == 0
    assert np.flatnonzero(np.array(read_labels_of(labels)) < 0).tolist() == [7]
    check_refusal(call(*predict, "--on-missing", "error"), "has nothing on line 9, column 5")
    assert call("describe", out, weighted, *SIDE, "--drop", "mass").code == 0


def test_other_commands_leave_rows_with_holes_out(call: Call, weighted: Path) -> None:
    """choose-k, plan and certify name the first hole, or work on the other rows."""
    table = pd.read_csv(weighted)
    table.loc[7, "c3"] = np.nan
    table.to_csv(weighted, index=False)
    labels = weighted.parent / "l.npy"
    np.save(labels, np.where(np.arange(len(table)) == 5, -1, np.arange(len(table)) % 3))
    words = (weighted, "--drop", "kind,name", "--drop", "mass")
    commands: list[tuple[Any, ...]] = [
        ("choose-k", *words, "--range", "2:3", "--no-prove", "--json"),
        ("plan", *words, "-k", 3, "--json"),
        ("certify", weighted, labels, *words[1:], "--json"),
    ]
    found = []
    for command in commands:
        check_refusal(call(*command), "has nothing on line 9, column 5", "--on-missing skip")
        run = call(*command, "--on-missing", "skip")
        assert run.code == 0, run
        found.append(json.loads(run.out))
    rows = table.drop(columns=["kind", "name", "mass"]).drop(index=7)
    expected = choose_n_clusters(rows.to_numpy(), [2, 3], prove=False, random_state=0)
    assert found[0]["inertia"] == pytest.approx(expected.inertia.tolist())
    assert found[1]["sample_rows"] == len(rows)
    kept = rows.drop(index=5)
    assert found[2]["inertia"] == pytest.approx(inertia(kept.to_numpy(), kept.index % 3))


def test_a_model_knows_what_its_fit_left_out(call: Call, weighted: Path) -> None:
    """Columns that the fit was told to leave out are not named by predict; new ones are."""
    out = weighted.parent / "m"
    side = ("--label-column", "kind", "--weight-column", "mass", "--drop", "name")
    assert call("fit", weighted, "-k", 3, *side, "--out", out, "-q").code == 0
    assert call("predict", out, weighted).err == ""
    table = pd.read_csv(weighted)
    table["town"] = "here"
    table.to_csv(weighted, index=False)
    assert call("predict", out, weighted).err == "columns that the model does not know: town\n"
    columns = ",".join(name for name in table if name.startswith("c"))
    assert call("fit", weighted, "-k", 3, "--columns", columns, "--out", out, "-q").code == 0
    assert call("predict", out, weighted).err == ""


def test_weights_that_are_no_numbers_are_named(call: Call, weighted: Path) -> None:
    """By row and column of the file."""
    words = ("fit", weighted, "-k", 3, "--label-column", "kind", "--weight-column", "name")
    check_refusal(call(*words), "has 'row 000' in column 'name', row 0; put a number there")


def test_first_centers_come_from_a_file_or_a_model(
    call: Call, data: Path, model: Path, tmp_path: Path
) -> None:
    """Centers, numbers of rows, a table, or the folder of a model; else a seeding by its name."""
    np.save(tmp_path / "centers.npy", ROWS[[0, 30, 59]])
    np.save(tmp_path / "indices.npy", np.array([0, 30, 59]))
    pd.DataFrame(ROWS[[0, 30, 59]], columns=NAMES).to_csv(tmp_path / "centers.csv", index=False)
    expected = ProjectedKMeans(3, init=ROWS[[0, 30, 59]], random_state=0).fit(ROWS)
    for name in ("centers.npy", "indices.npy", "centers.csv"):
        run = call("fit", data, "-k", 3, "--init", tmp_path / name, "--json")
        found = json.loads(run.out)["results"]["inertia"]
        assert found == pytest.approx(expected.inertia_)
    assert call("fit", data, "-k", 3, "--init", model).code == 0
    assert call("fit", data, "-k", 3, "--init", "random").code == 0
    check_refusal(call("fit", data, "-k", 3, "--init", "rnadom"), "neither a file nor one of")
    (tmp_path / "damaged.npy").write_bytes(b"x")
    check_refusal(call("fit", data, "-k", 3, "--init", tmp_path / "damaged.npy"), "cannot be read")


def test_columns_get_names_from_a_file(call: Call, data: Path, tmp_path: Path) -> None:
    """The model and its report know them; a file of another length is refused."""
    names = [f"word{column}" for column in range(ROWS.shape[1])]
    (tmp_path / "words.txt").write_text("\n".join(names))
    words = ("fit", data, "-k", 3, "--out", tmp_path / "m", "--feature-names")
    assert call(*words, tmp_path / "words.txt").code == 0
    assert load_model(tmp_path / "m").feature_names_in_.tolist() == names
    report = json.loads((tmp_path / "m" / "report.json").read_text())
    assert report["members"][0]["columns"][0]["name"] in names
    (tmp_path / "few.txt").write_text("a\nb\n")
    check_refusal(call(*words, tmp_path / "few.txt"), f"has 2 names for {ROWS.shape[1]} columns")


WIDE = draw_blobs(n=60, d=90, k=3)[0]


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Return a file of rows with more columns than the paper's t."""
    np.save(tmp_path / "wide.npy", WIDE)
    return tmp_path / "wide.npy"


@pytest.mark.parametrize("solver", ["auto", "exact", "orss06", "kss04", "hartigan"])
def test_it_is_the_algorithm_of_the_paper(call: Call, wide: Path, solver: str) -> None:
    """t, F and the bound are those of `random_projection_kmeans` with the same key."""
    words = ("--as-in-paper", "--eps", 0.3, "--solver", solver, "--seed", 4)
    document = read_json(call("fit", wide, "-k", 3, *words, "--json"))
    found = random_projection_kmeans(WIDE, 3, 0.3, solver=solver, random_state=4)
    assert document["results"]["inertia"] == found.inertia
    theorem = document["theorem1"]
    assert (theorem["t"], theorem["rule"], theorem["constant"]) == (34, "boutsidis2010", 1.0)
    assert (theorem["bound"], theorem["statement"]) == (found.bound, found.statement)


def test_the_summary_has_honest_words(call: Call, wide: Path) -> None:
    """T with its rule, F~ and the bound are printed, and that the bound is not proven."""
    words = ("--as-in-paper", "--eps", 0.3, "--solver", "exact")
    run = call("fit", wide, "-k", 3, *words, "--out", wide.parent / "model")
    assert (run.code, run.err) == (0, "")
    assert "t = 34, by the paper's rule t = c k / eps^2, c = 1" in run.out
    assert "normalized F~" in run.out
    assert "F <= 2.3 times the minimum" in run.out
    assert "it is not proven for t = 34 (c = 1): its proof needs t = 20,906,667" in run.out


def test_few_columns_are_told(call: Call, data: Path) -> None:
    """If t would exceed the number of columns, a warning says so and t is that number."""
    run = call("fit", data, "-k", 3, "--as-in-paper", "--eps", 0.3)
    assert run.code == 0
    assert "t = c k / eps^2 = 34 exceeds the 12 columns" in run.err
    assert "t = 12, the number of columns" in run.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("", "--as-in-paper needs an error parameter; give --eps"),
        ("--eps 0.5", "--eps 0.5 is outside (0, 1/3)"),
        ("--eps 0.3 --projection svd", "--projection and --as-in-paper"),
        ("--eps 0.3 --components 9", "--components and --as-in-paper"),
        ("--eps 0.3 --polish 2", "--polish and --as-in-paper"),
        ("--eps 0.3 --n-init 2", "--n-init and --as-in-paper"),
        ("--eps 0.3 --metric cosine", "no metric but euclidean"),
    ],
)
def test_contradictions_are_refused(call: Call, wide: Path, words: str, part: str) -> None:
    """What --as-in-paper decides cannot be given as well."""
    check_refusal(call("fit", wide, "-k", 3, "--as-in-paper", *words.split()), part)

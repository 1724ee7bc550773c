"""Weights, first centers, names of columns and rows with holes on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projected_kmeans import ProjectedKMeans, choose_n_clusters, inertia, load_model
from tests.support.command_tables import NAMES, make_table
from tests.support.commands import ROWS, Call, check_refusal

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

"""The rows that represent clusters, as ``fit`` and ``predict`` write them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import load_model
from tests.support.command_tables import IDS, NAMES, make_table
from tests.support.commands import Call, check_refusal


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file as mappings."""
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_representatives_are_written_with_ids(
    call: Call, table: Path, tmp_path: Path, command: str
) -> None:
    """Both commands write the nearest rows with ids, those of the method of the model."""
    columns = ["--id-column", "name", "--drop", "kind"]
    asked = ["--representatives", tmp_path / "new" / "nearest.csv", "--n-representatives", 2]
    fit = ["fit", table, "-k", 3, *columns, "--out", tmp_path / "model", "--quiet"]
    if command == "fit":
        assert call(*fit, *asked).code == 0
    else:
        assert call(*fit).code == 0
        run = call("predict", tmp_path / "model", table, *columns, *asked, "--json")
        assert (run.code, run.err) == (0, "")
    found = load_model(tmp_path / "model").representatives(make_table()[NAMES], 2)
    lines = read_table(tmp_path / "new" / "nearest.csv")
    assert list(lines[0]) == ["cluster", "rank", "row", "name", "distance"]
    assert [int(line["row"]) for line in lines] == found.rows.ravel().tolist()
    assert [line["name"] for line in lines] == [IDS[row] for row in found.rows.ravel()]
    assert [(line["cluster"], line["rank"]) for line in lines[:3]] == [
        ("0", "1"),
        ("0", "2"),
        ("1", "1"),
    ]
    np.testing.assert_allclose([float(line["distance"]) for line in lines], found.distances.ravel())


def test_the_place_is_checked_before_the_work(call: Call, data: Path, tmp_path: Path) -> None:
    """A format that is not .csv, and a folder, are refused, and nothing is written."""
    for name in ("nearest.txt", "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        run = call(
            "fit", data, "-k", 3, "--out", tmp_path / "m", "--representatives", tmp_path / name
        )
        check_refusal(run, name)
        assert not (tmp_path / "m").exists()


def test_guarded_ids(call: Call, tmp_path: Path) -> None:
    """--spreadsheet-safe puts an apostrophe before an id that looks like a formula."""
    file = tmp_path / "t.csv"
    file.write_text("name,x\n=1+1,0\nb,9\n")
    words = ["fit", file, "-k", 2, "--id-column", "name", "--representatives", tmp_path / "r.csv"]
    assert call(*words, "--spreadsheet-safe", "--quiet").code == 0
    assert sorted(line["name"] for line in read_table(tmp_path / "r.csv")) == ["'=1+1", "b"]

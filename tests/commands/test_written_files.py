"""Files of labels and of representatives, with the ids of rows and without."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from projected_kmeans import ProjectedKMeans, load_model
from projected_kmeans.commands.written_files import guard_cell
from projected_kmeans.sources.open_rows import read_labels
from tests.support.command_tables import IDS, NAMES, make_table
from tests.support.commands import ROWS, Call, check_refusal, read_json, store_model
from tests.support.stored_rows import draw_eighths


def test_label_files_of_other_formats(call: Call, data: Path, model: Path, tmp_path: Path) -> None:
    """The labels go to .npy, .csv and .parquet only, to a file that is no folder."""
    check_refusal(
        call("predict", model, data, "--out", tmp_path / "a.txt"), "use .npy, .csv or .parquet"
    )
    (tmp_path / "folder.npy").mkdir()
    check_refusal(call("predict", model, data, "--out", tmp_path / "folder.npy"), "is a folder")


CLUSTERS = ProjectedKMeans(3, random_state=0).fit(ROWS).labels_


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a text file."""
    with path.open(newline="") as handle:
        return list(csv.reader(handle))


def test_ids_travel_from_text_to_text(call: Call, table: Path) -> None:
    """Ids and kinds are no features; ids stand beside the labels, kinds give the accuracy."""
    out = table.parent / "clusters.csv"
    columns = ("--id-column", "name", "--label-column", "kind")
    run = call("fit", table, "-k", 3, *columns, "--out-labels", out, "--out", table.parent / "m")
    assert run.code == 0, run
    assert "60 x 12 float64" in run.out
    assert "accuracy P     1.0000" in run.out
    head, *cells = read_csv(out)
    assert head == ["name", "label"]
    assert [cell[0] for cell in cells] == IDS
    np.testing.assert_array_equal([int(cell[1]) for cell in cells], CLUSTERS)
    run = call("predict", table.parent / "m", table, *columns, "--out", table.parent / "again.csv")
    assert run.out.endswith("accuracy P 1.0000\n")
    assert (table.parent / "again.csv").read_bytes() == out.read_bytes()
    printed = call("predict", table.parent / "m", table, *columns)
    assert printed.out == out.read_text()
    assert printed.err == "accuracy P 1.0000\n"
    document = json.loads(call("predict", table.parent / "m", table, *columns, "--json").out)
    assert document["ids"] == IDS
    assert document["labels"] == CLUSTERS.tolist()
    assert document["accuracy"] == 1.0


@pytest.mark.parametrize("extension", ["parquet", "feather", "arrow"])
def test_ids_keep_their_type(call: Call, tmp_path: Path, extension: str) -> None:
    """Integer ids of a columnar file are integers in Parquet."""
    table = make_table().drop(columns="kind").assign(name=np.arange(60) * 10**12)
    path = tmp_path / f"table.{extension}"
    table.to_parquet(path) if extension == "parquet" else table.to_feather(path)
    out = tmp_path / "labels.parquet"
    run = call("fit", path, "-k", 3, "--id-column", "name", "--out-labels", out, "-q")
    assert run.code == 0, run
    found = pq.read_table(out)
    assert [str(kind) for kind in found.schema.types] == ["int64", "int32"]
    assert found.column("name").to_pylist() == table.name.tolist()
    np.testing.assert_array_equal(found.column("label"), CLUSTERS)


def test_ids_of_folders_and_of_an_index(call: Call, tmp_path: Path) -> None:
    """Ids of a folder come in the order of its rows; the index that pandas stores serves too."""
    (tmp_path / "lake").mkdir()
    table = make_table().drop(columns="kind").set_index("name")
    table[:25].to_parquet(tmp_path / "lake" / "a.parquet", row_group_size=10)
    table[25:].to_parquet(tmp_path / "lake" / "b.parquet")
    out = tmp_path / "labels.csv"
    run = call("fit", tmp_path / "lake", "-k", 3, "--id-column", "name", "--out-labels", out)
    assert run.code == 0, run
    assert [cells[0] for cells in read_csv(out)[1:]] == IDS


def test_ids_that_look_like_text(call: Call, tmp_path: Path) -> None:
    """Ids with commas, quotes and line ends in the header survive; a column called label too."""
    ids = [f'a "{index}", b' for index in range(60)]
    make_table().drop(columns=["kind", "name"]).assign(label=ids).to_csv(
        tmp_path / "t.csv", index=False
    )
    out = tmp_path / "labels.csv"
    run = call("fit", tmp_path / "t.csv", "-k", 3, "--id-column", "label", "--out-labels", out)
    assert run.code == 0, run
    assert [cells[0] for cells in read_csv(out)] == ["label", *ids]
    assert read_csv(out)[0][1] == "cluster"


FORMULAS = ["=1+1", "+a", "-a", "@SUM(A1)", "\uff1d1", "'quoted", '=HYPERLINK("x","y")']
HARMLESS = ["-5", "+3.5e4", "-.5", "a=1", "plain", "a;=1+1"]


def test_cells_that_a_spreadsheet_would_run() -> None:
    """They are guarded, also after tabs and line ends; numbers are not, also as text."""
    cells = ("=1+1", "-5", "-5+1", "@home", "x=1", "'x", -5)
    guarded = ["'=1+1", "-5", "'-5+1", "'@home", "x=1", "''x", -5]
    assert [guard_cell(cell) for cell in cells] == guarded
    assert [guard_cell(f"{space}=1") for space in "\t\r\n"] == ["'\t=1", "'\r=1", "'\n=1"]


def test_ids_that_look_like_formulas(call: Call, tmp_path: Path) -> None:
    """Ids come back as they are, or guarded from spreadsheets if that is asked for."""
    ids = [*FORMULAS, *HARMLESS, *(f"row {index}" for index in range(60))][:60]
    table = make_table().drop(columns=["kind", "name"])
    table.insert(0, "=id", ids)
    table.to_csv(tmp_path / "t.csv", index=False)
    out, safe = tmp_path / "labels.csv", tmp_path / "safe.csv"
    fit = ("fit", tmp_path / "t.csv", "-k", 3, "--id-column", "=id", "--out", tmp_path / "m")
    assert call(*fit, "--out-labels", out).code == 0
    assert [cells[0] for cells in read_csv(out)] == ["=id", *ids]
    assert call(*fit, "--out-labels", safe, "--spreadsheet-safe").code == 0
    cells = [cells[0] for cells in read_csv(safe)]
    others = [one for one in ids if one not in FORMULAS]
    assert cells == ["'=id", *(f"'{one}" for one in FORMULAS), *others]
    assert [cell.removeprefix("'") for cell in cells] == ["=id", *ids]
    assert '"a;=1+1",' in safe.read_text("utf-8")  # some spreadsheets split at semicolons
    predict = ("predict", tmp_path / "m", tmp_path / "t.csv", "--id-column", "=id")
    assert call(*predict, "--spreadsheet-safe").out == safe.read_text("utf-8")
    assert call(*predict).out == out.read_text("utf-8")


def test_guards_for_files_without_text_ids(call: Call, table: Path) -> None:
    """--spreadsheet-safe is refused where it would do nothing."""
    out = table.parent / "labels.parquet"
    for words in (
        ("--id-column", "name", "--out-labels", out),
        ("--out-labels", table.parent / "labels.npy"),
        ("--id-column", "name"),
    ):
        run = call("fit", table, "-k", 3, *words, "--spreadsheet-safe")
        check_refusal(run, "--spreadsheet-safe guards ids in text; give ", "a .csv file")


def test_labels_of_a_fit_in_every_format(call: Call, data: Path) -> None:
    """--out-labels writes what the estimator finds as .npy, .csv and .parquet."""
    for extension in ("npy", "csv", "parquet"):
        run = call("fit", data, "-k", 3, "--out-labels", data.parent / f"l.{extension}")
        assert run.code == 0, run
    np.testing.assert_array_equal(np.load(data.parent / "l.npy"), CLUSTERS)
    assert read_csv(data.parent / "l.csv")[:2] == [["row", "label"], ["0", str(CLUSTERS[0])]]
    np.testing.assert_array_equal(read_labels(data.parent / "l.csv"), CLUSTERS)
    np.testing.assert_array_equal(pq.read_table(data.parent / "l.parquet")["label"], CLUSTERS)


def test_labels_are_written_block_by_block(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All formats of labels hold the same, and a failure in the middle leaves no file."""
    monkeypatch.setattr("projected_kmeans.search.memory_plan.MIN_BLOCK_BYTES", 2**10)
    rows = draw_eighths(4, 3000, 24, 3)
    model = store_model(rows, tmp_path)
    expected = load_model(model).predict(rows)
    predict = ("predict", model, tmp_path / "rows.npy", "--memory-limit", "50KB")
    for name in ("labels.npy", "labels.csv", "labels.parquet"):
        run = call(*predict, "--out", tmp_path / name)
        assert (run.code, run.err) == (0, "")
    table = pq.ParquetFile(tmp_path / "labels.parquet")
    assert table.num_row_groups > 3
    np.testing.assert_array_equal(table.read()["label"].to_numpy(), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected)
    np.testing.assert_array_equal(read_labels(tmp_path / "labels.csv"), expected)
    assert [int(line) for line in call(*predict).out.split()] == expected.tolist()
    assert read_json(call(*predict, "--json"))["labels"] == expected.tolist()

    rows[2500, 3] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    before = sorted(tmp_path.iterdir())
    for name in ("new.npy", "new.csv", "new.parquet"):
        check_refusal(call(*predict, "--out", tmp_path / name), "NaN at row 2500, column 3")
    assert sorted(tmp_path.iterdir()) == before


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

"""Ids of rows in every format: of image files, of a file of their own, or numbers."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from projected_kmeans.commands.id_files import read_ids
from tests.support.commands import ROWS, Call, check_refusal


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder with six bright images of cats and six dark ones of dogs, in colour."""
    for kind, tone in (("cats", 200), ("dogs", 20)):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for number in range(6):
            image = Image.fromarray(np.full((5, 4, 3), tone + number, np.uint8))
            image.save(tmp_path / "photos" / kind / f"{number}.png")
    return tmp_path / "photos"


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a text file."""
    return list(csv.reader(path.read_text().splitlines()))


def test_images_carry_their_names_everywhere(call: Call, photos: Path) -> None:
    """Labels, representatives, report, predictions and descriptions name files, unasked."""
    labels, nearest, out = (photos.parent / name for name in ("l.csv", "r.csv", "m"))
    run = call(
        *("fit", photos, "-k", 2, "--folder-labels", "--out-labels", labels),
        *("--representatives", nearest, "--out", out, "--report", photos.parent / "p.html"),
    )
    assert run.code == 0, run
    assert "accuracy P     1.0000" in run.out
    head, *cells = read_csv(labels)
    assert head == ["file", "label"]
    files = [f"{kind}/{number}.png" for kind in ("cats", "dogs") for number in range(6)]
    assert [cell[0] for cell in cells] == files
    assert {cell[3] for cell in read_csv(nearest)[1:]} <= set(files)
    report = json.loads((out / "report.json").read_text())
    assert report["image_shape"] == [5, 4, 3]
    assert report["members"][0]["typical"][0]["name"] in files
    printed = call("predict", out, photos, "--folder-labels")
    assert printed.out == labels.read_text()
    assert printed.err == "accuracy P 1.0000\n"
    assert call("predict", out, photos, "--out", photos.parent / "l.npy").code == 0
    assert call("predict", out, photos, "--out", photos.parent / "l.parquet").code == 0
    table = pq.read_table(photos.parent / "l.parquet")
    assert table["file"].to_pylist() == files
    described = json.loads(call("describe", out, photos, "--json").out)
    assert {one["representatives"][0] for one in described["clusters"]} <= set(files)


def test_ids_of_any_format_come_from_a_file(call: Call, data: Path, tmp_path: Path) -> None:
    """A text file with or without a header, or an array; numbers stay numbers in Parquet."""
    names = [f"n{row}" for row in range(len(ROWS))]
    (tmp_path / "ids.txt").write_text("\n".join(names))
    (tmp_path / "headed.csv").write_text("\n".join(["who", *names]))
    np.save(tmp_path / "ids.npy", np.arange(100, 100 + len(ROWS)))
    for file, name in (("ids.txt", "id"), ("headed.csv", "who")):
        run = call(
            "fit", data, "-k", 3, "--ids", tmp_path / file, "--out-labels", tmp_path / "l.csv"
        )
        assert run.code == 0, run
        head, *cells = read_csv(tmp_path / "l.csv")
        assert head == [name, "label"]
        assert [cell[0] for cell in cells] == names
    call(
        *("fit", data, "-k", 3, "--ids", tmp_path / "ids.npy"),
        *("--out-labels", tmp_path / "l.parquet"),
    )
    assert pq.read_table(tmp_path / "l.parquet")["id"].to_pylist()[:2] == [100, 101]


def test_ids_that_do_not_fit_are_refused(call: Call, data: Path, table: Path) -> None:
    """Too few of them, a file that is none, two places for them, or no room for them."""
    (table.parent / "few.txt").write_text("a\nb\n")
    check_refusal(
        call("fit", data, "-k", 3, "--ids", table.parent / "few.txt"), "has 2 ids for 60 rows"
    )
    check_refusal(
        call("fit", data, "-k", 3, "--ids", table.parent / "none.txt"), "cannot be read as ids"
    )
    both = ("--ids", table.parent / "few.txt", "--id-column", "name", "--label-column", "kind")
    check_refusal(call("fit", table, "-k", 3, *both), "both give ids; give one of them")
    out = ("--ids", table.parent / "few.txt", "--out-labels", table.parent / "l.npy")
    check_refusal(call("fit", data, "-k", 3, *out), "has no room for ids")
    np.save(table.parent / "floats.npy", np.ones(3))
    with pytest.raises(ValueError, match="give one id a row"):
        read_ids(str(table.parent / "floats.npy"), 3)
    (table.parent / "damaged.npy").write_bytes(b"x")
    with pytest.raises(ValueError, match="cannot be read as ids"):
        read_ids(str(table.parent / "damaged.npy"), 3)


def test_two_sources_of_true_labels_are_refused(call: Call, photos: Path, table: Path) -> None:
    """Folders, a file and a column each give labels; one of them is enough."""
    both = ("--folder-labels", "--labels", table)
    check_refusal(call("fit", photos, "-k", 2, *both), "--labels and --folder-labels both give")
    both = ("--folder-labels", "--label-column", "kind")
    check_refusal(call("fit", table, "-k", 2, *both), "--folder-labels and --label-column both")
    check_refusal(
        call("fit", table, "-k", 2, "--folder-labels", "--drop", "name,kind"),
        "--folder-labels cannot be chosen",
    )

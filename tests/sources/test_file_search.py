"""Which files a path stands for: a file, a store, a folder, or nothing that can be read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import zarr

from projected_kmeans.sources.file_search import find_files
from projected_kmeans.sources.open_rows import open_rows
from tests.support.refused_files import reading_error
from tests.support.row_files import SINGLES, save_text


def test_paths_that_are_not_a_file(tmp_path: Path) -> None:
    """A missing path, an empty folder, a pipe, and unknown extensions each say what to do."""
    assert "does not exist; check the path" in reading_error(tmp_path / "none.npy")
    assert "holds no file of a known format; use one of .npy" in reading_error(tmp_path)
    assert "use one of .csv" in reading_error(tmp_path, format="csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in reading_error(tmp_path / "pipe.csv")
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    assert "'.xlsx'; use one of .npy, .npz, .mat, .csv, .tsv, .parquet" in reading_error(
        tmp_path / "rows.xlsx"
    )
    (tmp_path / "rows").write_bytes(b"1")
    assert "rows has no format; use one of" in reading_error(tmp_path / "rows")


def test_folders_with_several_formats(tmp_path: Path) -> None:
    """A folder with two formats asks which one, and reads the one that is named."""
    np.save(tmp_path / "a.npy", SINGLES)
    save_text(tmp_path, "b.csv")
    assert "several formats (a.npy and b.csv); choose one with format" in reading_error(tmp_path)
    np.testing.assert_array_equal(open_rows(tmp_path, format="npy").read(0, 9000), SINGLES)
    assert "'.xyz'; use one of .npy" in reading_error(tmp_path, format="xyz")


def test_files_of_a_folder_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Folders inside are read too; hidden names and unknown formats are left out."""
    for name in ("b/2.npy", "b/1.NPY", "a.npy", ".hidden/3.npy", "_marks/4.npy", "_5.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "notes.md").write_text("not data")
    found = find_files(tmp_path, None)
    assert [file.relative_to(tmp_path).as_posix() for file in found.files] == [
        "a.npy",
        "b/1.NPY",
        "b/2.npy",
    ]
    assert found.extension == ".npy"


def test_a_store_is_one_file(tmp_path: Path) -> None:
    """A Zarr store is a folder that counts as a file, whatever it is called."""
    zarr.open_group(str(tmp_path / "store"), mode="w")
    assert find_files(tmp_path / "store", None) == ([tmp_path / "store"], ".zarr")
    (tmp_path / "empty.zarr").mkdir()
    assert find_files(tmp_path / "empty.zarr", None) == ([tmp_path / "empty.zarr"], ".zarr")

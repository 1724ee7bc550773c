"""The source of a file: its fingerprint, and rows that have changed since it was opened."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.formats.npy import MappedRows, find_array
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.row_files import SINGLES, save_text


def stamp(path: Path, seconds: int) -> None:
    """Set the modification time of a file."""
    os.utime(path, (seconds, seconds))


def test_identity_tells_data_apart(tmp_path: Path) -> None:
    """Another place does not matter; other rows, another type and another time do."""
    identities = set()
    for number, rows in enumerate((SINGLES, SINGLES + 1, SINGLES.astype("f8"), SINGLES[:-1])):
        for folder in (tmp_path / "one", tmp_path / "two"):
            folder.mkdir(exist_ok=True)
            np.save(folder / "rows.npy", rows)
            stamp(folder / "rows.npy", 10**9)
        here, there = (
            open_rows(tmp_path / name / "rows.npy").identity() for name in ("one", "two")
        )
        assert here == there
        identities |= {here, as_row_source(rows).identity()}
        assert len(identities) == 2 * number + 2
    stamp(tmp_path / "one" / "rows.npy", 10**9 + 1)
    assert open_rows(tmp_path / "one" / "rows.npy").identity() not in identities


def test_identity_knows_what_was_chosen(tmp_path: Path) -> None:
    """Two arrays of one file have different identities."""
    np.savez(tmp_path / "two.npz", X=SINGLES, Z=SINGLES * 2)
    chosen = {open_rows(tmp_path / "two.npz", variable=name).identity() for name in "XZ"}
    assert len(chosen) == 2


def test_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    """Rows that are no longer there are refused rather than invented."""
    source = open_rows(save_text(tmp_path))
    save_text(tmp_path, rows=np.ones((3, 5)))
    with pytest.raises(UnreadableFile, match="open it again"):
        source.read(8000, 9000)


def test_rows_of_another_shape_are_noticed(tmp_path: Path) -> None:
    """If a reader returns other rows than it promised, the file has changed."""

    class ShortRows(MappedRows):
        """A reader that loses a row."""

        def read(self, start: int, stop: int) -> np.ndarray:
            """Return one row too few."""
            return super().read(start, stop - 1)

    np.save(tmp_path / "rows.npy", SINGLES)
    reader = ShortRows(find_array(tmp_path / "rows.npy"))
    source = FileRows([tmp_path / "rows.npy"], ".npy", None, reader)
    with pytest.raises(UnreadableFile, match=r"has changed: its rows 0:5 have shape \(4, 5\)"):
        source.read(0, 5)


def test_errors_name_the_folder_of_several_files(tmp_path: Path) -> None:
    """A source of one file is called after it, and one of several files after their folder."""
    np.save(tmp_path / "rows.npy", SINGLES)
    reader = MappedRows(find_array(tmp_path / "rows.npy"))
    files = [tmp_path / "rows.npy", tmp_path / "more.npy"]
    assert FileRows(files[:1], ".npy", None, reader).name == str(files[0])
    assert FileRows(files, ".npy", None, reader).name == str(tmp_path)

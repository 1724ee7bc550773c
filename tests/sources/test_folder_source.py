"""The files of a folder as one source: alike in their columns, few of them open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from projected_kmeans.sources.file_source import FileRows
from projected_kmeans.sources.folder_source import JoinedRows
from projected_kmeans.sources.formats.npy import MappedRows, find_array
from projected_kmeans.sources.open_rows import open_rows
from tests.support.refused_files import reading_error
from tests.support.row_files import BYTES, FEW_SPARSE, SINGLES, save_svmlight


class WatchedFile(FileRows):
    """The source of a ``.npy`` file that notes when it is closed."""

    def __init__(self, path: Path, closed: list[str]) -> None:
        super().__init__([path], ".npy", None, MappedRows(find_array(path)))
        self.closed = closed

    def close(self) -> None:
        """Note the name of the file."""
        self.closed.append(self.files[0].stem)
        super().close()


def test_folders_keep_few_files_open(tmp_path: Path) -> None:
    """Whatever is read, only two files stay open; the least recently read one is closed."""
    closed: list[str] = []
    for number in range(6):
        np.save(tmp_path / f"{number}.npy", SINGLES[number * 10 : number * 10 + 10])
    sources = [WatchedFile(tmp_path / f"{number}.npy", closed) for number in range(6)]
    source = JoinedRows(sources, n_open=2)
    for number in (0, 1, 2, 3, 2, 4, 0):
        rows = source.read(number * 10, number * 10 + 5)
        np.testing.assert_array_equal(rows, SINGLES[number * 10 : number * 10 + 5])
    assert closed == ["0", "1", "3", "2"]
    closed.clear()
    source.close()
    assert closed == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("kind", ["numbers", "names", "sparse"])
def test_files_of_a_folder_must_agree(kind: str, tmp_path: Path) -> None:
    """Another number of columns, other names, or sparse beside dense rows: both files are named."""
    if kind == "numbers":
        np.save(tmp_path / "a.npy", SINGLES)
        np.save(tmp_path / "b.npy", SINGLES[:, :3])
        parts = ("b.npy has 3 columns and ", "a.npy has 5; give all files")
    elif kind == "names":
        for name in ("a", "b"):
            pyarrow.parquet.write_table(pa.table({name: [1.0]}), tmp_path / f"{name}.parquet")
        parts = ("b.parquet and ", "a.parquet have different column names; give all files")
    else:
        np.savez(tmp_path / "a.npz", X=SINGLES)
        scipy.sparse.save_npz(tmp_path / "b.npz", scipy.sparse.csr_array(SINGLES))
        parts = ("b.npz is sparse and ", "a.npz is not; store all files")
    message = reading_error(tmp_path)
    assert all(part in message for part in parts)


def test_folder_types_are_widened(tmp_path: Path) -> None:
    """Files of different types are read in a type that holds all."""
    np.save(tmp_path / "a.npy", BYTES)
    np.save(tmp_path / "b.npy", BYTES.astype(np.float32) / 3)
    source = open_rows(tmp_path)
    assert source.dtype == source.read(0, 5).dtype == source.read(50, 70).dtype == np.float32


def test_labels_of_all_files_are_joined(tmp_path: Path) -> None:
    """Labels are kept if every file has them, and dropped if one has none."""
    np.savez(tmp_path / "a.npz", X=SINGLES[:3], y=np.array([1, 2, 3]))
    np.savez(tmp_path / "b.npz", X=SINGLES[3:5], y=np.array([4, 5]))
    labels = open_rows(tmp_path).labels
    assert labels is not None
    assert labels.tolist() == [1, 2, 3, 4, 5]
    np.savez(tmp_path / "c.npz", X=SINGLES[5:6])
    assert open_rows(tmp_path).labels is None


def test_svmlight_files_share_their_columns(tmp_path: Path) -> None:
    """Files that one reader reads together may name different columns."""
    save_svmlight(tmp_path, base=0, name="a.svm", part=slice(0, 20))
    (tmp_path / "b.svm").write_text("1 0:2.5\n")
    source = open_rows(tmp_path)
    assert source.shape == (21, FEW_SPARSE.shape[1])

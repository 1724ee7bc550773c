"""Files that another process reads: changes are noticed, and errors come as they would here."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse

from projected_kmeans.sources import reader_process
from projected_kmeans.sources.file_rows import FileRows, JoinedRows
from projected_kmeans.sources.format_table import TABLE
from projected_kmeans.sources.isolated_source import IsolatedRows
from projected_kmeans.sources.open_rows import open_rows, read_labels
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.side_columns import open_side_column
from tests.support.row_files import LABELS, ROWS, as_table, save_images, save_mat, save_parquet


def test_formats_of_native_parsers_are_isolated(tmp_path: Path) -> None:
    """What NumPy and Python parse is read here; all else by another process."""
    here = {entry.extensions[0] for entry in TABLE if not entry.modules}
    assert here == {".npy", ".npz", ".csv", ".tsv", ".svm", ".fvecs", ".bvecs", ".ivecs"}
    assert isinstance(open_rows(save_mat(tmp_path, ROWS)), IsolatedRows)


def test_a_file_that_has_changed_is_told(tmp_path: Path) -> None:
    """If a file is opened again and has other rows, reading says so."""
    source = open_rows(save_mat(tmp_path, ROWS))
    source.close()
    save_mat(tmp_path, ROWS[:, :2])
    with pytest.raises(UnreadableFile, match=r"rows.mat has changed.*; open it again"):
        source.read(0, 2)


def test_sparse_rows_of_the_other_process_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that a damaged file has misled may answer with indices outside of the matrix."""
    source = open_rows(save_mat(tmp_path, scipy.sparse.csc_matrix(ROWS)))
    parts = [np.ones(2), np.array([0, 9], np.int32), np.array([0, 1, 2], np.int32)]
    monkeypatch.setattr(
        IsolatedRows, "_ask", lambda *request, **details: SimpleNamespace(arrays=parts)
    )
    with pytest.raises(UnreadableFile, match=r"rows.mat is a damaged csr matrix: .* index 9 "):
        source.read(0, 2)


def test_labels_beside_rows_and_alone(tmp_path: Path) -> None:
    """Labels come through shared memory like rows."""
    scipy.io.savemat(tmp_path / "rows.mat", {"fea": ROWS, "gnd": LABELS})
    labels = open_rows(tmp_path / "rows.mat").labels
    assert labels is not None
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(read_labels(tmp_path / "rows.mat"), LABELS)


def test_a_column_that_is_dropped_halfway(tmp_path: Path) -> None:
    """Cells come in the order of rows, and need not be read to the end."""
    rows = np.arange(10, dtype=np.float32).reshape(2, 5)
    path = save_parquet(tmp_path, as_table(rows))
    ids = open_side_column(str(path), "b").take_ids()
    assert ids.take(1) == [1.0]
    assert str(ids.arrow_type()) == "float"


def test_too_much_memory_is_one_sentence(tmp_path: Path) -> None:
    """A data set of 2 TB in a file of a few KB is refused, whatever the machine has."""
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file.create_dataset("X", shape=(2**20, 2**18), chunks=(2**10, 2**10), dtype="f8")
    source = open_rows(tmp_path / "rows.h5")
    with pytest.raises(UnreadableFile, match=r"rows.h5 .*memory|rows.h5 cannot be read"):
        source.read(0, 2**20)


def test_without_such_processes_files_are_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that cannot send descriptors reads all formats in one process."""
    monkeypatch.setattr(reader_process.os, "name", "nt")
    assert not reader_process.can_isolate()
    monkeypatch.undo()
    monkeypatch.setattr("projected_kmeans.sources.open_rows.can_isolate", lambda: False)
    source = open_rows(save_mat(tmp_path, ROWS))
    assert not isinstance(source, IsolatedRows)
    np.testing.assert_array_equal(source.read(0, 4), ROWS)


def read_all(path: str) -> list[object]:
    """Return labels, cells and rows; the process that reads is kept at the end."""
    labels = read_labels("rows.mat").tolist()
    cells = open_side_column(path, "b").take_ids().take(2)
    with open_rows(path) as source:
        return [labels, cells, np.asarray(source.read(0, 2)).tolist()]


def test_a_relative_path_is_that_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is kept was started in another folder, which has a file of the same name."""
    found = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        save_parquet(folder, as_table(np.full((2, 5), number, np.float32)))
        scipy.io.savemat(folder / "rows.mat", {"fea": ROWS, "gnd": LABELS + number})
        monkeypatch.chdir(folder)
        found.append(read_all("rows.parquet"))
    assert found == [[(LABELS + n).tolist(), [n] * 2, [[n] * 5] * 2] for n in range(2)]


def test_errors_name_the_path_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent is absolute, but a sentence has the path of the caller."""
    monkeypatch.chdir(tmp_path)
    scipy.io.savemat("rows.mat", {"gnd": np.ones((2, 2))})
    Path("rows.parquet").write_bytes(b"no table")
    with pytest.raises(UnreadableFile, match=r"^rows\.mat .*;") as told:
        read_labels("rows.mat")
    assert str(tmp_path) not in str(told.value)
    with pytest.raises(UnreadableFile, match=r"^rows\.parquet .*;") as told:
        open_side_column("rows.parquet", "b")
    assert str(tmp_path) not in str(told.value)


@pytest.mark.parametrize("isolated", [True, False])
def test_a_source_offers_the_same_here_and_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: bool
) -> None:
    """Images, one file and a folder of tables tell their files and their format."""
    monkeypatch.setattr("projected_kmeans.sources.open_rows.can_isolate", lambda: isolated)
    for name in ("images", "tables"):
        (tmp_path / name).mkdir()
    images = save_images(tmp_path / "images", "L")
    tables = [
        save_parquet(tmp_path / "tables", as_table(np.ones((2, 5))), f"{part}.parquet")
        for part in "ab"
    ]
    for path, files, format in (
        (images, sorted(images.iterdir()), ".png"),
        (tables[0], tables[:1], ".parquet"),
        (tables[0].parent, tables, ".parquet"),
    ):
        source = open_rows(path)
        assert isinstance(source, FileRows | JoinedRows | IsolatedRows)
        assert isinstance(source, IsolatedRows) == isolated
        assert (source.files, source.format) == (tuple(files), format)


def test_a_source_that_is_dropped_leaves_its_process_to_the_next(tmp_path: Path) -> None:
    """Dask sends a source with every task: not every task may wait for a new process."""
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": np.arange(9.0)}), path)
    sent = pickle.dumps(open_rows(path))
    processes = set()
    for start in range(3):
        source = pickle.loads(sent)
        np.testing.assert_array_equal(source.read(start, 9)[:, 0], np.arange(start, 9.0))
        processes.add(source._handle.get()._process)
        del source
        gc.collect()
    assert len(processes) == 1

"""Sources of files and folders, and what formats build on: lazy handles, errors of one sentence."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse

from projected_kmeans.optional_packages import MissingExtra
from projected_kmeans.sources import file_rows
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.file_rows import FileRows, JoinedRows, LazyHandle, explain_errors
from projected_kmeans.sources.formats.npy import MappedRows, find_array
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_files import BYTES, FEW_SPARSE, SINGLES, save_svmlight, save_text


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


class WatchedFile(FileRows):
    """The source of a ``.npy`` file that notes when it is closed."""

    def __init__(self, path: Path, closed: list[str]) -> None:
        super().__init__([path], ".npy", None, MappedRows(find_array(path)))
        self.closed = closed

    def close(self) -> None:
        """Note the name of the file."""
        self.closed.append(self.files[0].stem)
        super().close()


def test_folders_keep_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read, only two files stay open; the least recently read one is closed."""
    closed: list[str] = []
    for number in range(6):
        np.save(tmp_path / f"{number}.npy", SINGLES[number * 10 : number * 10 + 10])
    sources = [WatchedFile(tmp_path / f"{number}.npy", closed) for number in range(6)]
    monkeypatch.setattr(file_rows, "N_OPEN", 2)
    source = JoinedRows(sources)
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


def test_a_handle_is_opened_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle is opened again only after a close, in a pickled copy, and in a forked process."""
    handle = LazyHandle(list)
    first = handle.get()
    assert handle.get() is first
    assert pickle.loads(pickle.dumps(handle)).get() is not first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    second = handle.get()
    assert second is not first
    handle.close()
    assert handle.get() is not second


def raise_inside(error: Exception) -> None:
    """Raise an error where errors are explained."""
    with explain_errors("rows.xyz", ".xyz"):
        raise error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("bad block.\nmore of it"), "bad block"),
        (KeyError("X"), "'X'"),
        (IndexError(), "IndexError"),
        (ValueError("x" * 9999), "x" * 300 + "..."),
        (ValueError("got \x1b[2J\x00"), "got \\x1b[2J\\x00"),
    ],
)
def test_whatever_a_parser_raises_becomes_one_sentence(error: Exception, reason: str) -> None:
    """The sentence has the file, the format, and the first line of the reason."""
    with pytest.raises(UnreadableFile) as caught:
        raise_inside(error)
    assert str(caught.value) == (
        f"rows.xyz cannot be read as .xyz ({reason}); check that it is complete and of that "
        "format, or write it again"
    )
    assert caught.value.__cause__ is error


def test_errors_that_say_enough_are_raised_unchanged() -> None:
    """A sentence on the file is not wrapped."""
    error = UnreadableFile("rows.xyz is empty; fill it")
    with pytest.raises(UnreadableFile) as caught:
        raise_inside(error)
    assert caught.value is error


def test_too_little_memory_is_no_damaged_file() -> None:
    """A lack of memory stays a MemoryError, which names the file."""
    with pytest.raises(MemoryError, match=r"reading rows\.xyz takes more memory than the"):
        raise_inside(MemoryError())


def test_a_missing_package_makes_a_file_unreadable() -> None:
    """The error is an `UnreadableFile` for callers of `open_rows`, and still an ImportError."""
    with pytest.raises(UnreadableFile, match="rows needs h5py") as caught:
        raise_inside(MissingExtra("rows needs h5py; install it"))
    assert isinstance(caught.value, ImportError)

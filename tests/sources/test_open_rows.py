"""Opening files of any format: rows, what may be chosen, damaged files, and files of labels."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans.sources.open_rows import open_rows, read_labels, read_matrix
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.refused_files import reading_error
from tests.support.row_cases import FILES
from tests.support.row_files import LABELS, ROWS, SINGLES, open_matlab_73, save_text


def write_text(path: Path) -> None:
    """Write rows as text, with the delimiter of the extension."""
    np.savetxt(path, ROWS, delimiter="\t" if path.suffix == ".tsv" else ",")


WRITERS: dict[str, Callable[[Path], Any]] = {
    ".npy": lambda path: np.save(path, ROWS),
    ".npz": lambda path: np.savez(path, X=ROWS),
    ".mat": lambda path: scipy.io.savemat(path, {"X": ROWS}),
    ".csv": write_text,
    ".tsv": write_text,
}


@pytest.mark.parametrize("extension", WRITERS)
def test_read_matrix_reads_all_rows(extension: str, tmp_path: Path) -> None:
    """A matrix that was written in a format is read with the same values."""
    path = tmp_path / f"rows{extension}"
    WRITERS[extension](path)
    np.testing.assert_array_equal(read_matrix(path).rows, ROWS)


@pytest.mark.parametrize("extension", [".npy", ".npz", ".mat"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_binary_formats_keep_the_dtype(extension: str, dtype: str, tmp_path: Path) -> None:
    """A binary file gives its own dtype, so that bytes stay bytes."""
    rows = ROWS.astype(dtype)
    path = tmp_path / f"rows{extension}"
    save = {
        ".npy": lambda: np.save(path, rows),
        ".npz": lambda: np.savez_compressed(path, rows),
        ".mat": lambda: scipy.io.savemat(path, {"fea": rows}, do_compression=True),
    }
    save[extension]()
    assert read_matrix(path).rows.dtype == np.dtype(dtype)


def test_sparse_files_are_not_read_as_dense(tmp_path: Path) -> None:
    """`read_matrix` refuses sparse files, which `open_rows` reads."""
    matrix = scipy.sparse.csr_array(ROWS.astype(float))
    scipy.sparse.save_npz(tmp_path / "rows.npz", matrix)
    scipy.io.savemat(tmp_path / "rows.mat", {"X": matrix})
    for name in ("rows.npz", "rows.mat"):
        with pytest.raises(UnreadableFile, match="sparse, and only dense rows are read here"):
            read_matrix(tmp_path / name)
        assert open_rows(tmp_path / name).sparse


def test_format_overrides_the_extension(tmp_path: Path) -> None:
    """A format given by name counts more than the extension, with or without its dot."""
    path = tmp_path / "rows.dat"
    with path.open("wb") as handle:
        np.savez(handle, X=ROWS)
    np.testing.assert_array_equal(read_matrix(path, format="npz").rows, ROWS)
    np.testing.assert_array_equal(read_matrix(path, format=".NPZ").rows, ROWS)


def test_choices_of_other_formats_are_refused(tmp_path: Path) -> None:
    """An option that means nothing for a format is refused by its name."""
    np.save(tmp_path / "rows.npy", SINGLES)
    message = reading_error(tmp_path / "rows.npy", columns=["a"])
    assert "is read as .npy, so columns=['a'] cannot be chosen; leave it out" in message
    message = reading_error(tmp_path / "rows.npy", variable="X")
    assert "variable='X' cannot be chosen; leave it out" in message
    save_text(tmp_path)
    assert "has no column names" in reading_error(tmp_path / "rows.csv", columns=["a"])


# --- damaged files -------------------------------------------------------------------------------

SINGLE_FILES = [
    name
    for name in FILES
    if not name.startswith(("folder", "images", "zarr", "csv", "tsv", "svmlight"))
]
# The last bytes of an HDF5 or MatLab file may be padding, and those of a stream its end mark.
PADDED_FILES = ("mat", "hdf5", "arrow stream")
OTHER_BYTES = b"\x93\xff\x00 neither here nor there" * 99


@pytest.mark.parametrize("name", SINGLE_FILES)
def test_truncated_files(name: str, tmp_path: Path) -> None:
    """A binary file that is cut anywhere, empty or of other bytes gives a sentence on the file."""
    case = FILES[name]
    path = case.make(tmp_path)
    content = path.read_bytes()
    last = set() if name.startswith(PADDED_FILES) else {len(content) - 20, len(content) - 1}
    for length in sorted({0, 1, 3, 8, 60, len(content) // 3 + 1} | last):
        path.write_bytes(content[:length])
        assert str(path) in reading_error(path, **case.options), length
    path.write_bytes(OTHER_BYTES)
    assert str(path) in reading_error(path, **case.options)


@pytest.mark.parametrize("extension", [".csv", ".tsv"])
@pytest.mark.parametrize("content", [b"", OTHER_BYTES])
def test_damaged_text(extension: str, content: bytes, tmp_path: Path) -> None:
    """A text file that is empty, or that has other bytes, gives a sentence on the file."""
    path = tmp_path / f"rows{extension}"
    path.write_bytes(content)
    assert str(path) in reading_error(path)


@pytest.mark.parametrize("extension", [".npy", ".npz", ".mat"])
@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
def test_flipped_bytes_never_escape(
    extension: str, position: int, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whichever byte is changed, reading gives a matrix or one sentence."""
    path = tmp_path_factory.mktemp("flip") / f"rows{extension}"
    WRITERS[extension](path)
    content = bytearray(path.read_bytes())
    content[position % len(content)] = value
    path.write_bytes(bytes(content))
    with contextlib.suppress(UnreadableFile):
        assert read_matrix(path).rows.ndim == 2


# --- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "n_labels"),
    [
        ("ORL_64x64.mat", (400, 4096), "uint8", 40),
        ("COIL20.mat", (1440, 1024), "float64", 20),
        ("mnist_10k.npz", (10000, 784), "uint8", 10),
    ],
)
def test_real_collections(
    name: str,
    shape: tuple[int, int],
    dtype: str,
    n_labels: int,
    find_data: Callable[[str], Path],
) -> None:
    """The usual collections are read with their labels and without any option."""
    matrix = read_matrix(find_data(name))
    assert matrix.rows.shape == shape
    assert matrix.rows.dtype == np.dtype(dtype)
    assert matrix.labels is not None
    assert len(np.unique(matrix.labels)) == n_labels


def test_labels_from_every_format(tmp_path: Path) -> None:
    """A vector of labels is read from arrays, archives and text."""
    np.save(tmp_path / "a.npy", LABELS)
    np.savez(tmp_path / "b.npz", X=ROWS, y=LABELS)
    np.savez(tmp_path / "c.npz", anything=LABELS)
    scipy.io.savemat(tmp_path / "d.mat", {"fea": ROWS, "gnd": LABELS})
    with open_matlab_73(tmp_path / "h.mat") as file:
        file["gnd"] = LABELS[np.newaxis]
    for name in ("e.csv", "f.tsv", "g.txt"):
        (tmp_path / name).write_text("label\n0\n0\n1\n1\n")
    for path in sorted(tmp_path.iterdir()):
        np.testing.assert_array_equal(read_labels(path), LABELS, err_msg=path.name)


def test_text_labels_may_be_words(tmp_path: Path) -> None:
    """Labels that are not numbers are read as strings."""
    (tmp_path / "labels.csv").write_text("cat\ncat\ndog\n")
    assert read_labels(tmp_path / "labels.csv").tolist() == ["cat", "cat", "dog"]
    (tmp_path / "labels.csv").write_text("1.5\n2\n")
    assert read_labels(tmp_path / "labels.csv").tolist() == [1.5, 2.0]


def test_bad_labels(tmp_path: Path) -> None:
    """Files that do not hold a vector of labels each give one sentence."""
    np.save(tmp_path / "matrix.npy", ROWS)
    np.save(tmp_path / "single.npy", np.array(3))
    np.save(tmp_path / "empty.npy", np.array([]))
    np.save(tmp_path / "complex.npy", LABELS * 1j)
    np.savez(tmp_path / "two.npz", a=LABELS, b=LABELS)
    (tmp_path / "wide.csv").write_text("1,2\n3,4\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "labels.pdf").write_bytes(b"%PDF")
    for path in [*tmp_path.iterdir(), tmp_path, tmp_path / "none.npy"]:
        with pytest.raises(UnreadableFile, match=";") as caught:
            read_labels(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

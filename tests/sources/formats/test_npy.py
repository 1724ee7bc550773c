"""Memory-mapped matrices: headers, layouts, and vectors behind their length."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.sources.formats.npy import find_array
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.refused_files import reading_error
from tests.support.row_files import ROWS, SINGLES


def test_foreign_byte_order_becomes_native(tmp_path: Path) -> None:
    """Big-endian numbers are read as the same numbers in the machine's order."""
    np.save(tmp_path / "rows.npy", ROWS.astype(">f4"))
    rows = read_matrix(tmp_path / "rows.npy").rows
    assert rows.dtype == np.float32
    assert rows.dtype.isnative
    np.testing.assert_array_equal(rows, ROWS)


def test_booleans_become_bytes(tmp_path: Path) -> None:
    """True and False are read as 1 and 0."""
    np.save(tmp_path / "rows.npy", ROWS > 4)
    rows = read_matrix(tmp_path / "rows.npy").rows
    assert rows.dtype == np.uint8
    np.testing.assert_array_equal(rows, ROWS > 4)


@pytest.mark.parametrize("extension", [".npy", ".npz"])
def test_files_that_are_not_compressed_are_mapped(extension: str, tmp_path: Path) -> None:
    """Rows of ``.npy``, and of ``.npz`` that is not compressed, are read-only views of the file.

    In an archive only if they are aligned: the header of a member named matrix.npy has 60 bytes.
    """
    path = tmp_path / f"rows{extension}"
    if extension == ".npy":
        np.save(path, SINGLES)
    else:
        np.savez(path, matrix=SINGLES)
    rows = read_matrix(path).rows
    assert not rows.flags.owndata
    assert not rows.flags.writeable
    base = rows
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


@pytest.mark.parametrize(
    "array", [np.float32(3), np.arange(5), np.ones((2, 3, 4)), np.ones((4, 3), order="F")]
)
def test_arrays_of_any_shape_are_found(array: np.ndarray, tmp_path: Path) -> None:
    """The place of an array is known from its header, in C and Fortran order."""
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(find_array(tmp_path / "a.npy").open(), array)


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    """Python objects in .npy and .npz files are refused, not unpickled."""
    objects = np.array([[{}, {}]], dtype=object)
    np.save(tmp_path / "rows.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "rows.npz", X=objects)
    assert "holds values of type object" in reading_error(tmp_path / "rows.npy")
    assert "but no matrix" in reading_error(tmp_path / "rows.npz")
    assert "type object" in reading_error(tmp_path / "rows.npz", variable="X")


def write_npy(path: Path, header: str, version: int, length: int | None = None) -> None:
    """Write a header that says anything, and 64 bytes."""
    text = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + text + bytes(64))


@pytest.mark.parametrize("version", [2, 3])
def test_a_header_of_gigabytes_is_refused(tmp_path: Path, version: int) -> None:
    """Its length is compared before it is read."""
    write_npy(tmp_path / "a.npy", "{}", version, 2**32 - 1)
    assert "its header says that it has 4294967295 bytes" in reading_error(tmp_path / "a.npy")


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize(
    "shape", ["(4611686018427387905, 4)", "(4, 4611686018427387905)", "(1000, 1000)", "(-2, -2)"]
)
def test_absurd_shapes_are_refused(tmp_path: Path, shape: str, order: bool) -> None:
    """Extents whose product overflows 64 bits do not pass as small ones."""
    header = f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}"
    write_npy(tmp_path / "a.npy", header, 1)
    assert "its header says" in reading_error(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("numbers", "part"),
    [
        ([-1, 5], "does not start with the length"),
        ([2, 5, 5, 2, 5], "has 20 bytes, which is not a multiple of the 12 bytes of a vector"),
        ([2, 5, 5, 7, 5, 5], "row 1 has 7 numbers where the first has 2"),
    ],
)
def test_bad_vectors(numbers: list[int], part: str, tmp_path: Path) -> None:
    """A negative length, a size that does not fit, and a vector of another length are named."""
    path = tmp_path / "rows.fvecs"
    path.write_bytes(np.array(numbers, "<i4").tobytes())
    assert part in reading_error(path)

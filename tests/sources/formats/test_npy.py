"""``.npy`` files: memory maps in native byte order, and nothing is ever unpickled."""

from __future__ import annotations

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

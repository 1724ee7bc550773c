"""``.npz`` files whose arrays claim more than they hold, and sparse ones with bad indices."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from tests.support.refused_files import reading_error


def save_claim(path: Path, shape: tuple[int, ...], method: int) -> None:
    """Write an archive whose one array has a header and 64 bytes."""
    head = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, described)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(64))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("shape", [(2**40, 2**30), (10**5, 10**5), (3, 3)])
def test_a_claim_is_compared_with_the_archive(
    tmp_path: Path, shape: tuple[int, ...], method: int
) -> None:
    """Nothing is allocated for numbers that are not there."""
    save_claim(tmp_path / "a.npz", shape, method)
    assert "header says" in reading_error(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_sparse_indices_outside_are_refused(tmp_path: Path, kind: str) -> None:
    """SciPy loads them without looking."""
    rows = scipy.sparse.csr_array(np.eye(8)).asformat(kind)
    scipy.sparse.save_npz(tmp_path / "a.npz", rows)
    with np.load(tmp_path / "a.npz") as loaded:
        parts = dict(loaded)
    parts["col" if kind == "coo" else "indices"][2] = 10**6
    np.savez(tmp_path / "a.npz", **parts)
    assert "a.npz" in reading_error(tmp_path / "a.npz")


def test_absurd_numbers_of_rows_are_refused(tmp_path: Path) -> None:
    """A matrix by columns may claim any number of rows, for which CSR needs an entry each."""
    rows = scipy.sparse.csc_array((10**10, 3))
    scipy.sparse.save_npz(tmp_path / "a.npz", rows)
    message = reading_error(tmp_path / "a.npz")
    assert "the matrix in" in message
    assert "asks for 80 GB of memory in a file of" in message

"""``.npz`` files whose arrays claim more than they hold, and sparse ones with bad indices."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.sources.open_rows import open_rows
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


def test_a_vocabulary_beside_the_matrix_names_its_columns(tmp_path: Path) -> None:
    """Sparse rows in parts or by SciPy, and dense ones, have the words and labels of the file."""
    rows = scipy.sparse.csr_array(np.eye(3, 4))
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": (3, 4)}
    beside = {"vocabulary": np.array(["a", "b", "c", "d"]), "labels": np.arange(3)}
    np.savez(tmp_path / "parts.npz", **parts, **beside, groups=np.array(["x", "y"]))
    np.savez(tmp_path / "scipy.npz", **parts, **beside, format=b"csr")
    np.savez(tmp_path / "dense.npz", X=rows.toarray(), **beside)
    np.savez_compressed(tmp_path / "packed.npz", X=rows.toarray(), **beside)
    for name in ("parts", "scipy", "dense", "packed"):
        source = open_rows(tmp_path / f"{name}.npz")
        assert source.feature_names == ("a", "b", "c", "d")
        assert source.labels is not None
        assert source.labels.tolist() == [0, 1, 2]
        assert source.sparse == (name in ("parts", "scipy"))
        found: Any = source.read(0, 3)
        np.testing.assert_array_equal(found.toarray() if source.sparse else found, np.eye(3, 4))


def test_a_vocabulary_of_another_length_is_left(tmp_path: Path) -> None:
    """It has not one name for each column, so it names none."""
    np.savez(tmp_path / "a.npz", X=np.eye(3), vocabulary=np.array(["a", "b"]))
    assert open_rows(tmp_path / "a.npz").feature_names is None


def test_parts_of_sparse_rows_are_checked(tmp_path: Path) -> None:
    """Indices beyond the columns are refused, also without SciPy's mark of the format."""
    parts = {"data": np.ones(2), "indices": np.array([0, 9]), "indptr": np.array([0, 1, 2])}
    np.savez(tmp_path / "a.npz", **parts, shape=np.array([2, 3]))
    assert "a.npz" in reading_error(tmp_path / "a.npz")

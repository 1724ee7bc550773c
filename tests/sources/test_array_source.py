"""Arrays and sparse matrices as sources: fingerprints, and what is not a matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.sources.array_source import ArrayRows, as_row_source
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import UnreadableFile
from tests.support.row_files import SINGLES


@pytest.mark.parametrize(
    "data", [np.array([["x"]]), np.array([[1j]]), np.zeros(3), np.zeros((2, 0)), 5.0, [["x"]]]
)
def test_data_that_is_not_a_matrix(data: Any) -> None:
    """Arrays that are not a matrix of real numbers are refused in a sentence."""
    with pytest.raises(UnreadableFile, match=";"):
        as_row_source(data)


@pytest.mark.parametrize("kind", ["csr", "lil"])
def test_damaged_sparse_matrices_are_refused_before_a_conversion(kind: str) -> None:
    """SciPy follows the indices of other formats to make CSR of them, so they are checked first."""
    rows = scipy.sparse.csr_array(np.eye(4)).asformat(kind)
    if kind == "csr":
        rows.indices[2] = 9
    else:
        rows.rows[2][0] = 9
    with pytest.raises(UnreadableFile, match=f"X is a damaged {kind} matrix"):
        as_row_source(rows)


def test_a_large_array_is_identified_by_a_sample() -> None:
    """Of more than 4 MB, 64 pieces count: a change at the start is seen, one between is not."""
    rows = np.arange(2**20, dtype=np.float64).reshape(-1, 8)
    identity = as_row_source(rows).identity()
    assert as_row_source(rows.copy()).identity() == identity
    changed = rows.copy()
    changed[0, 0] = -1
    assert as_row_source(changed).identity() != identity
    unseen = rows.copy()
    unseen[1500, 0] = -1
    assert as_row_source(unseen).identity() == identity


def test_sparse_rows_are_identified_by_their_entries() -> None:
    """A number in another column gives another identity."""
    one = scipy.sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    other = scipy.sparse.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]]))
    assert as_row_source(one).identity() != as_row_source(other).identity()


def test_rows_that_were_loaded_are_identified_by_their_file(tmp_path: Path) -> None:
    """An array that was read from a file has the identity of the file."""
    np.save(tmp_path / "rows.npy", SINGLES)
    source = open_rows(tmp_path / "rows.npy")
    loaded = ArrayRows(source.read(0, 9000))
    assert loaded.identity() != source.identity()
    loaded.origin = source
    assert loaded.identity() == source.identity()


def test_a_memory_map_without_a_file_is_an_array() -> None:
    """A part of a map that was copied has no place in a file, and is pickled with its rows."""
    rows = np.ones((3, 2)).view(np.memmap)
    np.testing.assert_array_equal(as_row_source(rows).read(0, 3), rows)

"""Fingerprints follow from the numbers in the rows and from their order alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block
from projected_kmeans.certificates.row_fingerprint import fingerprint_rows


def never() -> None:
    """Let every walk go on."""


def hash_blocks(rows: Any, length: int = 1000, weights: NDArray[np.float64] | None = None) -> int:
    """Return the fingerprint of rows in blocks of some length."""
    starts = range(0, rows.shape[0], length)
    blocks = [Block(start, rows[start : start + length]) for start in starts]
    return fingerprint_rows(blocks, rows.shape, weights, never)


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.3, 1.0])
def test_the_form_of_the_rows_does_not_matter(share_of_zeros: float) -> None:
    """Blocks, element types, memory layout, sparsity and the sign of zeros leave no trace."""
    stream = np.random.default_rng(0)
    X = stream.integers(1, 9, size=(40, 7)) * (stream.random((40, 7)) >= share_of_zeros) * 1.0
    expected = hash_blocks(X)
    stored = scipy.sparse.csr_array((np.ones(280), np.tile(np.arange(7), 40), np.arange(41) * 7))
    stored.data[:] = X.ravel()  # zeros are stored, too
    forms = [X.astype(np.float32), X.astype(np.uint8), np.asfortranarray(X), X * 1.0 - 0.0]
    forms += [np.where(X == 0, -0.0, X), scipy.sparse.csr_array(X), stored]
    for form in forms:
        assert [hash_blocks(form, length) for length in (1000, 11, 1)] == [expected] * 3


def test_every_entry_weight_and_place_matters() -> None:
    """Rows in another order, other numbers, shapes and weights have other fingerprints."""
    X = np.arange(1.0, 13).reshape(4, 3)
    moved, empty = X.copy(), np.zeros((4, 3))
    moved[3, 2] += 2.0**-40
    one, other, third = empty.copy(), empty.copy(), empty.copy()
    one[0, 1] = other[1, 0] = third[0, 2] = 1.0
    rows = [X, moved, X[::-1], X[:, ::-1], X.reshape(3, 4), X[:3]]
    rows += [empty, one, other, third, empty[:3], empty[:, :2]]
    found = [hash_blocks(each) for each in rows]
    found += [hash_blocks(X, weights=np.ones(4)), hash_blocks(X, weights=np.array([1.0, 1, 1, 2]))]
    assert len(set(found)) == len(found)

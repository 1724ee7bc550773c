"""The sampled bound fails at most as often as it says, and its draws follow from all rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import inertia
from projected_kmeans.blocks.tasks import Block
from projected_kmeans.certificates.proof_rows import DenseProofRows, ProofRows, SparseProofRows
from projected_kmeans.certificates.sampled_bound import (
    draw_subsets,
    fingerprint,
    hash_blocks,
    lower_mean,
    sampled_bound,
)
from projected_kmeans.keys import CERTIFICATE, open_stream


def by_variance(whole: DenseProofRows) -> Callable[[NDArray[np.int64]], float]:
    """Return what gives the least inertia of some of the rows as one cluster."""

    def bound(indices: NDArray[np.int64]) -> float:
        one = whole.take(indices)
        return one.to_original(one.squares - one.drift)

    return bound


def test_sampled_bounds_fail_as_rarely_as_they_say() -> None:
    """For 200 keys and a confidence of 0.9, few bounds exceed the minimum.

    These data are the worst case: most rows are at 0, a few at 1, and there is one cluster. If each
    bound fails with probability 0.1, more than 35 of 200 fail with probability 0.0005.
    """
    X = (np.arange(1000) % 50 == 0).astype(np.float64)[:, None]
    optimum = inertia(X, np.zeros(1000, dtype=int))
    whole = DenseProofRows(X)
    values = []
    for key in range(200):
        subsets = draw_subsets(whole, 2, 40, key)
        values.append(sampled_bound(whole, subsets, by_variance(whole), 0.9))
    assert sum(value > optimum for value in values) <= 35
    assert max(values) > 0


def test_rows_made_for_a_key() -> None:
    """If only the rows that a key would draw are spread, the bound of that key still holds.

    Drawn by the key alone, these rows give a bound far above the minimum. Draws that depend on the
    rows hit few of the spread rows.
    """
    n_rows, n_drawn = 20_000, 4 * 256
    drawn = open_stream(0, CERTIFICATE).choice(n_rows, n_drawn, replace=False)
    X = np.zeros((n_rows, 1))
    X[drawn] = np.random.default_rng(0).choice([-1.0, 1.0], size=(n_drawn, 1))
    optimum = inertia(X, np.zeros(n_rows, dtype=int))
    whole = DenseProofRows(X)
    aimed = list(drawn.reshape(4, 256))
    assert sampled_bound(whole, aimed, by_variance(whole), 0.99) > 5 * optimum
    subsets = draw_subsets(whole, 4, 256, 0)
    assert 0 < sampled_bound(whole, subsets, by_variance(whole), 0.99) <= optimum


def test_draws_follow_from_the_key_and_the_rows() -> None:
    """Dense and sparse rows of any type have the same draws; other rows and keys have others."""
    X = np.random.default_rng(0).integers(0, 3, size=(500, 4)).astype(np.float64)
    X[:, 0] = np.arange(500)  # tells which rows were drawn

    def list_drawn(rows: ProofRows, key: int = 0) -> list[int]:
        subsets = draw_subsets(rows, 2, 20, key)
        return [fingerprint(rows.take(subset)) for subset in subsets]

    expected = list_drawn(DenseProofRows(X))
    for same in (X.astype(np.float32), X.astype(np.int16), np.asfortranarray(X)):
        assert list_drawn(DenseProofRows(same)) == expected
    assert list_drawn(SparseProofRows(scipy.sparse.csr_array(X))) == expected
    assert list_drawn(DenseProofRows(X), key=1) != expected
    other = X.copy()
    other[499, 3] += 1
    assert list_drawn(DenseProofRows(other)) != expected


def test_draws_depend_on_the_weights() -> None:
    """Weights are part of the content of rows, dense or sparse: who knows the key cannot aim."""
    X = np.random.default_rng(0).integers(0, 3, size=(50, 4)).astype(np.float64)
    weights = np.linspace(0.5, 1.0, 50)
    moved = np.where(np.arange(50) == 7, 0.75, weights)
    found = {
        tuple(fingerprint(one(rows, each)) for each in (None, np.ones(50), weights, moved))
        for one, rows in ((DenseProofRows, X), (SparseProofRows, scipy.sparse.csr_array(X)))
    }
    (same,) = found
    assert len(set(same)) == 4


def test_the_tail_inequality_holds_for_coins() -> None:
    """The lower mean exceeds the true mean of coins with at most the stated probability."""
    n, mean, delta = 40, 0.2, 0.05
    failing = [hits for hits in range(n + 1) if lower_mean(hits / n, n, delta) > mean]
    chance = sum(math.comb(n, hits) * mean**hits * (1 - mean) ** (n - hits) for hits in failing)
    assert 0 < chance <= delta


def hash_rows(rows: Any, length: int = 1000, weights: NDArray[np.float64] | None = None) -> int:
    """Return the fingerprint of rows in blocks of some length."""
    starts = range(0, rows.shape[0], length)
    blocks = [Block(start, rows[start : start + length]) for start in starts]
    return hash_blocks(blocks, rows.shape, weights)


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.3, 1.0])
def test_the_form_of_the_rows_does_not_matter(share_of_zeros: float) -> None:
    """Blocks, element types, memory layout, sparsity and the sign of zeros leave no trace."""
    stream = np.random.default_rng(0)
    X = stream.integers(1, 9, size=(40, 7)) * (stream.random((40, 7)) >= share_of_zeros) * 1.0
    expected = hash_rows(X)
    stored = scipy.sparse.csr_array((np.ones(280), np.tile(np.arange(7), 40), np.arange(41) * 7))
    stored.data[:] = X.ravel()  # zeros are stored, too
    forms = [X.astype(np.float32), X.astype(np.uint8), np.asfortranarray(X), X * 1.0 - 0.0]
    forms += [np.where(X == 0, -0.0, X), scipy.sparse.csr_array(X), stored]
    for form in forms:
        assert [hash_rows(form, length) for length in (1000, 11, 1)] == [expected] * 3


def test_every_entry_weight_and_place_matters() -> None:
    """Rows in another order, other numbers, shapes and weights have other fingerprints."""
    X = np.arange(1.0, 13).reshape(4, 3)
    moved, empty = X.copy(), np.zeros((4, 3))
    moved[3, 2] += 2.0**-40
    one, other, third = empty.copy(), empty.copy(), empty.copy()
    one[0, 1] = other[1, 0] = third[0, 2] = 1.0
    rows = [X, moved, X[::-1], X[:, ::-1], X.reshape(3, 4), X[:3]]
    rows += [empty, one, other, third, empty[:3], empty[:, :2]]
    found = [hash_rows(each) for each in rows]
    found += [
        hash_rows(X, weights=np.ones(4)),
        hash_rows(X, weights=np.array([1.0, 1, 1, 2])),
    ]
    assert len(set(found)) == len(found)

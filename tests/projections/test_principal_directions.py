"""Principal directions: exact and sketched ones agree, for dense and for sparse rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from projected_kmeans.projections.centred_rows import center_rows
from projected_kmeans.projections.principal_directions import (
    Directions,
    find_directions,
    sketch_width,
)
from projected_kmeans.results import Floats

STREAM = np.random.default_rng(0)
# Six strong directions, and noise of a hundredth.
ROWS = STREAM.normal(size=(400, 6)) @ STREAM.normal(size=(6, 90)) + 3
ROWS += 0.01 * STREAM.normal(size=ROWS.shape)


def find(rows: Floats, *, sparse: bool, exact: bool, n_power: int = 1) -> Directions:
    """Return six directions of the rows about their mean."""
    given = scipy.sparse.csr_array(rows) if sparse else rows
    centred = center_rows(given, None, 1)
    return find_directions(centred, 6, key=3, n_oversamples=None, n_power=n_power, exact=exact)


def test_the_width_of_the_sketch() -> None:
    """R has twice as many columns as directions, at least 10 more, and at most d."""
    assert sketch_width(64, 784) == 128
    assert sketch_width(2, 784) == 12
    assert sketch_width(64, 100) == 100
    assert sketch_width(8, 784, n_oversamples=3) == 11


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_rows", [400, 60])
def test_a_sketch_finds_the_exact_directions(n_rows: int, sparse: bool) -> None:
    """With a gap of 100 in the spectrum both ways find the directions of NumPy's SVD."""
    rows = ROWS[:n_rows]
    _, values, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    for exact in (True, False):
        found = find(rows, sparse=sparse, exact=exact)
        np.testing.assert_allclose(found.columns.T @ found.columns, np.eye(6), atol=1e-8)
        assert scipy.linalg.subspace_angles(found.columns, right[:6].T).max() < 1e-3
        np.testing.assert_allclose(found.singular_values, values[:6], rtol=1e-5)


def test_directions_have_one_sign() -> None:
    """The largest entry of a direction is positive, so that its sign is not left to chance."""
    found = find(ROWS, sparse=False, exact=True)
    largest = np.take_along_axis(found.columns, np.abs(found.columns).argmax(axis=0)[None], axis=0)
    assert (largest > 0).all()


def test_few_rows_start_a_power_pass() -> None:
    """The first walk may take every fourth row, if a pass over all of them follows."""
    _, _, right = np.linalg.svd(ROWS - ROWS.mean(axis=0), full_matrices=False)
    every = center_rows(ROWS, None, 1)
    some = replace(every, array=ROWS[::4])
    found = find_directions(every, 6, key=3, n_oversamples=None, n_power=1, exact=False, start=some)
    assert scipy.linalg.subspace_angles(found.columns, right[:6].T).max() < 1e-3


@pytest.mark.parametrize("rank", [0, 3, 8])
def test_rows_of_low_rank_have_few_directions(rank: int) -> None:
    """Directions beyond the rank are zero, whichever way matrices are decomposed."""
    rows = STREAM.normal(size=(400, rank)) @ STREAM.normal(size=(rank, 90)) + 3
    found = find(rows, sparse=False, exact=False)
    few = min(rank, 6)
    np.testing.assert_allclose(
        found.columns.T @ found.columns, np.diag(np.arange(6) < few), atol=1e-8
    )

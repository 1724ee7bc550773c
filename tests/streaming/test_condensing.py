"""Condensed rows: their inertia is exact about one center, and an upper bound about many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.streaming.condensing import WeightedRows, condense, join
from tests import reference

N, D, KEPT = 500, 150, 40
STREAM = np.random.default_rng(0)
ROWS = STREAM.normal(size=(N, D)) * (STREAM.random((N, D)) < 0.3)
WEIGHTS = STREAM.random(N) + 0.1


def make(rows: Any, sparse: bool, **options: Any) -> WeightedRows:
    """Return condensed rows, from a fixed key."""
    given = WeightedRows(scipy.sparse.csr_array(rows) if sparse else rows, WEIGHTS)
    return condense(given, KEPT, 7, np.random.default_rng(1), **options)


def inertia_about(rows: Any, weights: Any, centers: Any) -> float:
    """Return the weighted inertia of rows about their nearest centers, in NumPy."""
    dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
    return float(weights @ reference.squared_distances(dense, centers).min(axis=0))


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_inertia_about_one_center_is_kept(sparse: bool, spherical: bool) -> None:
    """About one center, the kept rows with the hidden inertia have the inertia of all rows."""
    rows = to_unit_rows(ROWS) if spherical else ROWS + 5 * (not sparse)
    if spherical:
        rows[::50] = 0
    few = make(rows, sparse, spherical=spherical)
    assert 0.8 * KEPT <= len(few) <= KEPT
    center = STREAM.normal(size=(1, D))
    center = to_unit_rows(center) if spherical else center
    found = inertia_about(few.rows, few.weights, center) + few.hidden
    assert found == pytest.approx(inertia_about(rows, WEIGHTS, center), rel=1e-12)
    assert few.sum_of_squares == pytest.approx(WEIGHTS @ np.sum(rows**2, axis=1), rel=1e-12)


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_inertia_about_many_centers_is_bounded(sparse: bool, spherical: bool) -> None:
    """About many centers the inertia is an upper bound, because grouped rows go to one center."""
    rows = to_unit_rows(ROWS) if spherical else ROWS
    few = make(rows, sparse, spherical=spherical)
    centers = to_unit_rows(ROWS[:9]) if spherical else ROWS[:9]
    exact = inertia_about(rows, WEIGHTS, centers)
    assert exact <= inertia_about(few.rows, few.weights, centers) + few.hidden < 1.2 * exact


def test_a_large_offset_costs_no_digits() -> None:
    """Hidden inertia is summed about nearby points, so an offset of 10^6 leaves nine digits."""
    plain, moved = make(ROWS, False), make(ROWS + 1e6, False)
    center = np.full((1, D), 1e6)
    found = inertia_about(moved.rows, moved.weights, center) + moved.hidden
    assert found == pytest.approx(inertia_about(ROWS, WEIGHTS, 0 * center), rel=1e-9)
    assert moved.hidden == pytest.approx(plain.hidden, rel=0.1)


def test_few_rows_far_away_keep_rows_of_their_own() -> None:
    """Three of 500 rows, each far from all others, are kept: draws by distance find them."""
    rows = ROWS.copy()
    far = [100, 200, 300]
    rows[far] += 1000 * np.eye(3, D)
    few = make(rows, False)
    gaps = reference.squared_distances(rows[far], few.rows).min(axis=0)
    assert gaps.max() < 1e-12


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_rows_hide_nothing(sparse: bool) -> None:
    """Copies of ten rows become ten rows with all their weight."""
    few = make(ROWS[np.arange(N) % 10], sparse)
    assert len(few) == 10
    assert few.hidden == pytest.approx(0, abs=1e-9)
    assert few.weights.sum() == pytest.approx(WEIGHTS.sum())


def test_rows_of_zeros_leave_a_row_of_zeros() -> None:
    """Rows of zeros have no direction; they are at distance 1 from every center."""
    few = make(np.zeros((N, D)), False, spherical=True)
    assert (few.rows.shape, few.rows.any()) == ((1, D), False)
    center = np.eye(1, D)
    found = inertia_about(few.rows, few.weights, center) + few.hidden
    assert found == pytest.approx(WEIGHTS.sum())


def test_no_thread_changes_a_bit() -> None:
    """One thread and two threads keep the same bits."""
    one, two = make(ROWS, False, n_threads=1), make(ROWS, False, n_threads=2)
    assert (one.rows == two.rows).all()
    assert (one.weights == two.weights).all()
    assert one.hidden == two.hidden


def test_few_rows_stand_for_themselves() -> None:
    """At most n_kept rows are returned as they are, and parts are joined in their order."""
    parts = [WeightedRows(ROWS[:5], WEIGHTS[:5], 1.0), WeightedRows(ROWS[5:9], WEIGHTS[5:9], 2.0)]
    joined = join(parts)
    assert condense(joined, 9, 0, np.random.default_rng(0)) is joined
    assert (joined.rows == ROWS[:9]).all()
    assert (joined.hidden, joined.n_floats) == (3.0, 9 * D + 9)

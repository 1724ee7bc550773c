"""Passes in which clusters keep limits of their sizes: the best assignment, pass after pass."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.limited_search import LimitedSearch
from projected_kmeans.passes.nearest import NOTHING
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.size_limits import SizeLimits
from tests import reference
from tests.support.problems import make_problem

STREAM = np.random.default_rng(0)
X = STREAM.normal(size=(60, 4)) + 3 * STREAM.normal(size=(4, 4))[np.minimum(np.arange(60) // 30, 3)]
CENTERS = STREAM.normal(size=(5, 4))
LIMITS = SizeLimits(10, 14)


def measure(labels: Any, centers: Any = CENTERS) -> float:
    """Return the inertia of labels about centers."""
    return float(reference.own_distances(X, centers, labels).sum())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_labels_have_the_lowest_inertia_within_the_limits(
    dtype: str, sparse: bool, offset: float
) -> None:
    """The inertia is that of the twin, which gives rows seats of clusters."""
    rows = (X + offset).astype(dtype)
    source = open_blocks(scipy.sparse.csr_array(rows) if sparse else rows)
    search = LimitedSearch(Problem(source, scan_columns(source), n_threads=1), LIMITS)
    labels = np.zeros(60, np.int32)
    search.assign(CENTERS + offset, labels, keep_ties=False)
    assert LIMITS.hold(np.bincount(labels, minlength=5).astype(float))
    distances = reference.squared_distances(X, CENTERS).T.astype(float)
    best = measure(reference.repair_sizes(distances, 10, 14))
    rounding = 1e-9 if dtype == "float64" else 1e-5 * (1 + offset)
    assert measure(labels) == pytest.approx(best, rel=rounding)


def test_limits_that_do_not_bind_give_the_nearest_centers() -> None:
    """With room for all, every row gets its nearest center."""
    labels = np.zeros(60, np.int32)
    LimitedSearch(make_problem(X), SizeLimits(0, 60)).assign(CENTERS, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, CENTERS))


def test_weights_keep_the_limits() -> None:
    """With weights, sums of weights are within the limits."""
    weights, labels = STREAM.uniform(0.5, 1.5, 60), (np.arange(60) % 5).astype(np.int32)
    limits = SizeLimits(9.0, 15.0)
    search = LimitedSearch(make_problem(X, weights), limits)
    search.assign(CENTERS, labels, keep_ties=True)
    assert limits.hold(np.bincount(labels, weights, minlength=5))
    assert search.remembered is NOTHING


@pytest.mark.parametrize("n_threads", [1, 3])
def test_remembered_prices_lead_to_labels_as_good(n_threads: int) -> None:
    """Prices of a pass go on in another search; labels are the best ones with any prices."""
    problem = make_problem(X, n_threads=n_threads, block_rows=7)
    first, labels = LimitedSearch(problem, LIMITS), np.zeros(60, np.int32)
    first.assign(CENTERS, labels, keep_ties=False)
    assert first.remembered.prices.shape == (5,)
    later = LimitedSearch(problem, LIMITS)
    later.remembered = copy.deepcopy(first.remembered)
    moved, one, other, fresh = CENTERS + 0.1, labels.copy(), labels.copy(), labels.copy()
    first.assign(moved, one, keep_ties=True)
    later.assign(moved, other, keep_ties=True)
    np.testing.assert_array_equal(one, other)
    LimitedSearch(problem, LIMITS).assign(moved, fresh, keep_ties=True)
    assert measure(one, moved) == pytest.approx(measure(fresh, moved), rel=1e-9)
    first.restart()
    assert first.remembered is NOTHING


def test_distances_are_those_of_the_nearest_centers() -> None:
    """What swaps ask for are distances to nearest centers, whatever cluster the limits allow."""
    search, labels = LimitedSearch(make_problem(X), LIMITS), np.zeros(60, np.int32)
    search.assign(CENTERS, labels, keep_ties=False)
    near, homes = search.measure(labels, None)
    two = np.sort(reference.squared_distances(X, CENTERS), axis=0)[:2].astype(float)
    np.testing.assert_allclose(near.nearest, two[0], rtol=1e-9)
    np.testing.assert_allclose(near.second, two[1], rtol=1e-9)
    np.testing.assert_array_equal(homes, reference.nearest_center(X, CENTERS))
    assert not search.follows_centers
    assert not np.array_equal(homes, labels)  # or this test would show nothing

"""Traces rise, have few points, and never tell more than all rows allow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from projected_kmeans.certificates.bound_trace import (
    MAX_POINTS,
    BoundTrace,
    find_damage,
    join_traces,
    thin_out,
)
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.prover import ProofEffort
from projected_kmeans.running.monitor import Monitor


def test_only_rises_are_recorded() -> None:
    """Bounds that are not higher, and those that are not finite, leave no point."""
    trace = BoundTrace()
    for bound in (0.0, -1.0, 2.0, 2.0, 1.0, float("inf"), float("nan"), 3.0):
        trace.note(bound)
    assert [bound for _, bound in trace.points()] == [2.0, 3.0]


def test_long_traces_are_thinned_out() -> None:
    """Of many points 100 stay, the first and the last among them, at even distances."""
    trace = BoundTrace()
    for bound in range(1, 5001):
        trace.note(float(bound))
    bounds = [bound for _, bound in trace.points()]
    assert len(bounds) == MAX_POINTS
    assert (bounds[0], bounds[-1]) == (1, 5000)
    assert set(np.diff(bounds)) <= {50, 51}


@pytest.mark.parametrize("n", [1, 2, 99, 100, 101, 199])
def test_no_point_stays_twice(n: int) -> None:
    """However many points there are, those that stay are different and in order."""
    kept = thin_out(range(n), 100)
    assert kept == sorted(set(kept))
    assert len(kept) == min(n, 100)


def test_joined_traces_rise_in_time() -> None:
    """Points of a second proof come later, only if they are higher, and never above the bound."""
    one = tuple((0.01 * index, float(index)) for index in range(1, 81))
    other = tuple((0.01 * index, 1.5 * index) for index in range(1, 81))
    joined = join_traces(one, other, 5.0, 110.0)
    assert len(joined) == MAX_POINTS
    assert find_damage(joined, 110.0) is None
    assert joined[-1] == (5.0 + 0.73, 109.5)
    assert find_damage((*one, *other), math.inf) is not None


def test_bounds_of_subsets_are_not_recorded() -> None:
    """If the bound comes from subsets, the trace ends with the best certain bound."""
    X = np.random.default_rng(0).normal(size=(2000, 4))
    effort = ProofEffort(subset_rows=400, max_neighbour_rows=500)
    found = bound_inertia(X, None, 4, effort=effort, key=0, monitor=Monitor(None, 0))
    assert found.method == "sampled"
    assert [bound for _, bound in found.trace] == [found.values["spectral"]]

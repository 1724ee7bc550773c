"""Heavy tails: how much of the sum of squares the farthest rows hold."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.passes.tails import FAR_PART, MIN_TAIL_SHARE, measure_tail
from tests.support.problems import make_problem


def test_the_share_is_that_of_the_farthest_rows() -> None:
    """It is the sum of the largest squared distances to the mean, divided by all; weights count."""
    stream = np.random.default_rng(0)
    X, weights = stream.standard_t(3, size=(2000, 5)), stream.integers(0, 3, 2000).astype(float)
    for given in (None, weights):
        mass = np.ones(2000) if given is None else given
        gaps = X - np.average(X, axis=0, weights=mass)
        squares = np.sort(mass * np.sum(gaps**2, axis=1))
        expected = squares[-(2000 // FAR_PART) :].sum() / squares.sum()
        assert measure_tail(make_problem(X, given)) == pytest.approx(expected, rel=1e-12)


def test_normal_rows_have_no_heavy_tails_and_those_of_a_t_distribution_have() -> None:
    """The limit divides two degrees of freedom from a normal distribution by far."""
    stream = np.random.default_rng(1)
    normal = stream.normal(size=(4000, 20))
    heavy = normal / np.sqrt(stream.chisquare(2, (4000, 1)) / 2)
    assert 5 * measure_tail(make_problem(normal)) < MIN_TAIL_SHARE
    assert measure_tail(make_problem(heavy)) > 2 * MIN_TAIL_SHARE
    assert measure_tail(make_problem(np.ones((300, 2)))) == 0


def test_the_share_does_not_depend_on_threads_or_blocks() -> None:
    """The same bits, because a plan hangs on it."""
    X = np.random.default_rng(2).normal(size=(3000, 7)).astype(np.float32)
    one = measure_tail(make_problem(X))
    assert one == measure_tail(make_problem(X, block_rows=11, n_threads=3))

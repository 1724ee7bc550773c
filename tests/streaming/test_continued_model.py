"""Sums without rounding, and how far rows are from centers beside those of a fit."""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans.streaming.continued_model import ExactSum, compare_squares


def test_it_is_the_correctly_rounded_sum() -> None:
    """For numbers of all sizes and both signs the value is that of math.fsum."""
    stream = np.random.default_rng(0)
    numbers = stream.normal(size=3000) * 2.0 ** stream.integers(-1060, 1000, 3000)
    numbers[:3] = 5e-324, -5e-324, 0.0
    whole, parts = ExactSum(), ExactSum()
    whole.add(numbers)
    for part in np.array_split(numbers[::-1], 17):
        parts.add(part)
    assert whole.value == parts.value == math.fsum(numbers)


def test_copies_are_independent() -> None:
    """What is added to a copy is not added to the original."""
    total = ExactSum()
    total.add(np.array([1.5]))
    other = total.copy()
    other.add(np.array([2.0]))
    assert (total.value, other.value) == (1.5, 3.5)


def test_sums_that_overflow() -> None:
    """A sum beyond the largest float64 is infinite."""
    total = ExactSum()
    total.add(np.full(2, 1.7e308))
    assert total.value == math.inf


def test_squares_are_compared_with_those_of_the_fit() -> None:
    """The ratio of means is 1 if both are zero, infinite if only that of the fit is."""
    assert compare_squares(8.0, 4.0, 1.0) == 2.0
    assert compare_squares(0.0, 4.0, 0.0) == 1.0
    assert compare_squares(1.0, 4.0, 0.0) == math.inf
    assert math.isnan(compare_squares(0.0, 0.0, 1.0))

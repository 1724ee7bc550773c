"""Sums without rounding: the same value in any order and for any division."""

from __future__ import annotations

import math

import numpy as np

from projected_kmeans.streaming.exact_sum import ExactSum


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

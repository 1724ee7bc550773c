"""The best certain bound so far, over time: what a report draws as a rising staircase.

Keeps points and checks stored ones; it proves nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, TypeAlias, TypeVar

import numpy as np
from msgspec import Meta

from projected_kmeans.documents import NotNegative, Seconds

# The most points of a trace. More cannot be told apart in a plot.
MAX_POINTS = 100

# Points in time, in seconds since the work began, and the best certain bound since then.
Trace: TypeAlias = Annotated[tuple[tuple[Seconds, NotNegative], ...], Meta(max_length=MAX_POINTS)]

Point = TypeVar("Point")


class BoundTrace:
    """Records when the best certain bound rose."""

    def __init__(self) -> None:
        self._begin, self._best = time.perf_counter(), 0.0
        self._points: list[tuple[float, float]] = []

    def note(self, bound: float) -> None:
        """Record a certain bound for all rows, if it is the best so far."""
        if self._best < bound < math.inf:
            self._best = bound
            self._points.append((time.perf_counter() - self._begin, bound))

    def points(self) -> Trace:
        """Return the points, at most `MAX_POINTS` of them."""
        return tuple(thin_out(self._points, MAX_POINTS))


def thin_out(points: Sequence[Point], n_kept: int) -> list[Point]:
    """Return some of the points: the first, the last and others at even distances between them."""
    if len(points) <= n_kept:
        return list(points)
    kept = np.linspace(0, len(points) - 1, n_kept).round().astype(int)
    return [points[index] for index in kept]


def join_traces(first: Trace, second: Trace, later: float, largest: float) -> Trace:
    """Return the trace of two proofs of the same rows, the second of which began ``later``.

    Bounds above the largest that there can be are left out.

    Examples
    --------
    >>> join_traces(((0.5, 2.0), (0.7, 6.0)), ((0.1, 5.0), (0.2, 8.0)), 1.0, 9.0)
    ((0.5, 2.0), (0.7, 6.0), (1.2, 8.0))
    """
    joined: list[tuple[float, float]] = []
    for seconds, bound in (*first, *((later + seconds, bound) for seconds, bound in second)):
        if (joined[-1][1] if joined else 0.0) < bound <= largest:
            joined.append((seconds, bound))
    return tuple(thin_out(joined, MAX_POINTS))


def find_damage(trace: Trace, largest: float) -> str | None:
    """Return what is wrong with a trace that was read from a file; None if nothing is.

    Examples
    --------
    >>> find_damage(((0.1, 5.0), (0.2, 4.0)), 9.0)
    'its trace falls from 5.0 after 0.1 s to 4.0 after 0.2 s'
    """
    for (before, low), (after, high) in pairwise(trace):
        if after < before or high < low:
            return f"its trace falls from {low} after {before} s to {high} after {after} s"
    if trace and trace[-1][1] > largest:
        return f"its trace reaches {trace[-1][1]}, above its lower bound {largest}"
    return None

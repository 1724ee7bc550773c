"""SCORE: what a lower bound proves of a clustering: the certificate.

States the proof; the bound is found by `lower_bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.keys import RandomState
from projected_kmeans.lower_bounds import LowerBound, kmeans_lower_bound
from projected_kmeans.results import FitState
from projected_kmeans.scoring import inertia


@dataclass(frozen=True)
class Certificate:
    """How far a clustering can be from the best one with as many clusters.

    Attributes
    ----------
    inertia : float
        F, of the clustering.
    lower_bound : float
        No clustering has less.
    ratio : float
        Inertia / optimum is at most this: 1.0 where the inertia is 0, infinity where no bound
        above 0 was found.
    method, certain, confidence, seconds
        As in `LowerBound`.

    Examples
    --------
    >>> Certificate(118.0, 100.0, 1.18, "neighbour", True, 1.0, 0.5).describe()
    'inertia is proven within 1.18 times the best possible (neighbour bound)'
    """

    inertia: float
    lower_bound: float
    ratio: float
    method: str
    certain: bool
    confidence: float
    seconds: float

    @classmethod
    def of(cls, value: float, bound: LowerBound) -> Certificate:
        """Return what a bound proves of an inertia."""
        if value <= 0:
            ratio = 1.0
        elif bound.value <= 0:
            ratio = math.inf
        else:  # the quotient is rounded up; below 1 it can only be by the rounding of the inertia
            ratio = max(1.0, math.nextafter(value / bound.value, math.inf))
        best = (bound.method, bound.certain, bound.confidence, bound.seconds)
        return cls(value, bound.value, ratio, *best)

    def describe(self) -> str:
        """Return the certificate as a sentence."""
        if self.inertia <= 0:
            return "inertia is 0, the best possible"
        if math.isinf(self.ratio):
            return "no bound above 0 was found, so that nothing is proven of the inertia"
        near = self.ratio <= 1 + 1e-6
        share = "a millionth of" if near else f"{math.ceil(self.ratio * 1000) / 1000:g} times"
        proven = "is proven" if self.certain else "is"
        chance = "" if self.certain else f" with a probability of {100 * self.confidence:g} %"
        return f"inertia {proven} within {share} the best possible{chance} ({self.method} bound)"


def certify(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    method: str = "auto",
    time_limit: float | None = None,
    confidence: float = 0.99,
    random_state: RandomState = None,
    callback: Callable[[FitState], object] | None = None,
) -> Certificate:
    """Return how far a clustering can be from the best one with as many clusters.

    Parameters
    ----------
    X : array-like (n, d)
        Rows.
    labels : array-like (n,)
        The cluster of every row; k is the number of different labels.
    method, time_limit, confidence, random_state, callback : optional
        As in `kmeans_lower_bound`.

    Examples
    --------
    >>> from projected_kmeans import certify
    >>> certify([[0.0], [1.0], [5.0], [6.0], [20.0]], [0, 0, 1, 1, 2]).describe()
    'inertia is proven within a millionth of the best possible (neighbour bound)'
    """
    value = inertia(X, labels)
    bound = kmeans_lower_bound(
        X,
        len(np.unique(np.asarray(labels))),
        method=method,
        time_limit=time_limit,
        confidence=confidence,
        random_state=random_state,
        callback=callback,
    )
    return Certificate.of(value, bound)

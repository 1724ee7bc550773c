"""The exact minimum inertia of a few rows, without rounding, which bounds are compared with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


def partitions(n: int, k: int) -> list[tuple[int, ...]]:
    """Return all partitions of n rows into at most k clusters, each once."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*labels, label) for labels in found for label in range(min(max(labels) + 2, k))]
    return found


def exact_inertia(X: NDArray[Any], weights: NDArray[Any], labels: tuple[int, ...]) -> Fraction:
    """Return the weighted inertia of a partition without any rounding."""
    total = Fraction(0)
    for label in set(labels):
        rows = [i for i, one in enumerate(labels) if one == label]
        mass = sum(Fraction(float(weights[i])) for i in rows)
        for column in range(X.shape[1]):
            terms = [(Fraction(float(weights[i])), Fraction(float(X[i, column]))) for i in rows]
            mean = sum(w * x for w, x in terms) / mass if mass else Fraction(0)
            total += sum(w * (x - mean) ** 2 for w, x in terms)
    return total


def exact_optimum(X: NDArray[Any], k: int, weights: NDArray[Any] | None = None) -> Fraction:
    """Return the minimum inertia: all partitions in float64, then the best ones in fractions."""
    weights = np.ones(len(X)) if weights is None else weights
    every = np.array(partitions(len(X), k))
    member = every[:, :, None] == np.arange(k)
    moved = X - X.mean(axis=0)
    mass = np.maximum(np.einsum("pik,i->pk", member, weights), 1e-300)
    sums = np.einsum("pik,i,id->pkd", member, weights, moved)
    total = float(weights @ np.sum(moved**2, axis=1))
    rough = total - np.sum(sums**2 / mass[:, :, None], axis=(1, 2))
    near = every[rough <= rough.min() + 1e-9 * total]
    return min(exact_inertia(X, weights, tuple(labels)) for labels in near[:20])

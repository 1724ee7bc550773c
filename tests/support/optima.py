"""The exact minimum inertia of a few rows, without rounding, which bounds are compared with."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
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
    return find_optimum(X, k, weights)[1]


def find_optimum(
    X: NDArray[Any], k: int, weights: NDArray[Any] | None = None
) -> tuple[NDArray[np.int32], Fraction]:
    """Return the labels of a best partition, and the minimum inertia without rounding."""
    weights = np.ones(len(X)) if weights is None else weights
    every = _all_labels(len(X), k)
    member = every[:, :, None] == np.arange(k)
    moved = X - X.mean(axis=0)
    moved, shares = moved / max(float(np.abs(moved).max()), 1e-300), weights / weights.max()
    mass = np.maximum(np.einsum("pik,i->pk", member, shares), 1e-300)
    sums = np.einsum("pik,i,id->pkd", member, shares, moved)
    total = float(shares @ np.sum(moved**2, axis=1))
    rough = total - np.sum(sums**2 / mass[:, :, None], axis=(1, 2))
    order = np.argsort(rough, kind="stable")[:20]
    near = every[order[rough[order] <= rough.min() + 1e-9 * total]]
    exact = [exact_inertia(X, weights, tuple(labels)) for labels in near]
    best = exact.index(min(exact))
    return near[best], exact[best]


@lru_cache(maxsize=64)
def _all_labels(n: int, k: int) -> NDArray[np.int32]:
    return np.array(partitions(n, k), dtype=np.int32)

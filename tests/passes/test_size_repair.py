"""Assignments within limits of sizes, against linear programs and all assignments."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import linprog

from projected_kmeans.passes import cluster_prices, size_repair
from projected_kmeans.passes.cluster_prices import choose_clusters, find_prices
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.passes.size_repair import repair_sizes

KINDS = ["normal", "few values", "equal"]


def draw(kind: str, n_rows: int, k: int, stream: np.random.Generator) -> NDArray[Any]:
    """Return squared distances of rows to k of them; many are equal except for "normal"."""
    rows = stream.normal(size=(n_rows, 3))
    if kind != "normal":
        rows = stream.integers(2 if kind == "few values" else 1, size=(n_rows, 3)).astype(float)
    centers = rows[stream.choice(n_rows, k, replace=False)]
    return np.asarray(((rows[:, None] - centers) ** 2).sum(axis=2))


def solve(distances: NDArray[Any], limits: SizeLimits) -> NDArray[Any]:
    """Return labels within limits."""
    return repair_sizes(distances, find_prices(distances, None, limits), limits).labels


def total(distances: NDArray[Any], labels: Any) -> float:
    """Return the inertia of labels."""
    return float(distances[np.arange(len(distances)), np.asarray(labels)].sum())


def solve_linear_program(distances: NDArray[Any], limits: SizeLimits) -> float:
    """Return the least inertia within limits, by SciPy."""
    n_rows, k = distances.shape
    of_rows = scipy.sparse.kron(scipy.sparse.eye(n_rows), np.ones((1, k)))
    of_clusters = scipy.sparse.kron(np.ones((1, n_rows)), scipy.sparse.eye(k))
    found = linprog(
        distances.ravel(),
        A_eq=of_rows,
        b_eq=np.ones(n_rows),
        A_ub=scipy.sparse.vstack([of_clusters, -of_clusters]),
        b_ub=np.repeat([limits.maximum, -limits.minimum], k),
        method="highs",
    )
    return float(found.fun)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_of_a_linear_program(kind: str, seed: int) -> None:
    """The inertia is that of the linear program, for equal sizes and for a range of them."""
    stream = np.random.default_rng(seed)
    n_rows, k = int(stream.integers(8, 90)), int(stream.integers(1, 8))
    distances = draw(kind, n_rows, k, stream)
    low, high = n_rows // k, -(-n_rows // k)
    wide = SizeLimits(int(stream.integers(0, low + 1)), int(stream.integers(high, n_rows + 1)))
    for limits in (SizeLimits(low, high), wide):
        labels = solve(distances, limits)
        assert limits.hold(np.bincount(labels, minlength=k).astype(float))
        wanted = solve_linear_program(distances, limits)
        assert total(distances, labels) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_the_best_of_all_assignments() -> None:
    """No assignment of 7 rows to 3 clusters within the limits has less inertia."""
    distances = draw("normal", 7, 3, np.random.default_rng(5))
    limits = SizeLimits(2, 3)
    best = min(
        total(distances, labels)
        for labels in itertools.product(range(3), repeat=7)
        if limits.hold(np.bincount(labels, minlength=3).astype(float))
    )
    assert total(distances, solve(distances, limits)) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_prices_prove_the_optimum(dtype: type) -> None:
    """The dual function at the final prices equals the inertia, also if rows are many."""
    stream = np.random.default_rng(2)
    distances = draw("normal", 3000, 20, stream).astype(dtype)
    limits = SizeLimits(140, 160)
    found = repair_sizes(distances, find_prices(distances, None, limits), limits)
    assert limits.hold(np.bincount(found.labels, minlength=20).astype(float))
    value = choose_clusters(distances, None, limits, found.prices).value
    assert total(distances.astype(float), found.labels) == pytest.approx(value, rel=1e-6)


def test_repair_needs_no_good_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """From prices of 0, with few rows taking part at first, the optimum is the same."""
    distances = draw("normal", 300, 6, np.random.default_rng(3))
    limits = SizeLimits(50, 50)
    wanted = total(distances, solve(distances, limits))
    monkeypatch.setattr(size_repair, "ROWS_PER_CLUSTER", 1)
    monkeypatch.setattr(size_repair, "ROWS_PER_WRONG", 0)
    monkeypatch.setattr(cluster_prices, "MAX_STEPS", 0)
    assert total(distances, solve(distances, limits)) == pytest.approx(wanted, rel=1e-12)

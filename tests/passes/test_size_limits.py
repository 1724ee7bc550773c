"""Limits of sizes: what is possible, prices, the optimum without weights, packings with weights."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import linprog

from projected_kmeans.passes import size_limits
from projected_kmeans.passes.size_limits import (
    SizeLimits,
    choose_clusters,
    find_prices,
    fit_weights,
    rank_gaps,
    repair_sizes,
    resolve_limits,
    target_sizes,
)


def limits(minimum: Any, maximum: Any, n_rows: int = 10, **given: Any) -> SizeLimits | None:
    """Return the limits for 3 clusters."""
    given = {"weights": None, **given}
    return resolve_limits(minimum, maximum, n_clusters=3, n_rows=n_rows, **given)


def test_limits_of_rows_are_whole() -> None:
    """A minimum is rounded up and a maximum down; no cluster is empty."""
    assert limits(None, None) is None
    assert limits(2.5, 4.5) == SizeLimits(3, 4)
    assert limits(None, 5) == SizeLimits(1, 5)
    assert limits(2, None) == SizeLimits(2, 10)
    assert limits(None, "equal") == SizeLimits(3, 4)
    assert limits(None, "equal", n_rows=9) == SizeLimits(3, 3)


def test_limits_of_weight() -> None:
    """With weights, sizes are sums of weights; equal clusters differ by the heaviest row."""
    weights = np.array([1.0, 2.0, 3.0])
    assert limits(0.5, 3.0, 3, weights=weights) == SizeLimits(0.5, 3.0)
    assert limits(None, "equal", 3, weights=weights) == SizeLimits(0.0, 5.0)


@pytest.mark.parametrize(
    ("minimum", "maximum", "weights", "sentence"),
    [
        (
            4,
            None,
            None,
            "n_clusters=3 with min_cluster_size=4 need more than all rows, 10 in total; use at ",
        ),
        (
            None,
            3.9,
            None,
            "n_clusters=3 with max_cluster_size=3 have no room for all rows, 10 in total",
        ),
        (4, None, np.ones(10), "min_cluster_size=4 need more than all weight, 10 in total"),
        (None, 3, np.ones(10), "max_cluster_size=3 have no room for all weight, 10 in total"),
        (None, 8, np.array([9.0] + [1.0] * 9), "is below the weight 9 of a single row"),
    ],
)
def test_impossible_limits_are_refused(
    minimum: Any, maximum: Any, weights: Any, sentence: str
) -> None:
    """Limits that no partition can keep raise one sentence with what to do."""
    with pytest.raises(ValueError, match="use ") as raised:
        limits(minimum, maximum, weights=weights)
    assert sentence in str(raised.value)


def test_sizes_at_the_limits_are_within() -> None:
    """A size may be as small and as large as the limits say, and no more."""
    assert SizeLimits(2, 4).hold(np.array([2.0, 4.0]))
    assert not SizeLimits(2, 4).hold(np.array([1.0, 4.0]))
    assert not SizeLimits(2, 4).hold(np.array([2.0, 5.0]))


def test_ranked_gaps_are_those_of_sorted_clusters() -> None:
    """Gaps are those of the sorted cluster: its largest beyond its end, 0 without rows."""
    distances = np.random.default_rng(0).exponential(size=(200, 5))
    distances[:, 3] += 99.0
    choice = choose_clusters(distances, None, SizeLimits(0, 200), np.zeros(5))
    found = rank_gaps(choice, np.array([0, 3, 10_000, 1, 7]))
    expected = [
        gaps[min(rank, len(gaps) - 1)]
        if len(gaps := np.sort(choice.gaps[choice.labels == j]))
        else 0
        for j, rank in enumerate([0, 3, 10_000, 1, 7])
    ]
    assert found.tolist() == expected


def test_choices_at_prices() -> None:
    """A row takes the least sum of distance and price."""
    distances = np.array([[0.0, 2.0, 9.0], [1.0, 1.0, 1.0], [5.0, 0.0, 1.0]])
    found = choose_clusters(distances, None, SizeLimits(1, 1), np.array([0.0, 1.0, -1.0]))
    assert found.labels.tolist() == [0, 2, 2]
    assert found.seconds.tolist() == [1, 0, 1]
    assert found.gaps.tolist() == [3.0, 1.0, 1.0]
    assert found.value == 0.0 + 0.0 + 0.0 - 1.0 + 1.0
    assert found.excess.tolist() == [0.0, -1.0, 1.0]


def test_targets_follow_prices() -> None:
    """A price above 0 asks for the largest size, one below for the smallest, 0 for any inside."""
    sizes, prices = np.array([1.0, 9.0, 5.0, 9.0]), np.array([2.0, -2.0, 0.0, 0.0])
    assert target_sizes(prices, sizes, SizeLimits(3, 6)).tolist() == [6.0, 3.0, 5.0, 6.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_prices_bring_sizes_near_their_limits(weighted: bool) -> None:
    """At most 8 rows a cluster are in the wrong place, where thousands were before."""
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(20_000, 4))
    distances = ((rows[:, None] - rows[:10]) ** 2).sum(axis=2)
    weights = stream.random(20_000) if weighted else None
    mass = 20_000.0 if weights is None else float(weights.sum())
    limits = SizeLimits(0.09 * mass, 0.11 * mass)
    free = choose_clusters(distances, weights, limits, np.zeros(10))
    found = find_prices(distances, weights, limits)
    assert np.abs(free.excess).sum() > 0.2 * mass
    assert np.abs(found.excess).sum() <= 8 * 10
    assert found.value > free.value


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
    monkeypatch.setattr(size_limits, "ROWS_PER_CLUSTER", 1)
    monkeypatch.setattr(size_limits, "ROWS_PER_WRONG", 0)
    monkeypatch.setattr(size_limits, "MAX_STEPS", 0)
    assert total(distances, solve(distances, limits)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_limits_are_kept_at_a_small_cost(seed: int) -> None:
    """Weights are within limits, and the inertia is at most 2 % above the bound of the prices."""
    stream = np.random.default_rng(seed)
    rows, weights = stream.normal(size=(2000, 3)), stream.pareto(3, size=2000)
    distances = ((rows[:, None] - rows[:8]) ** 2).sum(axis=2)
    limits = resolve_limits(None, "equal", n_clusters=8, n_rows=2000, weights=weights)
    assert limits is not None
    labels = fit_weights(distances, weights, limits, np.zeros(2000, np.int32))
    assert limits.hold(np.bincount(labels, weights, minlength=8))
    inertia = float(weights @ distances[np.arange(2000), labels])
    assert inertia <= 1.02 * find_prices(distances, weights, limits).value


def test_packing_where_single_moves_end() -> None:
    """Rows that only fit together in one way are packed: 3 + 3 and 2 + 2 + 2."""
    distances = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    weights = np.array([3.0, 3.0, 2.0, 2.0, 2.0])
    labels = fit_weights(distances, weights, SizeLimits(6, 6), np.array([0, 0, 1, 1, 1], np.int32))
    assert np.bincount(labels, weights).tolist() == [6.0, 6.0]


def test_rows_without_weight_go_to_their_nearest_center() -> None:
    """A row of weight 0 counts nowhere, whatever the prices."""
    distances = np.array([[0.0, 5.0]] * 6)
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    labels = fit_weights(distances, weights, SizeLimits(2, 2), np.zeros(6, np.int32))
    assert labels[4:].tolist() == [0, 0]
    assert np.bincount(labels, weights).tolist() == [2.0, 2.0]


def test_impossible_packings_raise_one_sentence() -> None:
    """Three rows of weight 2 do not make two clusters of weight 3."""
    with pytest.raises(ValueError, match="found no 2 clusters of weight 3 to 3 each; use wider"):
        fit_weights(np.zeros((3, 2)), np.full(3, 2.0), SizeLimits(3, 3), np.zeros(3, np.int32))

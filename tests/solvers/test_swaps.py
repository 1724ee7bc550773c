"""Swaps: what a split gains, what a removal costs, and which centers move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.passes.assignment import Nearness
from projected_kmeans.passes.problem import Problem
from projected_kmeans.solvers.swaps import (
    choose_swaps,
    measure_removals,
    split_clusters,
    swap_labels,
)
from tests import reference
from tests.support.problems import make_problem


def draw_pairs(weighted: bool = False) -> tuple[Problem, NDArray[Any], NDArray[np.int32]]:
    """Return rows of five clusters, of which the third consists of two groups far apart."""
    stream = np.random.default_rng(2)
    labels = stream.integers(5, size=400).astype(np.int32)
    X = 9.0 * np.eye(5, 8)[labels] + 0.1 * stream.normal(size=(400, 8))
    X[labels == 2, 6] += np.where(np.arange(np.sum(labels == 2)) % 2, 5.0, -5.0)
    weights = stream.integers(1, 4, 400).astype(float) if weighted else None
    return make_problem(X, weights), X, labels


def inertia_of(X: NDArray[Any], weights: Any, labels: Any) -> float:
    """Return the weighted inertia of a partition."""
    repeats = np.ones(len(X), int) if weights is None else weights.astype(int)
    return float(reference.inertia(np.repeat(X, repeats, axis=0), np.repeat(labels, repeats)))


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_those_of_the_halves(weighted: bool) -> None:
    """A gain is the inertia of a cluster less that of its halves, and the pair gains most."""
    problem, X, labels = draw_pairs(weighted)
    moments = problem.sum(labels, reference.means(X, labels, 5))
    splits = split_clusters(problem, moments, labels, (0, 1))
    np.testing.assert_array_equal(splits.halves // 2, labels)
    for cluster in range(5):
        inside = labels == cluster
        weights = None if problem.weights is None else problem.weights[inside]
        whole = inertia_of(X[inside], weights, np.zeros(inside.sum(), np.int32))
        halves = inertia_of(X[inside], weights, splits.halves[inside] % 2)
        assert splits.gains[cluster] == pytest.approx(whole - halves, rel=1e-9)
    assert int(np.argmax(splits.gains)) == 2
    assert splits.gains[2] > 100 * np.sort(splits.gains)[-2]
    assert len(set(zip(X[labels == 2, 6] > 0, splits.halves[labels == 2], strict=True))) == 2


def test_clusters_of_equal_rows_gain_nothing() -> None:
    """A cluster of one row, of equal rows or of none has no gain."""
    X = np.array([[0.0, 1.0], [5.0, 5.0], [5.0, 5.0], [5.0, 5.0]])
    problem, labels = make_problem(X), np.array([0, 1, 1, 1], np.int32)
    centers = np.array([[0.0, 1.0], [5.0, 5.0], [9.0, 9.0]])
    moments = problem.sum(labels, centers)
    splits = split_clusters(problem, moments, labels, (0, 1))
    np.testing.assert_array_equal(splits.gains, 0.0)


def test_removals_cost_the_way_to_the_second_center() -> None:
    """The cost of a center is the sum over its rows of second less nearest distance, weighted."""
    problem, X, labels = draw_pairs(weighted=True)
    assert problem.weights is not None
    centers = reference.means(X, labels, 5)
    near: Nearness = problem.assign(centers, labels, keep_ties=True)
    moments = problem.sum(labels, np.vstack([centers, centers[:1]]))
    costs = measure_removals(problem, moments, labels, near)
    ordered = np.sort(reference.squared_distances(X, centers).T.astype(float), axis=1)
    losses = problem.weights * (ordered[:, 1] - ordered[:, 0])
    np.testing.assert_allclose(costs[:5], [losses[labels == j].sum() for j in range(5)], rtol=1e-6)
    assert costs[5] == 0.0


def test_highest_gains_meet_lowest_costs() -> None:
    """Pairs are made in order while a gain is above 1.2 costs, and neighbours of removed stay."""
    gains = np.array([10.0, 0.0, 8.0, 0.0, 6.0, 0.0, 3.5, 0.0])
    costs = np.array([50.0, 1.0, 50.0, 2.0, 50.0, 3.0, 50.0, 4.0])
    alone = np.arange(8)[:, None]
    removed, split = choose_swaps(gains, costs, alone)
    np.testing.assert_array_equal(removed, [1, 3, 5])  # 3.5 < 1.2 * 4
    np.testing.assert_array_equal(split, [0, 2, 4])
    ring = np.stack([np.roll(alone[:, 0], -shift) for shift in (0, 1, -1, 2)], axis=1)
    removed, split = choose_swaps(gains, costs, ring)
    for center in removed:
        assert not set(ring[center, 1:]) & ({*removed} | {*split})


def test_no_center_helps_to_split_its_own_cluster() -> None:
    """A cluster that gains most and costs least is not paired with itself."""
    removed, split = choose_swaps(
        np.array([9.0, 1.0, 1.0]), np.array([0.0, 5.0, 5.0]), np.arange(3)[:, None]
    )
    assert not set(removed.tolist()) & set(split.tolist())
    assert all(one != other for one, other in zip(removed, split, strict=True))


def test_rows_follow_their_centers() -> None:
    """Rows of a removed center join its neighbour; one half of a split cluster gets its index."""
    halves = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32)  # of clusters 0, 0, 1, 1, 2, 2, 3, 3
    neighbours = np.array([[0, 1], [1, 3], [2, 3], [3, 1]], np.int32)
    found = swap_labels(halves, np.array([1]), np.array([2]), neighbours)
    np.testing.assert_array_equal(found, [0, 0, 3, 3, 2, 1, 3, 3])

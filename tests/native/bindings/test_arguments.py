"""The native module takes exact types and shapes only: a wrong one is an error, never a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans import _native

X = np.arange(12.0).reshape(4, 3)
CENTERS = np.array([[0.0, 1.0, 2.0], [9.0, 10.0, 11.0]])


def call_sign_product(**changes: Any) -> None:
    """Call the product with right arguments but for the changes."""
    arguments = {"block": X, "key": 1, "scale": 1.0, "out": np.empty((4, 2)), "n_threads": 1}
    _native.sign_product(**(arguments | changes))


def call_nearest_center(**changes: Any) -> None:
    """Call the assignment with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "exact_centers": CENTERS,
        "keep_ties": True,
        "labels": np.zeros(4, np.int32),
        "nearest": np.empty(4),
        "second": np.empty(4),
        "n_threads": 1,
    }
    _native.nearest_center(**(arguments | changes))


def call_bounded_assignment(**changes: Any) -> None:
    """Call the assignment with bounds with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "exact_centers": CENTERS,
        "groups": np.array([[0, 1, -1, -1]], np.int32),
        "drifts": np.zeros(2, np.uint16),
        "group_drifts": np.zeros(16, np.uint16),
        "quantum": 1.0,
        "keep_ties": True,
        "labels": np.zeros(4, np.int32),
        "upper": np.zeros(4, np.uint16),
        "lower": np.zeros((4, 16), np.uint16),
        "n_threads": 1,
    }
    _native.bounded_assignment(**(arguments | changes))


def call_own_distances(**changes: Any) -> None:
    """Call the distances to own centers with right arguments but for the changes."""
    arguments = {
        "block": X,
        "labels": np.zeros(4, np.int32),
        "centers": CENTERS,
        "scale": 1.0,
        "out": np.empty(4),
        "n_threads": 1,
    }
    _native.own_distances(**(arguments | changes))


def call_squared_distances(**changes: Any) -> None:
    """Call the distances with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "out": np.empty((2, 4)),
        "n_threads": 1,
    }
    _native.squared_distances(**(arguments | changes))


def call_lower_distances(**changes: Any) -> None:
    """Call the distances of seeding with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "nearest": np.full(4, np.inf),
        "n_threads": 1,
    }
    _native.lower_distances(**(arguments | changes))


def call_priced_clusters(**changes: Any) -> None:
    """Call the choice by prices with right arguments but for the changes."""
    arguments = {
        "distances": np.ones((4, 2)),
        "prices": np.zeros(2),
        "labels": np.empty(4, np.int32),
        "seconds": np.empty(4, np.int32),
        "least": np.empty(4),
        "next": np.empty(4),
        "n_threads": 1,
    }
    _native.priced_clusters(**(arguments | changes))


def call_repair_sizes(**changes: Any) -> None:
    """Call the repair of sizes with right arguments but for the changes."""
    arguments = {
        "distances": np.ones((4, 2)),
        "reaches": np.full(2, np.inf),
        "minimum": 2,
        "maximum": 2,
        "labels": np.zeros(4, np.int32),
        "prices": np.zeros(2),
        "wanted": np.full(2, 2),
        "excess": np.array([2, -2, 0]),
    }
    _native.repair_sizes(**(arguments | changes))


def call_weigh_candidates(**changes: Any) -> None:
    """Call the weighing of candidates with right arguments but for the changes."""
    arguments = {
        "tiles": np.zeros((2, 3, 32)),
        "centers": CENTERS,
        "nearest": np.ones(64),
        "shares": np.ones(64),
        "after": np.empty((2, 64)),
        "sums": np.empty(2),
        "n_threads": 1,
    }
    _native.weigh_candidates(**(arguments | changes))


def call_dot_rows(**changes: Any) -> None:
    """Call the dot products with right arguments but for the changes."""
    arguments = {
        "left": np.ones((2, 3)),
        "right": np.ones((2, 3)),
        "columns": np.array([0, 4, 6]),
        "n_columns": 7,
        "out": np.empty(2),
    }
    _native.dot_rows(**(arguments | changes))


def call_nearest_listed(**changes: Any) -> None:
    """Call the choice among listed centers with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "exact_centers": CENTERS,
        "groups": np.zeros(4, np.int32),
        "starts": np.array([0, 2]),
        "members": np.array([1, 0], np.int32),
        "labels": np.zeros(4, np.int32),
        "nearest": np.empty(4),
        "second": np.empty(4),
        "n_threads": 1,
    }
    _native.nearest_listed(**(arguments | changes))


def call_nearest_by_sketch(**changes: Any) -> None:
    """Call the choice among centers near in a sketch with right arguments but for the changes."""
    arguments = {
        "block": X,
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": CENTERS,
        "exact_centers": CENTERS,
        "sketch": np.zeros((4, 2)),
        "errors": np.ones(4),
        "sketched_centers": np.zeros((2, 2)),
        "middles": np.zeros((1, 2)),
        "radii": np.zeros(1),
        "groups": np.zeros(4, np.int32),
        "starts": np.array([0, 2]),
        "members": np.array([1, 0], np.int32),
        "most": 2,
        "labels": np.zeros(4, np.int32),
        "counts": np.empty(4, np.int32),
        "n_threads": 1,
    }
    _native.nearest_by_sketch(**(arguments | changes))


def call_center_neighbours(**changes: Any) -> None:
    """Call the search for near centers with right arguments but for the changes."""
    arguments = {
        "centers": CENTERS,
        "groups": np.zeros(2, np.int32),
        "starts": np.array([0, 2]),
        "members": np.array([1, 0], np.int32),
        "out": np.empty((2, 2), np.int32),
        "n_threads": 1,
    }
    _native.center_neighbours(**(arguments | changes))


def call_halve_clusters(**changes: Any) -> None:
    """Call the division of clusters with right arguments but for the changes."""
    arguments = {
        "rows": X,
        "weights": None,
        "scale": 1.0,
        "labels": np.array([1, 0, 1, 0], np.int32),
        "means": np.zeros((2, X.shape[1])),
        "seed": 1,
        "n_passes": 2,
        "halves": np.empty(4, np.int32),
        "centers": np.empty((4, X.shape[1])),
        "gains": np.empty(2),
        "n_threads": 1,
    }
    _native.halve_clusters(**(arguments | changes))


def call_race_centers(**changes: Any) -> None:
    """Call the race for first centers with right arguments but for the changes."""
    arguments = {
        "rows": X,
        "weights": None,
        "scale": 1.0,
        "starts": np.array([0, 3, 4]),
        "order": np.array([3, 0, 1, 2]),
        "seeds": np.array([1, 2], np.uint64),
        "n_centers": 3,
        "counts": np.empty(2, np.int64),
        "chosen": np.empty(4, np.int64),
        "times": np.empty(4),
        "n_threads": 1,
    }
    _native.race_centers(**(arguments | changes))


def call_search_few_rows(**changes: Any) -> None:
    """Call the search on few rows with right arguments but for the changes."""
    arguments = {
        "rows": X,
        "weights": None,
        "seed": 1,
        "patience": 2,
        "max_iter": 10,
        "tol": 0.0,
        "labels": np.empty(4, np.int32),
        "centers": X[:2].copy(),
    }
    _native.search_few_rows(**(arguments | changes))


def call_scan_columns(**changes: Any) -> None:
    """Call the scan with right arguments but for the changes."""
    arguments = {
        "block": X,
        "minimum": np.zeros(3),
        "maximum": np.zeros(3),
        "norm": np.zeros(1),
        "n_threads": 1,
    }
    _native.scan_columns(**(arguments | changes))


def call_cluster_moments(**changes: Any) -> None:
    """Call the sums with right arguments but for the changes."""
    arguments = {
        "block": X,
        "labels": np.zeros(4, np.int32),
        "before": None,
        "weights": None,
        "centers": CENTERS,
        "magic": np.full((1, 5), 6.0 * 2**20),
        "ratios": np.array([2.0**-48, 2.0**-46, 2.0**-30, 1.0]),
        "offsets": np.zeros((2, 2, 3)),
        "totals": np.zeros((3, 2, 2)),
        "n_threads": 1,
    }
    _native.cluster_moments(**(arguments | changes))


def call_move_points(**changes: Any) -> None:
    """Call the moves with right arguments but for the changes."""
    arguments = {
        "block": X,
        "weights": None,
        "origin": np.zeros(3),
        "scale": 1.0,
        "labels": np.array([0, 0, 1, 1], np.int32),
        "centers": CENTERS.copy(),
        "mass": np.full(2, 2.0),
        "n_threads": 1,
    }
    _native.move_points(**(arguments | changes))


def call_sweep_cuts(**changes: Any) -> None:
    """Call the sweep with right arguments but for the changes."""
    arguments = {
        "cuts": np.array([[0, 1, -1], [0, 1, 2]], np.int32),
        "scales": np.ones(3),
        "matrix": np.ones((3, 3), np.float32),
        "values": np.zeros(2, np.float32),
    }
    _native.sweep_cuts(**(arguments | changes))


def call_violated_triangles(**changes: Any) -> None:
    """Call the search for triangles with right arguments but for the changes."""
    arguments = {
        "matrix": np.ones((3, 3), np.float32),
        "floor": 0.0,
        "others": np.empty((3, 4, 2), np.int32),
        "violations": np.empty((3, 4), np.float32),
        "counts": np.empty(3, np.int32),
        "n_threads": 1,
    }
    _native.violated_triangles(**(arguments | changes))


CALLS = (
    call_sign_product,
    call_nearest_center,
    call_bounded_assignment,
    call_own_distances,
    call_squared_distances,
    call_lower_distances,
    call_nearest_listed,
    call_nearest_by_sketch,
    call_scan_columns,
    call_cluster_moments,
    call_move_points,
)


@pytest.mark.parametrize("call", CALLS)
def test_the_right_arguments_are_taken(call: Any) -> None:
    """Each kernel runs with the arguments that the tests below spoil one at a time."""
    call()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "block",
    [
        X.astype(np.int64),
        X.astype(np.complex128),
        X.astype(bool),
        X.astype(np.longdouble),
        X.tolist(),
        X[0],
        X[None],
    ],
    ids=["int64", "complex", "bool", "longdouble", "list", "1-D", "3-D"],
)
def test_a_block_of_another_kind_is_refused(call: Any, block: Any) -> None:
    """A block of other elements or another number of dimensions is a TypeError."""
    with pytest.raises(TypeError):
        call(block=block)


@pytest.mark.parametrize("call", CALLS)
def test_a_stride_inside_a_row_is_refused(call: Any) -> None:
    """A block whose rows are not contiguous is refused in a sentence."""
    with pytest.raises(ValueError, match="unit stride inside a row"):
        call(block=np.asfortranarray(X))


@pytest.mark.parametrize(
    ("call", "changes"),
    [
        (call_sign_product, {"out": np.empty((3, 2))}),
        (call_nearest_center, {"origin": np.zeros(2)}),
        (call_nearest_center, {"centers": CENTERS[:, :2].copy()}),
        (call_nearest_center, {"labels": np.zeros(3, np.int32)}),
        (call_nearest_center, {"labels": np.array([0, 2, 0, 0], np.int32)}),
        (call_nearest_center, {"labels": np.array([0, -1, 0, 0], np.int32)}),
        (call_nearest_center, {"nearest": np.empty(5)}),
        (call_nearest_center, {"second": np.empty(5)}),
        (call_nearest_center, {"exact_centers": CENTERS[:1].copy()}),
        (call_nearest_center, {"centers": CENTERS[:0].copy()}),
        (call_bounded_assignment, {"labels": np.full(4, 2, np.int32)}),
        (call_bounded_assignment, {"groups": np.array([[0, -1, -1, -1]], np.int32)}),
        (call_bounded_assignment, {"groups": np.array([[0, 2, -1, -1]], np.int32)}),
        (call_bounded_assignment, {"groups": np.array([[0, 0, -1, -1]], np.int32)}),
        (call_bounded_assignment, {"groups": np.full((17, 4), -1, np.int32)}),
        (call_bounded_assignment, {"drifts": np.zeros(3, np.uint16)}),
        (call_bounded_assignment, {"group_drifts": np.zeros(15, np.uint16)}),
        (call_bounded_assignment, {"upper": np.zeros(3, np.uint16)}),
        (call_bounded_assignment, {"lower": np.zeros((4, 15), np.uint16)}),
        (call_own_distances, {"labels": np.full(4, -1, np.int32)}),
        (call_own_distances, {"out": np.empty(3)}),
        (call_cluster_moments, {"before": np.full(4, 2, np.int32)}),
        (call_squared_distances, {"out": np.empty((4, 2))}),
        (call_squared_distances, {"centers": CENTERS[:, :2].copy()}),
        (call_lower_distances, {"origin": np.zeros(2)}),
        (call_lower_distances, {"centers": CENTERS[:, :2].copy()}),
        (call_lower_distances, {"nearest": np.empty(3)}),
        (call_priced_clusters, {"distances": np.ones((4, 0))}),
        (call_priced_clusters, {"prices": np.zeros(3)}),
        (call_priced_clusters, {"labels": np.empty(3, np.int32)}),
        (call_priced_clusters, {"seconds": np.empty(5, np.int32)}),
        (call_priced_clusters, {"least": np.empty(3)}),
        (call_priced_clusters, {"next": np.empty(5)}),
        (call_repair_sizes, {"distances": np.ones((4, 0))}),
        (call_repair_sizes, {"reaches": np.ones(3)}),
        (call_repair_sizes, {"labels": np.zeros(3, np.int32)}),
        (call_repair_sizes, {"labels": np.array([0, 0, 0, 2], np.int32)}),
        (call_repair_sizes, {"prices": np.zeros(3)}),
        (call_repair_sizes, {"wanted": np.full(3, 2)}),
        (call_repair_sizes, {"excess": np.array([2, -2])}),
        (call_weigh_candidates, {"tiles": np.zeros((2, 3, 31))}),
        (call_weigh_candidates, {"centers": CENTERS[:, :2].copy()}),
        (call_weigh_candidates, {"nearest": np.empty(63)}),
        (call_weigh_candidates, {"shares": np.empty(32)}),
        (call_weigh_candidates, {"after": np.empty((1, 64))}),
        (call_weigh_candidates, {"after": np.empty((2, 32))}),
        (call_weigh_candidates, {"sums": np.empty(3)}),
        (call_dot_rows, {"left": np.ones((2, 2))}),
        (call_dot_rows, {"right": np.ones((1, 3))}),
        (call_dot_rows, {"out": np.empty(3)}),
        (call_dot_rows, {"columns": np.array([0, 4])}),
        (call_dot_rows, {"columns": np.array([-1, 4, 6])}),
        (call_dot_rows, {"columns": np.array([0, 4, 4])}),
        (call_dot_rows, {"columns": np.array([0, 4, 7])}),
        (call_dot_rows, {"columns": None}),
        (call_nearest_listed, {"origin": np.zeros(2)}),
        (call_nearest_listed, {"exact_centers": CENTERS[:1].copy()}),
        (call_nearest_listed, {"groups": np.zeros(3, np.int32)}),
        (call_nearest_listed, {"groups": np.array([0, 1, 0, 0], np.int32)}),
        (call_nearest_listed, {"groups": np.array([0, -2, 0, 0], np.int32)}),
        (call_nearest_listed, {"labels": np.array([0, -2, 0, 0], np.int32)}),
        (call_nearest_listed, {"groups": None}),
        (call_nearest_listed, {"starts": np.array([1, 2])}),
        (call_nearest_listed, {"starts": np.array([0])}),
        (call_nearest_listed, {"starts": np.array([0, 2, 1])}),
        (call_nearest_listed, {"starts": np.array([0, 0, 2])}),
        (call_nearest_listed, {"starts": np.array([0, 3])}),
        (call_nearest_listed, {"members": np.array([0, 2], np.int32)}),
        (call_nearest_listed, {"members": np.array([-1, 0], np.int32)}),
        (call_nearest_listed, {"members": np.array([0, 0], np.int32)}),
        (call_nearest_listed, {"labels": np.array([0, 2, 0, 0], np.int32)}),
        (call_nearest_listed, {"nearest": np.empty(3)}),
        (call_nearest_listed, {"second": np.empty(5)}),
        (call_nearest_by_sketch, {"exact_centers": CENTERS[:1].copy()}),
        (call_nearest_by_sketch, {"sketch": np.zeros((3, 2))}),
        (call_nearest_by_sketch, {"sketch": np.zeros((4, 3))}),
        (call_nearest_by_sketch, {"errors": np.ones(3)}),
        (call_nearest_by_sketch, {"sketched_centers": np.zeros((3, 2))}),
        (call_nearest_by_sketch, {"middles": np.zeros((2, 2))}),
        (call_nearest_by_sketch, {"middles": np.zeros((1, 3))}),
        (call_nearest_by_sketch, {"radii": np.zeros(2)}),
        (call_nearest_by_sketch, {"groups": np.array([0, 1, 0, 0], np.int32)}),
        (call_nearest_by_sketch, {"starts": np.array([0, 1])}),
        (call_nearest_by_sketch, {"members": np.array([0, 2], np.int32)}),
        (call_nearest_by_sketch, {"members": np.array([1, 1], np.int32)}),
        (call_nearest_by_sketch, {"most": 0}),
        (call_nearest_by_sketch, {"most": 3}),
        (call_nearest_by_sketch, {"labels": np.array([0, 2, 0, 0], np.int32)}),
        (call_nearest_by_sketch, {"labels": np.array([0, -2, 0, 0], np.int32)}),
        (call_nearest_by_sketch, {"counts": np.empty(3, np.int32)}),
        (call_center_neighbours, {"groups": np.zeros(3, np.int32)}),
        (call_center_neighbours, {"groups": np.array([0, 1], np.int32)}),
        (call_center_neighbours, {"starts": np.array([0, 1, 2])}),
        (call_center_neighbours, {"members": np.array([0, 2], np.int32)}),
        (call_center_neighbours, {"members": np.array([0, 0], np.int32)}),
        (call_center_neighbours, {"out": np.empty((3, 2), np.int32)}),
        (call_center_neighbours, {"out": np.empty((2, 3), np.int32)}),
        (call_center_neighbours, {"out": np.empty((2, 0), np.int32)}),
        (call_search_few_rows, {"rows": X[:0]}),
        (call_search_few_rows, {"weights": np.ones(3)}),
        (call_search_few_rows, {"labels": np.empty(3, np.int32)}),
        (call_search_few_rows, {"centers": np.ones((2, X.shape[1] + 1))}),
        (call_search_few_rows, {"centers": np.ones((0, X.shape[1]))}),
        (call_search_few_rows, {"patience": -1}),
        (call_search_few_rows, {"max_iter": 0}),
        (call_search_few_rows, {"tol": -1.0}),
        (call_search_few_rows, {"tol": np.nan}),
        (call_halve_clusters, {"weights": np.ones(3)}),
        (call_halve_clusters, {"labels": np.array([1, 0, 2, 0], np.int32)}),
        (call_halve_clusters, {"labels": np.array([1, 0, -1, 0], np.int32)}),
        (call_halve_clusters, {"labels": np.array([1, 0], np.int32)}),
        (call_halve_clusters, {"means": np.zeros((2, X.shape[1] + 1))}),
        (call_halve_clusters, {"n_passes": 0}),
        (call_halve_clusters, {"halves": np.empty(3, np.int32)}),
        (call_halve_clusters, {"centers": np.empty((3, X.shape[1]))}),
        (call_halve_clusters, {"gains": np.empty(3)}),
        (call_race_centers, {"weights": np.ones(3)}),
        (call_race_centers, {"starts": np.array([0, 4, 3])}),
        (call_race_centers, {"starts": np.array([0, 3, 3])}),
        (call_race_centers, {"order": np.array([3, 0, 1, 4])}),
        (call_race_centers, {"order": np.array([3, 0, 1, -1])}),
        (call_race_centers, {"order": np.array([3, 0, 1, 1])}),
        (call_race_centers, {"seeds": np.zeros(3, np.uint64)}),
        (call_race_centers, {"counts": np.empty(3, np.int64)}),
        (call_race_centers, {"chosen": np.empty(3, np.int64)}),
        (call_race_centers, {"times": np.empty(5)}),
        (call_scan_columns, {"minimum": np.zeros(2)}),
        (call_scan_columns, {"maximum": np.zeros(4)}),
        (call_scan_columns, {"norm": np.zeros(2)}),
        (call_cluster_moments, {"labels": np.zeros(3, np.int32)}),
        (call_cluster_moments, {"labels": np.array([0, 1, 2, 0], np.int32)}),
        (call_cluster_moments, {"labels": np.array([0, -1, 0, 0], np.int32)}),
        (call_cluster_moments, {"weights": np.ones(3)}),
        (call_cluster_moments, {"magic": np.ones((1, 3))}),
        (call_cluster_moments, {"magic": np.ones((3, 5))}),
        (call_cluster_moments, {"ratios": np.ones(3)}),
        (call_cluster_moments, {"offsets": np.zeros((2, 3, 3))}),
        (call_cluster_moments, {"totals": np.zeros((2, 2, 2))}),
        (call_cluster_moments, {"centers": CENTERS[:, :2].copy()}),
        (call_move_points, {"labels": np.array([0, 1, 2, 0], np.int32)}),
        (call_move_points, {"weights": np.ones(5)}),
        (call_move_points, {"mass": np.ones(3)}),
        (call_move_points, {"origin": np.zeros(2)}),
        (call_move_points, {"centers": np.zeros((2, 2))}),
        (call_sweep_cuts, {"cuts": np.zeros((2, 2), np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [0, 1, 3]], np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [0, 1, -2]], np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [-1, 1, 2]], np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [0, 1, 0]], np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [0, 1, 1]], np.int32)}),
        (call_sweep_cuts, {"cuts": np.array([[0, 1, -1], [1, 1, -1]], np.int32)}),
        (call_sweep_cuts, {"scales": np.ones(2)}),
        (call_sweep_cuts, {"matrix": np.ones((3, 2), np.float32)}),
        (call_sweep_cuts, {"values": np.zeros(3, np.float32)}),
        (call_violated_triangles, {"matrix": np.ones((3, 2), np.float32)}),
        (call_violated_triangles, {"floor": -1.0}),
        (call_violated_triangles, {"floor": np.nan}),
        (call_violated_triangles, {"others": np.empty((3, 3, 2), np.int32)}),
        (call_violated_triangles, {"others": np.empty((3, 4, 3), np.int32)}),
        (call_violated_triangles, {"violations": np.empty((2, 4), np.float32)}),
        (call_violated_triangles, {"counts": np.empty(2, np.int32)}),
        (
            call_violated_triangles,
            {"others": np.empty((3, 0, 2), np.int32), "violations": np.empty((3, 0), np.float32)},
        ),
    ],
)
def test_a_wrong_size_is_refused(call: Any, changes: dict[str, Any]) -> None:
    """An array of the wrong size, or a label that names no center, is refused before any pass."""
    with pytest.raises(ValueError, match=r"\b(is|has|have|are|name)\b"):
        call(**changes)


@pytest.mark.parametrize(
    ("call", "changes"),
    [
        (call_sign_product, {"out": np.empty((4, 2), dtype=np.int64)}),
        (call_sign_product, {"out": np.empty((4, 2), order="F")}),
        (call_sign_product, {"key": -1}),
        (call_sign_product, {"key": 2**64}),
        (call_nearest_center, {"labels": np.zeros(4, np.int64)}),
        (call_nearest_center, {"centers": CENTERS.astype(np.float32)}),
        (call_nearest_center, {"nearest": np.empty(8)[::2]}),
        (call_nearest_center, {"distances": np.empty(8)[::2]}),
        (call_lower_distances, {"nearest": np.empty(4, np.float32)}),
        (call_priced_clusters, {"prices": np.zeros(2, np.float32)}),
        (call_priced_clusters, {"labels": np.empty(4, np.int64)}),
        (call_repair_sizes, {"prices": np.zeros(2, np.float32)}),
        (call_repair_sizes, {"excess": np.array([2, -2, 0], np.int32)}),
        (call_weigh_candidates, {"sums": np.empty(2, np.float32)}),
        (call_dot_rows, {"left": np.ones((2, 3), np.float32)}),
        (call_dot_rows, {"columns": np.zeros(3, np.int32)}),
        (call_weigh_candidates, {"shares": np.ones(64, np.float32)}),
        (call_nearest_listed, {"groups": np.zeros(4, np.int64)}),
        (call_nearest_listed, {"centers": CENTERS.astype(np.float32)}),
        (call_center_neighbours, {"out": np.empty((2, 2), np.int64)}),
        (call_race_centers, {"rows": X.astype(np.float16)}),
        (call_search_few_rows, {"rows": X.astype(np.float32)}),
        (call_search_few_rows, {"labels": np.empty(4, np.int64)}),
        (call_race_centers, {"seeds": np.zeros(2, np.int64)}),
        (call_cluster_moments, {"labels": np.zeros(4, np.int64)}),
        (call_cluster_moments, {"weights": np.ones(4, np.float32)}),
        (call_move_points, {"centers": np.asfortranarray(CENTERS)}),
        (call_sweep_cuts, {"matrix": np.ones((3, 3))}),
        (call_sweep_cuts, {"cuts": np.zeros((2, 3), np.int64)}),
        (call_violated_triangles, {"counts": np.empty(3, np.int64)}),
    ],
)
def test_a_wrong_type_is_refused(call: Any, changes: dict[str, Any]) -> None:
    """An argument of another type or order is a TypeError: nothing is converted in silence."""
    with pytest.raises(TypeError):
        call(**changes)


def test_read_only_results_are_refused() -> None:
    """A kernel does not write into a read-only array."""
    out = np.zeros((4, 2))
    out.setflags(write=False)
    with pytest.raises(TypeError):
        call_sign_product(out=out)
    assert not out.any()


@pytest.mark.parametrize("call", CALLS)
def test_read_only_blocks_are_read(call: Any) -> None:
    """A block need not be writable."""
    block = X.copy()
    block.setflags(write=False)
    call(block=block)

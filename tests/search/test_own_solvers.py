"""Solvers of the caller: how they are called, and what is said about labels that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

from projected_kmeans.search.own_solvers import (
    check_own_solver,
    check_weighted_solver,
    name_solver,
    run_own_solver,
)
from tests.support.normal_rows import draw_normal_rows

ROWS = draw_normal_rows(12, 3, 0)


class Silent(BaseEstimator):
    """An estimator that keeps no labels."""

    def __init__(self, n_clusters: int = 2) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: Any) -> Silent:
        """Do nothing."""
        return self


def test_solvers_have_names() -> None:
    """A name is itself; an estimator is named by its class, a function by its own name."""
    named = [name_solver(solver) for solver in ("lloyd", KMeans(3), np.argmin)]
    assert named == ["lloyd", "KMeans", "argmin"]


def test_an_estimator_is_cloned_and_seeded() -> None:
    """The caller's estimator stays as it is; k and the seed are set in a copy."""
    solver = KMeans(5, n_init=1, random_state=99)
    labels = run_own_solver(solver, ROWS, 3, 4, None)
    np.testing.assert_array_equal(labels, KMeans(3, n_init=1, random_state=4).fit(ROWS).labels_)
    assert labels.dtype == np.int32
    assert solver.get_params() == KMeans(5, n_init=1, random_state=99).get_params()
    assert "labels_" not in vars(solver)


def test_a_function_gets_rows_k_and_a_seed() -> None:
    """The rows are read-only, and weights come by name."""
    seen: dict[str, Any] = {}

    def solve(sketch: Any, k: int, seed: int, sample_weight: Any = None) -> list[int]:
        seen.update(sketch=sketch, k=k, seed=seed, weights=sample_weight)
        return [i % k for i in range(len(sketch))]

    weights = np.ones(12)
    labels = run_own_solver(solve, ROWS, 3, 5, weights)
    assert labels.tolist() == [0, 1, 2] * 4
    assert (seen["k"], seen["seed"], seen["weights"] is weights) == (3, 5, True)
    with pytest.raises(ValueError, match="read-only"):
        seen["sketch"][0, 0] = 1.0
    assert ROWS.flags.writeable


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [0, 1],
            r"solve returned labels of shape \(2,\) for 12 rows; return one integer for every",
        ),
        (np.zeros((12, 1), int), r"labels of shape \(12, 1\)"),
        ([-1, *[0] * 11], "labels from -1 to 0; return integers from 0 to 2"),
        ([3, *[0] * 11], "labels from 0 to 3; return integers from 0 to 2"),
        ([0.0, 1.0, np.nan, *[0.0] * 9], "returned NaN for row 2; return integers"),
        ([0.5] * 12, "labels of type float64; return integers"),
        (["a"] * 12, "labels of type <U1; return integers"),
        (None, r"labels of shape \(\)"),
    ],
)
def test_wrong_labels_get_one_sentence(labels: Any, message: str) -> None:
    """The sentence names the solver, what it returned, and what to return."""

    def solve(sketch: Any, k: int, seed: int) -> Any:
        return labels

    with pytest.raises(ValueError, match=message):
        run_own_solver(solve, ROWS, 3, 0, None)


def test_what_is_no_solver_is_refused() -> None:
    """A class, an estimator without n_clusters or labels, and other values get a sentence."""
    for solver, message in (
        (KMeans, r"solver=KMeans is a class; use KMeans\(\)"),
        (DBSCAN(), r"solver=DBSCAN\(\) has no parameter n_clusters"),
        (3, "solver=3 is neither a name nor a solver"),
    ):
        with pytest.raises(TypeError, match=message):
            check_own_solver(solver)
    with pytest.raises(TypeError, match="solver Silent has no labels_ after its fit"):
        run_own_solver(Silent(), ROWS, 3, 0, None)


def test_who_takes_weights() -> None:
    """Weights are refused for a solver whose signature does not name them."""
    check_weighted_solver(KMeans())
    with pytest.raises(ValueError, match="solver dict takes no sample_weight"):
        check_weighted_solver(dict)  # has no signature
    with pytest.raises(ValueError, match="solver AgglomerativeClustering takes no sample_weight"):
        check_weighted_solver(AgglomerativeClustering())

"""Lower bounds never exceed the minimum inertia, in exact fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import ProjectedKMeans, inertia, kmeans_lower_bound
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.layouts import seeds
from tests.support.optima import exact_optimum, partitions
from tests.support.proofs import draw_instance

KINDS = ("normal", "duplicates", "offset", "far offset", "tiny", "huge", "outlier")


@given(
    seed=seeds,
    n=st.integers(1, 7),
    d=st.integers(1, 3),
    k=st.integers(1, 4),
    kind=st.sampled_from(KINDS),
)
def test_no_bound_exceeds_the_minimum(seed: int, n: int, d: int, k: int, kind: str) -> None:
    """Every certain bound is at most the exact minimum inertia."""
    k = min(k, n)
    X = draw_instance(seed, n, d, kind)
    bound = kmeans_lower_bound(X, k, method="full")
    assert bound.certain
    assert bound.confidence == 1.0
    assert bound.value == max(bound.values.values())
    optimum = exact_optimum(X, k)
    assert all(0 <= Fraction(value) <= optimum for value in bound.values.values())


@given(seed=seeds, n=st.integers(2, 7), k=st.integers(1, 3), scale=st.sampled_from([1.0, 1e-200]))
def test_bounds_hold_for_weighted_rows(seed: int, n: int, k: int, scale: float) -> None:
    """With weights, some of them 0, the bound is at most the exact weighted minimum."""
    k = min(k, n)
    X = draw_instance(seed, n, 2, "normal")
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 50.0], n) * scale
    weights[0] = scale
    bound = kmeans_lower_bound(X, k, method="full", sample_weight=weights)
    assert Fraction(bound.value) <= exact_optimum(X, k, weights)


def test_a_weight_is_a_number_of_copies() -> None:
    """A row with weight 3 gives the bounds of three copies of the row."""
    X = draw_instance(3, 30, 4, "normal")
    weights = np.arange(30) % 3 + 1
    copies = np.repeat(X, weights, axis=0)
    one = kmeans_lower_bound(X, 4, sample_weight=weights, method="full").values
    other = kmeans_lower_bound(copies, 4, method="full").values
    assert one["spectral"] == pytest.approx(other["spectral"], rel=1e-9)
    # Copies of a row may go to different clusters, so that their bound is slightly lower.
    assert one["neighbour"] == pytest.approx(other["neighbour"], rel=1e-5)


def test_bounds_for_one_cluster_are_the_inertia() -> None:
    """With k = 1 the bounds are the inertia, less their rounding margins."""
    X = draw_instance(0, 200, 30, "offset")
    bound = kmeans_lower_bound(X, 1, method="full")
    best = inertia(X, np.zeros(200, dtype=int))
    for name in ("spectral", "neighbour"):
        assert best * (1 - 1e-8) <= bound.values[name] <= best


@pytest.mark.parametrize("n", [1, 5])
def test_the_bound_is_zero_if_every_row_has_a_cluster(n: int) -> None:
    """With as many clusters as rows the minimum inertia is 0, and so is the bound."""
    assert kmeans_lower_bound(draw_instance(1, n, 3, "normal"), n).value == 0


def test_the_bound_of_equal_rows_is_zero() -> None:
    """If all rows are equal, even far from zero, the bound is 0."""
    assert kmeans_lower_bound(np.full((20, 3), 1e6 / 3), 2, method="full").value == 0


def test_faces_are_certified(find_data: Callable[[str], Path]) -> None:
    """On ORL the ratios are about 2.42 (spectral), 1.18 (neighbour) and 1.03 (semidefinite)."""
    X = read_matrix(find_data("ORL_64x64.mat")).rows
    model = ProjectedKMeans(40, random_state=0).fit(X)
    bound = kmeans_lower_bound(X, 40, method="auto", labels=model.labels_)
    ratios = {name: model.inertia_ / value for name, value in bound.values.items()}
    assert ratios["spectral"] < 2.45
    assert ratios["neighbour"] < 1.19
    assert ratios["semidefinite"] < 1.04
    assert bound.method == "semidefinite"
    assert bound.better_labels is not None
    assert bound.value < inertia(X, bound.better_labels) < model.inertia_
    assert bound.skipped["tightened"].startswith("not tried, because the semidefinite bound")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 4}, "n_clusters=4 exceeds n_samples=3"),
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"n_clusters": 2, "method": "svd"}, "method='svd' is not known"),
        ({"n_clusters": 2, "confidence": 1.0}, "confidence=1.0 is out of range"),
        ({"n_clusters": 2, "time_limit": -1}, "time_limit=-1"),
        ({"n_clusters": 2, "sample_weight": [1, 2]}, "sample_weight"),
        ({"n_clusters": 2, "labels": [0, 1]}, "labels has shape .2,. and X 3 rows; pass one"),
        ({"n_clusters": 2, "labels": [0, 1, 2]}, "labels has 3 clusters and n_clusters=2; use at"),
    ],
)
def test_bad_input_gets_one_sentence(options: dict[str, Any], message: str) -> None:
    """A value that makes no sense is refused by name."""
    with pytest.raises(ValueError, match=message):
        kmeans_lower_bound([[0.0], [1.0], [2.0]], **options)


def test_the_exact_minimum_tries_all_partitions() -> None:
    """The search that the tests compare with tries every partition once (Stirling numbers)."""
    assert len(partitions(5, 3)) == 1 + 15 + 25
    pairs = itertools.combinations(partitions(4, 4), 2)
    assert all(one != other for one, other in pairs)

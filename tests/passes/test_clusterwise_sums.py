"""Sums over clusters of wide sparse rows, a few clusters at a time: the bits of all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import SparseBlocks
from projected_kmeans.passes import clusterwise_sums
from projected_kmeans.passes.cluster_sums import ClusterSums
from projected_kmeans.passes.clusterwise_sums import JoinedMoments, RowReferences, sums_are_wide
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from tests.support.blobs import assert_same_fit
from tests.support.layouts import seeds
from tests.support.sparse_rows import both_forms, draw_sparse, draw_topics

NUMBERS = (
    "mass",
    "means",
    "squares",
    "spread",
    "cluster_inertia",
    "cluster_error",
    "squares_of_means",
    "moved_means",
    "inertia",
    "inertia_error",
    "accurate",
    "inertia_about_references",
    "error_about_references",
    "sum_of_squares",
)


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sum all sparse rows in memory two or three clusters at a time."""
    monkeypatch.setattr(clusterwise_sums, "MIN_WIDE_SIZE", 0)
    monkeypatch.setattr(clusterwise_sums, "GROUP_SIZE", 100)


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(1, 60),
    d=st.sampled_from([1, 7, 40, 600]),
    k=st.integers(1, 9),
    dtype=st.sampled_from(["float32", "float64"]),
    weighted=st.booleans(),
    spherical=st.booleans(),
    of_rows=st.booleans(),
)
def test_all_numbers_are_those_of_sums_at_once(
    seed: int,
    n: int,
    d: int,
    k: int,
    dtype: str,
    weighted: bool,
    spherical: bool,
    of_rows: bool,
) -> None:
    """Means, inertia and errors have the same bits, with empty clusters, about points or rows."""
    stream = np.random.default_rng(seed)
    rows = draw_sparse(seed, n, d, dtype=dtype).sparse
    source, labels = SparseBlocks(rows), stream.integers(k, size=n).astype(np.int32)
    weights = stream.integers(0, 4, size=n) / 2 if weighted else None
    chosen = stream.integers(n, size=k)
    points = source.take(chosen) + (0 if of_rows else stream.normal(size=(k, d)))
    ranges = scan_columns(source)

    def sum_up(references: Any) -> Any:
        sums = ClusterSums(source, references, weights, ranges, 2, spherical=spherical)
        source.walk(sums.adding(labels))
        return sums._find_moments()

    expected = sum_up(points)
    assert isinstance(expected, Moments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusterwise_sums, "MIN_WIDE_SIZE", 0)
        patch.setattr(clusterwise_sums, "GROUP_SIZE", 2 * d)
        found = sum_up(RowReferences(source, chosen) if of_rows else points)
    assert isinstance(found, JoinedMoments)
    for name in NUMBERS:
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
    clustering, alike = found.describe(labels), expected.describe(labels)
    assert (clustering.inertia, clustering.sum_of_squares) == (alike.inertia, alike.sum_of_squares)


@pytest.mark.usefixtures("few_at_a_time")
def test_rows_that_no_grid_serves_are_summed_carefully() -> None:
    """A value of 1e30 makes the shared grid too coarse; the result is that of careful sums."""
    X = np.random.default_rng(0).normal(size=(60, 12))
    X[3, 5] = 1e30
    source, labels = SparseBlocks(both_forms(X).sparse), np.repeat([0, 1, 2], 20).astype(np.int32)
    problem = Problem(source, scan_columns(source))
    found = problem.sum(labels, source.take(np.array([0, 20, 40])))
    assert isinstance(found, Moments)
    exact = np.sum((X[20:40] - X[20:40].mean(axis=0)) ** 2)
    assert found.cluster_inertia[1] == pytest.approx(exact, rel=1e-12)


@pytest.mark.usefixtures("few_at_a_time")
def test_sums_can_be_updated_and_resumed() -> None:
    """Labels that change give the sums of the new labels; parts are empty and go on from labels."""
    rows = draw_topics(0, 60, 300, 4)
    source, stream = SparseBlocks(rows), np.random.default_rng(0)
    before, after = stream.integers(4, size=(2, 60)).astype(np.int32)
    points, ranges = source.take(np.arange(4)), scan_columns(source)
    sums = ClusterSums(source, points, None, ranges)
    sums.update(before)
    moved = sums.update(after, before)
    assert all(part.size == 0 for part in sums.parts)
    resumed = ClusterSums(source, points, None, ranges)
    resumed.resume(*sums.parts, after)
    for found in (moved, resumed.moments()):
        np.testing.assert_array_equal(
            found.means, ClusterSums(source, points, None, ranges).update(after).means
        )
        assert found.inertia == moved.inertia
    assert sums.about_references().inertia_about_references == moved.inertia_about_references


@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"sample_weight": True}])
def test_fits_have_the_bits_of_sums_at_once(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """A whole fit, polished several times, does not depend on how its clusters are summed."""
    rows = draw_topics(2, 400, 900, 6)
    weights = np.random.default_rng(0).integers(1, 4, 400) if "sample_weight" in options else None
    chosen = {name: value for name, value in options.items() if name != "sample_weight"}

    def fit() -> ProjectedKMeans:
        model = ProjectedKMeans(6, random_state=0, polish_iter=4, projection="sign", **chosen)
        return model.fit(rows, sample_weight=weights)

    expected = fit()
    monkeypatch.setattr(clusterwise_sums, "MIN_WIDE_SIZE", 0)
    monkeypatch.setattr(clusterwise_sums, "GROUP_SIZE", 2000)
    assert_same_fit(fit(), expected)


def test_only_wide_sparse_rows_are_summed_so() -> None:
    """What decides is the number of entries of all centers."""
    narrow = SparseBlocks(draw_topics(0, 10, 2**20, 2))
    assert not sums_are_wide(narrow, 3)
    assert sums_are_wide(narrow, 4)

"""Clusters and columns measured in one walk: against NumPy's covariances and a sort of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes.cluster_summaries import (
    ClusterSummaries,
    no_rows,
    rank_rows,
    summarize_clusters,
)
from projected_kmeans.passes.problem import Problem

STREAM = np.random.default_rng(0)
WEIGHTS = STREAM.random(300)
CENTERS = 4 * np.eye(3, 6)
ROWS = STREAM.normal(size=(300, 6)) + CENTERS[STREAM.integers(3, size=300)]
ROWS[:, 5] = 7.0  # a constant column


def check(found: ClusterSummaries, rows: np.ndarray, weights: np.ndarray) -> None:
    """Compare what was measured with sums over all rows at once."""
    labels = np.argmin(((rows[:, None] - CENTERS) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(found.rows, np.bincount(labels, minlength=3))
    np.testing.assert_allclose(found.mean, np.average(rows, axis=0, weights=weights), atol=1e-12)
    for cluster in range(3):
        inside = labels == cluster
        assert found.mass[cluster] == pytest.approx(weights[inside].sum())
        np.testing.assert_allclose(
            found.means[cluster],
            np.average(rows[inside], axis=0, weights=weights[inside]),
            atol=1e-12,
        )
        squares = ((rows[inside] - CENTERS[cluster]) ** 2).sum(axis=1)
        spread = np.sqrt(np.average(squares, weights=weights[inside]))
        assert found.spread[cluster] == pytest.approx(spread)
        both = np.cov(rows[:, :5].T, inside.astype(float), aweights=weights, ddof=0)
        expected = both[5, :5] / np.sqrt(np.diag(both)[:5] * both[5, 5])
        np.testing.assert_allclose(found.correlate(cluster)[:5], expected, atol=1e-12)
        assert found.correlate(cluster)[5] == 0


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("block_rows", [7, 300])
def test_dense_rows(offset: float, block_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means, spreads and correlations are NumPy's, also far from zero, and of any blocks."""
    source = ArrayBlocks(ROWS + offset, block_rows)
    problem = Problem(source, scan_columns(source), WEIGHTS)
    found = summarize_clusters(problem, CENTERS + offset)
    whole = Problem(ArrayBlocks(ROWS + offset), problem.ranges, WEIGHTS)
    again = summarize_clusters(whole, CENTERS + offset)
    assert found.deviation.tobytes() == again.deviation.tobytes()
    assert found.means.tobytes() == again.means.tobytes()
    if not offset:
        check(found, ROWS, WEIGHTS)
    else:
        plain = ArrayBlocks(ROWS)
        near = summarize_clusters(Problem(plain, scan_columns(plain), WEIGHTS), CENTERS)
        for cluster in range(3):
            np.testing.assert_allclose(found.correlate(cluster), near.correlate(cluster), atol=1e-7)


def test_sparse_rows_and_no_weights() -> None:
    """Sparse rows are measured as the same rows given dense."""
    rows = np.where(STREAM.random(ROWS.shape) < 0.5, 0.0, ROWS)
    rows[:, 5] = 7.0
    source = SparseBlocks(scipy.sparse.csr_array(rows), 11)
    check(
        summarize_clusters(Problem(source, scan_columns(source)), CENTERS),
        rows,
        np.ones(300),
    )


def test_a_single_cluster_stands_out_in_nothing() -> None:
    """All correlations are 0 if there is one cluster."""
    source = ArrayBlocks(ROWS)
    found = summarize_clusters(Problem(source, scan_columns(source)), ROWS.mean(axis=0)[None])
    assert not found.correlate(0).any()


@pytest.mark.parametrize("size", [1, 7, 200])
def test_lists_are_those_of_a_sort(size: int) -> None:
    """Whatever the blocks, lists hold the first rows by key and then by index, also with ties."""
    stream = np.random.default_rng(0)
    labels = stream.integers(-1, 6, size=200).astype(np.int32)
    keys = stream.integers(5, size=200).astype(np.float64)
    lists = no_rows(7, 4)
    starts = list(range(0, 200, size))
    for start in stream.permutation(starts).tolist():
        part = slice(start, start + size)
        rank_rows(lists, labels[part], keys[part], start)
    for cluster in range(7):
        own = np.flatnonzero(labels == cluster)
        expected = own[np.lexsort((own, keys[own]))][:4].tolist()
        assert lists["row"][cluster].tolist() == expected + [-1] * (4 - len(expected))
        assert lists["key"][cluster][: len(expected)].tolist() == keys[expected].tolist()
    assert np.isinf(lists["key"][6]).all()  # no row has the label 6

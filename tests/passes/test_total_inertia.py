"""The inertia about one center follows from the sums of any partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.fit.reduction import open_problem
from projected_kmeans.passes import clusterwise_sums
from projected_kmeans.passes.total_inertia import explain_share, measure_total_spherical_inertia


def total_of_labels(X: Any, weights: Any, k: int, *, spherical: bool) -> float:
    """Return the total inertia that the sums of an arbitrary partition give."""
    source = open_blocks(X)
    problem = open_problem(source, scan_columns(source), weights, 1, spherical=spherical)
    labels = (np.arange(X.shape[0]) % k).astype(np.int32)
    references = problem.source.take(np.arange(k, dtype=np.int64))
    return problem.sum(labels, references).describe(labels).total_inertia


@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_about_the_mean(k: int, weighted: bool, sparse: bool) -> None:
    """For the means of any clusters it is the sum of squared distances to the mean of all rows."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(60, 4)) + 100
    weights = stream.integers(1, 5, 60).astype(float) if weighted else None
    counts = np.ones(60) if weights is None else weights
    wanted = np.sum(counts[:, None] * (X - np.average(X, axis=0, weights=counts)) ** 2)
    given: Any = scipy.sparse.csr_array(X) if sparse else X
    assert total_of_labels(given, weights, k, spherical=False) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("wide", [False, True])
def test_it_is_about_the_best_direction(
    k: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For unit rows it is the inertia about the direction of their sum; zeros count 1 each."""
    monkeypatch.setattr(clusterwise_sums, "MIN_WIDE_SIZE", 0 if wide else 10**9)
    X = np.random.default_rng(1).normal(size=(50, 5)) + 1
    X[7] = 0
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(lengths > 0, lengths, 1)
    center = unit.sum(axis=0) / np.linalg.norm(unit.sum(axis=0))
    wanted = np.sum((unit - center) ** 2)
    found = total_of_labels(scipy.sparse.csr_array(X), None, k, spherical=True)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_rows_that_cancel_have_no_best_direction() -> None:
    """About any unit center, two opposite unit rows have the inertia 4."""
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert measure_total_spherical_inertia(0.0, opposite, np.ones(2)) == 4.0


def test_shares_stay_between_0_and_1() -> None:
    """Rounding may leave an inertia above the total; then nothing is explained."""
    assert explain_share(1.0 + 1e-12, 1.0) == 0.0
    assert explain_share(0.0, 1.0) == 1.0

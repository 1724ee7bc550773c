"""Means and inertia from exact sums: the grids, proven errors, and the total inertia."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, open_blocks
from projected_kmeans.passes import sums as sums_module
from projected_kmeans.passes.moments import (
    SPAN,
    TOLERANCE,
    Columns,
    MomentGrid,
    dot_error,
    dot_rows,
    explain_share,
    measure_total_inertia,
)
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search.reduction import open_problem
from tests.support.layouts import seeds
from tests.support.summed_rows import draw_problem, sum_rows


def test_partial_sums_merge_to_the_same_bits() -> None:
    """Sums of parts, made apart and added in any order, are the sums of the whole."""
    X, labels, references, weights = draw_problem(3, 90, 40, 4, "float64")
    labels = labels.astype(np.int32)
    magic = np.full((1, 42), 6.0 * 2.0**40)
    ratios = np.array([2.0**-44, 2.0**-40, 2.0**-24, 2.0**6])
    grid = MomentGrid(magic, ratios)
    whole = [np.zeros((2, 4, 40)), np.zeros((3, 4, 2))]
    _native.cluster_moments(X, labels, None, weights, references, magic, ratios, *whole, 2)
    parts = []
    for rows in np.array_split(np.random.default_rng(1).permutation(90), 7):
        part = [np.zeros((2, 4, 40)), np.zeros((3, 4, 2))]
        _native.cluster_moments(
            X[rows], labels[rows], None, weights[rows], references, magic, ratios, *part, 1
        )
        parts.append(part)
    for order in (range(7), (6, 2, 5, 0, 1, 4, 3)):
        offsets, totals = (sum(parts[index][which] for index in order) for which in range(2))
        np.testing.assert_array_equal(offsets, whole[0])
        np.testing.assert_array_equal(totals[:, :, 0], whole[1][:, :, 0])
        squares = [grid.add_up_squares(one[:, :, 1]) for one in (totals, whole[1])]
        assert squares[0].tobytes() == squares[1].tobytes()


def test_sums_are_correctly_rounded_on_the_grid() -> None:
    """Large rows that cancel leave exactly the sum of the others, because no partial sum rounds."""
    tiny = 2.0**-60
    X = np.array([[1.0], [tiny], [-1.0], [tiny]] * 500)
    source = ArrayBlocks(X)
    ranges = ColumnRanges(np.array([-1.0]), np.array([1.0]))
    found = Problem(source, ranges).sum(np.zeros(2000, np.int32), np.zeros((1, 1)))
    assert Fraction(float(found.offsets[0, 0])) == 1000 * Fraction(tiny)


@pytest.mark.parametrize("distance", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_inertia_about_other_points(distance: float, dtype: str) -> None:
    """It differs from the sum over all rows by no more than the error that comes with it."""
    X, labels, references, weights = draw_problem(2, 60, 7, 4, dtype)
    points = references + distance * np.random.default_rng(3).normal(size=references.shape)
    for chosen in (None, weights):
        inertia, error = sum_rows(X, labels, references, chosen).inertia_about(points)
        heavy = np.ones(60) if chosen is None else chosen
        gaps = X.astype(np.float64) - points[labels]
        expected = math.fsum((heavy[:, None] * gaps**2).ravel())
        assert abs(inertia - expected) <= error + 1e-15 * expected
        assert error <= 1e-12 * expected


@given(seed=seeds, n=st.integers(1, 40), d=st.integers(1, 5), far=st.integers(0, 14))
def test_the_quick_error_is_never_too_small(seed: int, n: int, d: int, far: int) -> None:
    """The error from few numbers is at least that of each cluster, and is used only if small."""
    stream = np.random.default_rng(seed)
    X, labels = stream.normal(size=(n, d)), stream.integers(3, size=n).astype(np.int32)
    X[0, 0] = 10.0**far
    source = ArrayBlocks(X)
    sums = Problem(source, scan_columns(source), None, 1).open_sums(np.resize(X, (3, d)))
    source.walk(sums.adding(labels))
    found = sums.take()
    careful = replace(found, lost=None)
    assert found.inertia_error >= careful.inertia_error
    assert careful.accurate or not found.accurate
    if found.inertia_error > TOLERANCE * found.inertia:
        assert found.inertia_error == careful.inertia_error


@given(seed=seeds, d=st.sampled_from([1, 7, SPAN - 1, SPAN, SPAN + 1, 3 * SPAN + 5]))
def test_vectors_without_zeros_have_the_bits_of_dense_ones(seed: int, d: int) -> None:
    """Columns in which all vectors are 0 may be left out, and the error is as small as promised."""
    stream = np.random.default_rng(seed)
    left, right = stream.normal(size=(2, 3, d)) * 10.0 ** stream.integers(-9, 9, size=(2, 3, d))
    kept = np.flatnonzero(stream.random(d) < stream.random())
    gone = np.setdiff1d(np.arange(d), kept)
    left[:, gone], right[:, gone] = 0.0, 0.0
    dense = dot_rows(left, right, Columns(None, d))
    some = dot_rows(left[:, kept], right[:, kept], Columns(kept, d))
    np.testing.assert_array_equal(some, dense)
    for one, other, found in zip(left.tolist(), right.tolist(), dense, strict=True):
        terms = [Fraction(a) * Fraction(b) for a, b in zip(one, other, strict=True)]
        size = math.fsum(abs(float(term)) for term in terms)
        assert abs(Fraction(float(found)) - sum(terms)) <= dot_error(d) * size


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
    monkeypatch.setattr(sums_module, "MIN_WIDE_SIZE", 0 if wide else 10**9)
    X = np.random.default_rng(1).normal(size=(50, 5)) + 1
    X[7] = 0
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = X / np.where(lengths > 0, lengths, 1)
    center = unit.sum(axis=0) / np.linalg.norm(unit.sum(axis=0))
    wanted = np.sum((unit - center) ** 2)
    found = total_of_labels(scipy.sparse.csr_array(X), None, k, spherical=True)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_the_total_inertia_by_hand() -> None:
    """Two rows at 0 and a row at 3 have the mean 1; a cluster without weight counts nothing."""
    points, weights = np.array([[0.0], [3.0]]), np.array([2.0, 1.0])
    assert measure_total_inertia(0.0, points, weights, spherical=False) == 6.0
    assert measure_total_inertia(0.0, np.eye(2), np.array([0.0, 1.0]), spherical=True) == 0.0


def test_rows_that_cancel_have_no_best_direction() -> None:
    """About any unit center, two opposite unit rows have the inertia 4."""
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert measure_total_inertia(0.0, opposite, np.ones(2), spherical=True) == 4.0


def test_shares_stay_between_0_and_1() -> None:
    """Rounding may leave an inertia above the total; then nothing is explained."""
    assert explain_share(1.0 + 1e-12, 1.0) == 0.0
    assert explain_share(0.0, 1.0) == 1.0
    assert explain_share(0.0, 0.0) == 0.0

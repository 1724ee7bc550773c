"""Sums over clusters: exact, and the same bits in any order, blocks and threads."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.cluster_sums import ClusterSums
from projected_kmeans.passes.moment_grids import MomentGrid
from projected_kmeans.passes.moments import Moments
from tests import reference
from tests.support.layouts import draw_rows, lay_out, layouts, seeds, threads, types


def sum_rows(
    X: NDArray[Any],
    labels: NDArray[Any],
    references: NDArray[Any],
    weights: NDArray[Any] | None = None,
    *,
    block_rows: int | None = None,
    n_threads: int = 1,
) -> Moments:
    """Return the moments of rows in an array."""
    source = ArrayBlocks(X, block_rows)
    labels = labels.astype(np.int32)
    return ClusterSums(source, references, weights, scan_columns(source), n_threads).update(labels)


def assert_same_bits(a: Moments, b: Moments) -> None:
    """Compare all fields, bit by bit."""
    for name in ("references", "mass", "offsets", "squares"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name


def draw_problem(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any, Any, Any]:
    """Return rows, labels, references near the rows and weights of many magnitudes."""
    stream = np.random.default_rng(seed)
    X = draw_rows(seed, n, d, dtype)
    labels = stream.integers(k, size=n)
    references = X[stream.integers(n, size=k)].astype(np.float64) + stream.normal(size=(k, d))
    return X, labels, references, np.exp(stream.normal(scale=3, size=n))


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


def test_last_sums_have_the_same_bits() -> None:
    """Sums to which nothing is added afterwards are the same, with one array less."""
    X, labels, references, weights = draw_problem(1, 60, 7, 4, "float32")
    for chosen in (None, weights):
        source = ArrayBlocks(X)
        sums = ClusterSums(source, references, chosen, scan_columns(source))
        kept = sums.update(labels.astype(np.int32))
        last = sums.moments(last=True)
        assert_same_bits(kept, last)
        assert np.shares_memory(last.offsets, sums.parts[0])
        assert not np.shares_memory(kept.offsets, sums.parts[0])


@settings(max_examples=20)
@given(
    seed=seeds,
    n=st.integers(1, 25),
    d=st.integers(1, 12),
    k=st.integers(1, 5),
    dtype=types,
    layout=layouts,
    n_threads=threads,
    weighted=st.booleans(),
)
def test_equals_exact_fractions(
    seed: int, n: int, d: int, k: int, dtype: str, layout: str, n_threads: int, weighted: bool
) -> None:
    """Sums agree with exact fractions up to the rounding of single terms, for all kinds of rows."""
    X, labels, references, weights = draw_problem(seed, n, d, k, dtype)
    chosen = weights if weighted else None
    found = sum_rows(lay_out(X, layout), labels, references, chosen, n_threads=n_threads)
    references = found.references  # others than the given ones if rows were summed again
    mass, offsets, squares = reference.cluster_moments(X, labels, chosen, references)
    np.testing.assert_allclose(found.mass, mass.astype(float), rtol=1e-15)
    np.testing.assert_allclose(found.squares, squares.astype(float), rtol=1e-14)
    gaps = (
        np.abs(X.astype(float) - references[labels])
        * (weights if weighted else np.ones(n))[:, None]
    )
    size = np.zeros_like(references)
    np.add.at(size, labels, gaps)
    assert (np.abs(found.offsets - offsets.astype(float)) <= 4e-16 * size).all()


@settings(max_examples=25)
@given(
    seed=seeds,
    n=st.integers(2, 60),
    d=st.integers(1, 20) | st.sampled_from([511, 512, 513, 1030]),
    k=st.integers(1, 6),
    dtype=types,
    block_rows=st.integers(1, 61),
    n_threads=threads,
)
def test_bits_do_not_depend_on_order_blocks_or_threads(
    seed: int, n: int, d: int, k: int, dtype: str, block_rows: int, n_threads: int
) -> None:
    """Rows in another order, other blocks and other threads give the same bits."""
    X, labels, references, weights = draw_problem(seed, n, d, k, dtype)
    whole = sum_rows(X, labels, references, weights)
    order = np.random.default_rng(seed).permutation(n)
    other = sum_rows(
        X[order],
        labels[order],
        references,
        weights[order],
        block_rows=block_rows,
        n_threads=n_threads,
    )
    assert_same_bits(whole, other)
    assert whole.inertia == other.inertia
    assert whole.sum_of_squares == other.sum_of_squares


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("side", [-1e9, 1e9])
def test_references_far_from_all_rows(weighted: bool, side: float) -> None:
    """Sums relative to points far outside the rows are exact and independent of order, too."""
    X, labels, _, weights = draw_problem(7, 60, 5, 3, "float64")
    references = side * (1 + np.random.default_rng(1).random(size=(3, 5)))
    chosen = weights if weighted else None
    whole = sum_rows(X, labels, references, chosen)
    mass, offsets, squares = reference.cluster_moments(X, labels, chosen, whole.references)
    np.testing.assert_allclose(whole.mass, mass.astype(float), rtol=1e-15)
    np.testing.assert_allclose(whole.offsets, offsets.astype(float), rtol=1e-15, atol=1e-13)
    np.testing.assert_allclose(whole.squares, squares.astype(float), rtol=2e-15)
    assert whole.inertia == pytest.approx(reference.inertia(X, labels, chosen), rel=1e-13)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(60)
        reordered = None if chosen is None else chosen[order]
        assert_same_bits(whole, sum_rows(X[order], labels[order], references, reordered))


@pytest.mark.parametrize("d", [100, 1500])
def test_bits_do_not_depend_on_how_threads_share_the_work(d: int) -> None:
    """Sums too large for a copy in each thread are shared by columns, with the same bits."""
    k = 600_000 // d  # above 8 MiB of sums: threads share columns, not rows
    stream = np.random.default_rng(0)
    X = stream.normal(size=(50, d))
    labels = stream.integers(k, size=50)
    references = stream.normal(size=(k, d))
    single = sum_rows(X, labels, references)
    for n_threads in (2, 3, 4):
        assert_same_bits(single, sum_rows(X, labels, references, n_threads=n_threads))
    row = labels[0]
    few = sum_rows(X[labels == row], np.zeros(np.sum(labels == row)), references[[row]])
    np.testing.assert_allclose(single.cluster_inertia[row], few.inertia, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(single.means[row], few.means[0], rtol=1e-12)
    assert single.mass.sum() == 50


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
        squares = [
            grid.add_up_squares(one[:, :, 1], *grid.carry_spacings()) for one in (totals, whole[1])
        ]
        assert squares[0].tobytes() == squares[1].tobytes()


@given(seed=seeds, n=st.integers(1, 20), d=st.integers(1, 8), k=st.integers(1, 4))
def test_weights_are_repetitions(seed: int, n: int, d: int, k: int) -> None:
    """A row of weight w counts as w rows, and one of weight zero as none."""
    X, labels, references, _ = draw_problem(seed, n, d, k, "float64")
    times = np.random.default_rng(seed).integers(0, 4, size=n)
    times[0] += 1
    weighted = sum_rows(X, labels, references, times.astype(float))
    repeated = sum_rows(np.repeat(X, times, axis=0), np.repeat(labels, times), references)
    np.testing.assert_array_equal(weighted.mass, repeated.mass)
    np.testing.assert_allclose(weighted.offsets, repeated.offsets, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(weighted.squares, repeated.squares, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_offset_costs_no_digits(dtype: str) -> None:
    """With offset 1e4 and spread 1 the inertia is right to 1e-9."""
    stream = np.random.default_rng(0)
    labels = stream.integers(5, size=2000)
    X = (1e4 + stream.normal(size=(5, 30))[labels] * 3 + stream.normal(size=(2000, 30))).astype(
        dtype
    )
    references = np.stack([X[np.argmax(labels == j)] for j in range(5)]).astype(float)
    found = sum_rows(X, labels, references)
    assert found.inertia == pytest.approx(reference.extended_inertia(X, labels), rel=1e-12)
    exact = X.astype(np.longdouble)
    assert found.sum_of_squares == pytest.approx(float(np.sum(exact * exact)), rel=1e-14)
    expected = np.stack([exact[labels == j].mean(axis=0) for j in range(5)])
    np.testing.assert_allclose(found.means, expected.astype(float), rtol=1e-15)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", s) for s in (1e-30, 1e-20, 1e20, 1e30)]
    + [("float64", s) for s in (1e-120, 1e-60, 1e60, 1e120)],
)
def test_any_unit_gives_the_same_digits(dtype: str, scale: float) -> None:
    """Tiny and huge data have their means and inertia to full accuracy."""
    X, labels, _, _ = draw_problem(5, 40, 6, 3, "float64")
    X = (X * scale).astype(dtype)
    references = X[[np.argmax(labels == j) for j in range(3)]].astype(float)
    found = sum_rows(X, labels, references)
    assert found.inertia == pytest.approx(reference.inertia(X, labels), rel=1e-13)
    expected = reference.means(X, labels, 3)
    np.testing.assert_allclose(found.means, expected, rtol=1e-12)


def test_columns_of_very_different_scale() -> None:
    """A column of size 1e-12 beside one of size 1e12 keeps fourteen digits in its means."""
    stream = np.random.default_rng(2)
    X = stream.normal(size=(300, 4)) * np.array([1e12, 1.0, 1e-12, 1e-30])
    labels = stream.integers(3, size=300)
    found = sum_rows(X, labels, X[:3].copy())
    _, sums, _ = reference.cluster_moments(X, labels, None, np.zeros((3, 4)))
    sizes = np.bincount(labels)
    expected = np.array([[float(sums[j, c] / int(sizes[j])) for c in range(4)] for j in range(3)])
    spread = np.abs(X).max(axis=0)
    assert (np.abs(found.means - expected) <= 1e-14 * spread).all()


def test_an_empty_cluster_keeps_its_reference() -> None:
    """A cluster without rows has its reference for mean and adds nothing to the inertia."""
    X = np.array([[0.0, 1.0], [2.0, 1.0]])
    found = sum_rows(X, np.array([0, 0]), np.array([[0.0, 0.0], [7.0, -3.0]]))
    np.testing.assert_array_equal(found.mass, [2, 0])
    np.testing.assert_array_equal(found.means, [[1, 1], [7, -3]])
    assert found.inertia == 2.0


def test_hand_computed() -> None:
    """The fields are what their names say on three rows."""
    X = np.array([[1.0, 0.0], [3.0, 4.0], [10.0, 10.0]])
    found = sum_rows(
        X, np.array([0, 0, 1]), np.array([[1.0, 0.0], [9.0, 10.0]]), np.array([1.0, 3.0, 2.0])
    )
    np.testing.assert_array_equal(found.mass, [4, 2])
    np.testing.assert_array_equal(found.offsets, [[6, 12], [2, 0]])
    np.testing.assert_array_equal(found.squares, [60, 2])
    np.testing.assert_array_equal(found.means, [[2.5, 3], [10, 10]])
    assert found.inertia == 15.0
    assert found.inertia_about_references == 62.0
    assert found.sum_of_squares == 1 + 3 * 25 + 2 * 200
    described = found.describe(np.array([0, 0, 1], np.int32))
    assert (described.inertia, described.sum_of_squares) == (15.0, 476.0)
    np.testing.assert_array_equal(described.centers, found.means)
    np.testing.assert_array_equal(described.mass, found.mass)


def test_inertia_is_never_negative() -> None:
    """Equal rows have inertia zero, though their mean is rounded and the reference lies away."""
    X = np.full((7, 3), 0.1)
    found = sum_rows(X, np.zeros(7), np.full((1, 3), 1e3))
    assert 0 <= found.inertia <= 1e-15 * found.inertia_about_references


def test_sums_are_correctly_rounded_on_the_grid() -> None:
    """Large rows that cancel leave exactly the sum of the others, because no partial sum rounds."""
    tiny = 2.0**-60
    X = np.array([[1.0], [tiny], [-1.0], [tiny]] * 500)
    source = ArrayBlocks(X)
    ranges = ColumnRanges(np.array([-1.0]), np.array([1.0]))
    found = ClusterSums(source, np.zeros((1, 1)), None, ranges).update(np.zeros(2000, np.int32))
    assert Fraction(float(found.offsets[0, 0])) == 1000 * Fraction(tiny)


@given(seed=seeds, n=st.integers(1, 60), d=st.integers(1, 9), dtype=types, weighted=st.booleans())
def test_sums_follow_labels_to_the_bit(
    seed: int, n: int, d: int, dtype: str, weighted: bool
) -> None:
    """Moving rows between clusters, pass after pass, gives the bits of sums made anew."""
    stream = np.random.default_rng(seed)
    X, labels, references, weights = draw_problem(seed, n, d, 5, dtype)
    source = ArrayBlocks(X, 17)
    ranges = scan_columns(source)
    mass = weights if weighted else None
    sums = ClusterSums(source, references, mass, ranges, 2)
    before = labels.astype(np.int32)
    sums.update(before)
    for _ in range(4):
        after = np.where(stream.random(n) < 0.3, stream.integers(5, size=n), before)
        after = after.astype(np.int32)
        moved = sums.update(after, before)
        anew = ClusterSums(source, references, mass, ranges).update(after)
        for name in ("mass", "offsets", "squares"):
            assert getattr(moved, name).tobytes() == getattr(anew, name).tobytes()
        before = after

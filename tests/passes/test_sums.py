"""Sums over clusters: exact, the same bits in any order, blocks and threads, and accurate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, inertia, normalized_inertia
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes import sums as sums_module
from projected_kmeans.passes.moments import Moments
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.sums import ClusterwiseSums, GridSums, RowReferences
from tests import reference
from tests.support.blobs import assert_same_fit
from tests.support.layouts import lay_out, layouts, seeds, threads, types
from tests.support.optima import exact_inertia
from tests.support.sparse_rows import both_forms, draw_sparse, draw_topics
from tests.support.summed_rows import draw_problem, sum_rows

# The relative error of an inertia, at most.
PROMISE = Fraction(1, 10**12)

# What is the same to the bit if clusters are summed a few at a time.
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


def assert_same_bits(a: Moments, b: Moments) -> None:
    """Compare all fields, bit by bit."""
    for name in ("references", "mass", "offsets", "squares"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes(), name


@pytest.mark.parametrize("sparse", [False, True])
def test_last_sums_have_the_same_bits(sparse: bool) -> None:
    """Sums to which nothing is added afterwards are the same, with one array less."""
    X, labels, references, weights = draw_problem(1, 60, 7, 4, "float32")
    X[::3] = 0
    for chosen in (None, weights):
        source = SparseBlocks(scipy.sparse.csr_array(X)) if sparse else ArrayBlocks(X)
        sums = Problem(source, scan_columns(source), chosen).open_sums(references)
        kept = sums.update(labels.astype(np.int32))
        assert isinstance(sums, GridSums)
        last = sums.about_references()
        assert_same_bits(kept, last)
        assert np.shares_memory(last.offsets, sums.offsets)
        assert not np.shares_memory(kept.offsets, sums.offsets)


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
    sums = Problem(source, ranges, mass, 2).open_sums(references)
    before = labels.astype(np.int32)
    sums.update(before)
    for _ in range(4):
        after = np.where(stream.random(n) < 0.3, stream.integers(5, size=n), before)
        after = after.astype(np.int32)
        moved = sums.update(after, before)
        anew = Problem(source, ranges, mass).sum(after, references)
        for name in ("mass", "offsets", "squares"):
            assert getattr(moved, name).tobytes() == getattr(anew, name).tobytes()
        before = after


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sum all sparse rows in memory two or three clusters at a time."""
    monkeypatch.setattr(sums_module, "MIN_WIDE_SIZE", 0)
    monkeypatch.setattr(sums_module, "GROUP_SIZE", 100)


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
        sums = Problem(source, ranges, weights, 2, spherical).open_sums(references)
        source.walk(sums.adding(labels))
        return sums.take()

    expected = sum_up(points)
    assert expected.offsets.shape == (k, d)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums_module, "MIN_WIDE_SIZE", 0)
        patch.setattr(sums_module, "GROUP_SIZE", 2 * d)
        found = sum_up(RowReferences(source, chosen) if of_rows else points)
    assert found.offsets.size == 0
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
    assert found.offsets.shape == (3, 12)
    exact = np.sum((X[20:40] - X[20:40].mean(axis=0)) ** 2)
    assert found.cluster_inertia[1] == pytest.approx(exact, rel=1e-12)


@pytest.mark.usefixtures("few_at_a_time")
def test_sums_can_be_updated() -> None:
    """Labels that change give the sums of the new labels."""
    rows = draw_topics(0, 60, 300, 4)
    source, stream = SparseBlocks(rows), np.random.default_rng(0)
    before, after = stream.integers(4, size=(2, 60)).astype(np.int32)
    points, ranges = source.take(np.arange(4)), scan_columns(source)
    sums = Problem(source, ranges).open_sums(points)
    sums.update(before)
    moved, anew = sums.update(after, before), Problem(source, ranges).sum(after, points)
    np.testing.assert_array_equal(moved.means, anew.means)
    assert moved.inertia == anew.inertia
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
    monkeypatch.setattr(sums_module, "MIN_WIDE_SIZE", 0)
    monkeypatch.setattr(sums_module, "GROUP_SIZE", 2000)
    assert_same_fit(fit(), expected)


def test_only_wide_sparse_rows_are_summed_so() -> None:
    """What decides is the number of entries of all centers."""
    narrow = SparseBlocks(draw_topics(0, 10, 2**20, 2))
    problem = Problem(narrow, scan_columns(narrow))
    for k, is_wide in ((3, False), (4, True)):
        sums = problem.open_sums(RowReferences(narrow, np.arange(k)))
        assert isinstance(sums, ClusterwiseSums) == is_wide


def draw_far_rows(seed: int, n: int, d: int, dtype: str) -> NDArray[Any]:
    """Return rows in some unit with offsets, far values, zeros and equal rows."""
    stream = np.random.default_rng(seed)
    if dtype == "uint8":
        return stream.integers(0, 256, size=(n, d)).astype(np.uint8)
    limit = 18 if dtype == "float32" else 140
    X = stream.normal(size=(n, d)) * 10.0 ** stream.integers(-limit, limit + 1)
    X += np.abs(X).max() * stream.choice([0, 1e4], size=d)
    far = stream.random((n, d)) < stream.choice([0, 0.03, 0.3])
    X[far] *= 10.0 ** stream.integers(-20, 20)
    X[stream.random((n, d)) < stream.choice([0, 0.5])] = 0
    X = np.clip(X, -(10.0 ** (limit + 2)), 10.0 ** (limit + 2))
    return X[stream.integers(n, size=n)].astype(dtype) if stream.random() < 0.3 else X.astype(dtype)


@settings(max_examples=150)
@given(
    seed=seeds,
    n=st.integers(1, 12),
    d=st.integers(1, 5),
    k=st.integers(1, 4),
    dtype=st.sampled_from(["float32", "float64", "uint8"]),
    block_rows=st.integers(1, 13),
    n_threads=threads,
    weighted=st.booleans(),
)
def test_any_rows_have_an_accurate_inertia(
    seed: int, n: int, d: int, k: int, dtype: str, block_rows: int, n_threads: int, weighted: bool
) -> None:
    """The error is below 1e-12 and within what is proven; order, blocks, threads do not matter."""
    stream = np.random.default_rng(seed)
    X, labels = draw_far_rows(seed, n, d, dtype), stream.integers(k, size=n)
    labels[: min(n, k)] = np.arange(min(n, k))
    weights = np.exp(stream.normal(scale=5, size=n)) if weighted else None
    found = sum_rows(X, labels, weights=weights)
    exact = exact_inertia(X, np.ones(n) if weights is None else weights, tuple(labels))
    assert abs(Fraction(found.inertia) - exact) <= Fraction(found.inertia_error)
    assert Fraction(found.inertia_error) <= PROMISE * exact
    order = stream.permutation(n)
    first = [X[np.argmax(labels == j)].astype(np.float64) for j in range(max(labels) + 1)]
    other = sum_rows(
        X[order],
        labels[order],
        np.array(first),
        weights=None if weights is None else weights[order],
        block_rows=block_rows,
        n_threads=n_threads,
    )
    for name in ("references", "mass", "offsets", "squares", "means", "errors"):
        assert getattr(found, name).tobytes() == getattr(other, name).tobytes(), name
    if dtype == "uint8":
        return
    sparse = sum_rows(scipy.sparse.csr_array(X), labels, np.array(first), weights=weights)
    if not weighted:
        assert sparse.means.tobytes() == found.means.tobytes()
        assert sparse.inertia == found.inertia
    assert abs(Fraction(sparse.inertia) - exact) <= Fraction(sparse.inertia_error)
    assert abs(Fraction(sparse.inertia) - exact) <= PROMISE * exact


@pytest.mark.parametrize("far", [1e6, 3e9, 1e10, 3e10, 1e37, 1e100])
def test_a_far_value_leaves_the_inertia_of_the_others(far: float) -> None:
    """One far row in a cluster of its own changes the inertia of the others in no digit."""
    X = np.random.default_rng(0).normal(size=(3000, 20))
    labels = np.random.default_rng(1).integers(4, size=3000)
    labels[7] = 4
    near = inertia(X, labels)
    X[7, 3] = far
    assert inertia(X, labels) == pytest.approx(near, rel=1e-13)
    assert 0 < normalized_inertia(X, labels) <= 1


def test_a_far_value_leaves_the_means_of_other_clusters() -> None:
    """A fill value in a cluster of ordinary rows does not move the means of other clusters."""
    X = np.random.default_rng(0).normal(size=(3000, 5))
    labels = np.random.default_rng(1).integers(4, size=3000)
    before = sum_rows(X, labels).means
    X[labels == 3, 2] = 9.97e36 * np.random.default_rng(2).random(np.sum(labels == 3))
    after = sum_rows(X, labels).means
    np.testing.assert_allclose(after[:3], before[:3], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_fit_with_a_fill_value_has_its_inertia(dtype: str) -> None:
    """A fit gives a far row its own cluster, and the inertia of the other rows is right."""
    X = np.random.default_rng(0).normal(size=(2000, 20)).astype(dtype)
    X[7, 3] = 9.96921e36
    model = ProjectedKMeans(5, random_state=0).fit(X)
    assert np.sum(model.labels_ == model.labels_[7]) == 1
    gaps = X.astype(np.longdouble) - model.cluster_centers_[model.labels_]
    assert 0 < model.inertia_ < 2000 * 20
    assert model.inertia_ == pytest.approx(float(np.sum(gaps * gaps)), rel=1e-6)
    assert inertia(X, model.labels_) <= model.inertia_ * (1 + 1e-12)
    assert -model.score(X) == pytest.approx(float(np.sum(gaps * gaps)), rel=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("unit", [1e-155, 1e-100, 1.0, 1e30, 1e140])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_coincide_have_no_inertia(unit: float, weighted: bool) -> None:
    """Equal rows, of any size and however far the reference, have an inertia of exactly 0."""
    X = np.repeat(np.random.default_rng(3).normal(size=(4, 3)) * unit, 5, axis=0)
    labels = np.repeat(np.arange(4), 5)
    weights = np.exp(np.random.default_rng(4).normal(size=20)) if weighted else None
    references = np.zeros((4, 3))
    found = sum_rows(X, labels, references, weights=weights)
    assert (found.inertia, found.inertia_error) == (0.0, 0.0)
    np.testing.assert_array_equal(found.means, X[::5])
    X[0, 0] = np.nextafter(X[0, 0], np.inf)
    assert sum_rows(X, labels, references, weights=weights).inertia_error > 0


def test_an_inertia_too_small_for_float64_is_told() -> None:
    """Rows of size 1e-170 have an inertia of 0 in float64, whose error is not 0."""
    X = np.random.default_rng(0).normal(size=(50, 4)) * 1e-170
    found = sum_rows(X, np.arange(50) % 2)
    assert found.inertia == 0
    assert found.inertia_error > 0


def test_a_unit_near_underflow_keeps_its_digits() -> None:
    """Squares below 1e-308 add up to an inertia with all its digits."""
    X = np.random.default_rng(0).normal(size=(3000, 4)) * 1e-154
    labels = np.arange(3000) % 2
    scaled = inertia(X * 2.0**500, labels) * 2.0**-1000
    assert inertia(X, labels) == pytest.approx(scaled, rel=1e-12)


def test_a_unit_below_underflow_keeps_its_proof() -> None:
    """Where each square loses digits to underflow, the proven error is still below 1e-12."""
    X, labels = np.random.default_rng(0).normal(size=(3000, 4)), np.arange(3000) % 2
    found = sum_rows(X * 2.0**-518, labels)
    assert found.inertia == pytest.approx(inertia(X, labels) * 2.0**-1036, rel=1e-12)
    assert Fraction(found.inertia_error) <= PROMISE * Fraction(found.inertia)


def test_sums_follow_labels_around_a_far_value() -> None:
    """Moving rows between clusters gives the bits of sums made anew, also on grids of clusters."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(200, 3))
    X[5, 1] = 1e30
    source = ArrayBlocks(X, 33)
    ranges, references = scan_columns(source), X[:4].copy()
    sums = Problem(source, ranges, n_threads=2).open_sums(references)
    before = stream.integers(4, size=200).astype(np.int32)
    sums.update(before)
    after = np.where(stream.random(200) < 0.3, stream.integers(4, size=200), before)
    after = after.astype(np.int32)
    moved = sums.update(after, before)
    anew = Problem(source, ranges).sum(after, references)
    for name in ("references", "mass", "offsets", "squares"):
        assert getattr(moved, name).tobytes() == getattr(anew, name).tobytes()

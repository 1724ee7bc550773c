"""Sums of rows with values very far from all others: accurate, and the same bits in any order."""

from __future__ import annotations

from dataclasses import replace
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
from projected_kmeans.passes.cluster_sums import ClusterSums
from projected_kmeans.passes.cluster_totals import TOLERANCE, quick_error
from projected_kmeans.passes.grid_sums import GridSums
from projected_kmeans.passes.moment_grids import ReferenceBounds, shared_grid
from projected_kmeans.passes.moments import Moments
from tests.support.layouts import seeds, threads
from tests.support.optima import exact_inertia

# The relative error of an inertia, at most.
PROMISE = Fraction(1, 10**12)


def sum_rows(X: Any, labels: NDArray[Any], references: Any = None, **how: Any) -> Moments:
    """Return the moments of rows in either form, by default about the first row of a cluster."""
    sparse = scipy.sparse.issparse(X)
    source = (SparseBlocks if sparse else ArrayBlocks)(X, how.get("block_rows"))
    if references is None:
        references = source.take(np.array([np.argmax(labels == j) for j in range(max(labels) + 1)]))
    return ClusterSums(
        source, references, how.get("weights"), scan_columns(source), how.get("n_threads", 1)
    ).update(labels.astype(np.int32))


def draw_rows(seed: int, n: int, d: int, dtype: str) -> NDArray[Any]:
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
    X, labels = draw_rows(seed, n, d, dtype), stream.integers(k, size=n)
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
    for name in ("references", "mass", "offsets", "squares", "means", "_errors"):
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


@given(seed=seeds, n=st.integers(1, 40), d=st.integers(1, 5), far=st.integers(0, 14))
def test_the_quick_error_is_never_too_small(seed: int, n: int, d: int, far: int) -> None:
    """The error from few numbers is at least that of each cluster, and is used only if small."""
    stream = np.random.default_rng(seed)
    X, labels = stream.normal(size=(n, d)), stream.integers(3, size=n).astype(np.int32)
    X[0, 0] = 10.0**far
    source = ArrayBlocks(X)
    references = np.resize(X, (3, d))
    grid = shared_grid(scan_columns(source), ReferenceBounds.of(references), None, n)
    sums = GridSums(source, references, None, grid, None, 1)
    source.walk(sums.adding([labels]))
    found = sums.moments(spherical=False)
    careful = replace(found, errors=found._errors, lost=None)
    quick = quick_error(found.mass, found.squares, found.lost, d)
    assert quick >= careful.inertia_error
    assert careful.accurate or not found.accurate
    if quick > TOLERANCE * found.inertia:
        assert found.inertia_error == careful.inertia_error


def test_sums_follow_labels_around_a_far_value() -> None:
    """Moving rows between clusters gives the bits of sums made anew, also on grids of clusters."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(200, 3))
    X[5, 1] = 1e30
    source = ArrayBlocks(X, 33)
    ranges, references = scan_columns(source), X[:4].copy()
    sums = ClusterSums(source, references, None, ranges, 2)
    before = stream.integers(4, size=200).astype(np.int32)
    sums.update(before)
    after = np.where(stream.random(200) < 0.3, stream.integers(4, size=200), before)
    after = after.astype(np.int32)
    moved = sums.update(after, before)
    anew = ClusterSums(source, references, None, ranges).update(after)
    for name in ("references", "mass", "offsets", "squares"):
        assert getattr(moved, name).tobytes() == getattr(anew, name).tobytes()

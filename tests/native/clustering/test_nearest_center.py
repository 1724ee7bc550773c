"""Rows to their nearest centers, and rows to all centers: the two kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import _native
from tests import reference
from tests.support.layouts import (
    TYPES,
    compute_type,
    draw_rows,
    lay_out,
    layouts,
    seeds,
    threads,
    types,
)

Found = tuple[NDArray[np.int32], NDArray[Any]]


def assign(
    X: NDArray[Any],
    centers: NDArray[Any],
    labels: NDArray[Any] | None = None,
    *,
    origin: float = 0.0,
    scale: float = 1.0,
    n_threads: int = 1,
) -> Found:
    """Return labels and squared distances as the kernel writes them."""
    dtype = compute_type(X.dtype.name)
    found = np.full(len(X), 99, np.int32) if labels is None else labels.astype(np.int32)
    distances = np.full(len(X), np.nan, dtype)
    middle = np.full(X.shape[1], origin, dtype)
    inside = np.ascontiguousarray((centers - origin) * scale, dtype=dtype)
    keep = labels is not None
    second = distances.copy()
    exact = np.ascontiguousarray(centers, dtype=np.float64)
    _native.nearest_center(
        X, middle, scale, inside, exact, keep, found, distances, second, n_threads
    )
    return found, distances


def measure(
    X: NDArray[Any], centers: NDArray[Any], *, origin: float = 0.0, n_threads: int = 1
) -> NDArray[Any]:
    """Return squared distances of all rows to all centers as the kernel writes them."""
    dtype = compute_type(X.dtype.name)
    out = np.full((len(centers), len(X)), np.nan, dtype)
    middle = np.full(X.shape[1], origin, dtype)
    inside = np.ascontiguousarray(centers - origin, dtype=dtype)
    _native.squared_distances(X, middle, 1.0, inside, out, n_threads)
    return out


def small_integers(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any]:
    """Return rows and centers of few small integers: ties abound and arithmetic is exact."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 4, size=(n, d)).astype(dtype)
    return X, stream.integers(0, 4, size=(k, d)).astype(float)


@given(
    seed=seeds,
    n=st.integers(1, 50),
    d=st.integers(1, 12),
    k=st.integers(1, 30),
    dtype=types,
    layout=layouts,
    n_threads=threads,
    keep=st.booleans(),
)
def test_equals_the_twin_with_ties(
    seed: int, n: int, d: int, k: int, dtype: str, layout: str, n_threads: int, keep: bool
) -> None:
    """Labels and distances are the twin's in every bit; ties go to the lowest or the present."""
    X, centers = small_integers(seed, n, d, k, dtype)
    present = np.random.default_rng(seed + 1).integers(k, size=n) if keep else None
    labels, distances = assign(lay_out(X, layout), centers, present, n_threads=n_threads)
    np.testing.assert_array_equal(labels, reference.nearest_center(X, centers, present))
    np.testing.assert_array_equal(distances, reference.squared_distances(X, centers).min(axis=0))


@given(seed=seeds, n=st.integers(1, 40), d=st.integers(1, 60), k=st.integers(1, 20), dtype=types)
def test_labels_are_nearest(seed: int, n: int, d: int, k: int, dtype: str) -> None:
    """The chosen center is the nearest in double precision; its distance is right."""
    X = draw_rows(seed, n, d, dtype)
    centers = draw_rows(seed + 1, k, d, dtype).astype(float)
    labels, distances = assign(X, centers)
    exact = reference.squared_distances(X, centers)
    size = (np.abs(X.astype(float)).max() + np.abs(centers).max()) ** 2 * d
    tolerance = (8 + d) * np.finfo(compute_type(dtype)).eps * size
    assert (exact[labels, np.arange(n)] <= exact.min(axis=0) * (1 + 1e-13 * (d + 3))).all()
    assert (np.abs(distances - exact.min(axis=0)) <= tolerance).all()


@pytest.mark.parametrize("d", [255, 256, 257, 1025])
@pytest.mark.parametrize("dtype", TYPES)
def test_rows_wider_than_a_part(d: int, dtype: str) -> None:
    """Rows that are packed in several parts of 256 columns give the same exact results."""
    X, centers = small_integers(d, 21, d, 8, dtype)
    labels, distances = assign(X, centers, n_threads=2)
    exact = reference.squared_distances(X, centers)
    np.testing.assert_array_equal(labels, exact.argmin(axis=0))
    np.testing.assert_array_equal(distances, exact.min(axis=0))
    np.testing.assert_array_equal(measure(X, centers, n_threads=2), exact)


@pytest.mark.parametrize("k", [1, 5, 6, 7, 11, 12, 13, 24, 25])
def test_padding_centers_never_win(k: int) -> None:
    """No row goes to a center beyond the k given, though all lie far away."""
    X = np.zeros((40, 3), np.float32)
    labels, _ = assign(X, np.full((k, 3), 1e9))
    np.testing.assert_array_equal(labels, 0)


@given(seed=seeds, n=st.integers(2, 70), d=st.integers(1, 40), k=st.integers(1, 15), dtype=types)
def test_a_row_has_the_same_bits_wherever_it_stands(
    seed: int, n: int, d: int, k: int, dtype: str
) -> None:
    """Labels and distances have the same bits alone, in another order and on any threads."""
    X = draw_rows(seed, n, d, dtype)
    centers = draw_rows(seed + 1, k, d, dtype).astype(float)
    labels, distances = assign(X, centers)
    order = np.random.default_rng(seed).permutation(n)
    permuted = assign(X[order], centers, n_threads=3)
    np.testing.assert_array_equal(permuted[0], labels[order])
    np.testing.assert_array_equal(permuted[1], distances[order])
    alone = assign(X[n - 1 :], centers)
    assert (alone[0][0], alone[1][0]) == (labels[-1], distances[-1])
    whole = measure(X, centers)
    np.testing.assert_array_equal(measure(X[order], centers, n_threads=4), whole[:, order])
    np.testing.assert_array_equal(measure(X[n - 1 :], centers)[:, 0], whole[:, -1])


def test_a_bad_neighbour_changes_nothing() -> None:
    """A row's label and distance have the same bits beside rows of NaN."""
    X = draw_rows(1, 40, 9, "float32")
    spoiled = X.copy()
    spoiled[1::2] = np.nan
    centers = draw_rows(2, 7, 9, "float64")
    for clean, beside in zip(assign(X, centers), assign(spoiled, centers), strict=True):
        np.testing.assert_array_equal(clean[::2], beside[::2])


@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 50),
    k=st.integers(1, 9),
    dtype=types,
    layout=layouts,
    n_threads=threads,
)
def test_all_distances_equal_the_twin(
    seed: int, n: int, d: int, k: int, dtype: str, layout: str, n_threads: int
) -> None:
    """Distances by differences have relative accuracy, however small they are."""
    X = draw_rows(seed, n, d, dtype)
    dtype_out = compute_type(dtype)
    centers = draw_rows(seed + 1, k, d, dtype).astype(dtype_out)
    exact = reference.squared_distances(X, centers)
    found = measure(lay_out(X, layout), centers, n_threads=n_threads)
    assert (np.abs(found - exact) <= (d + 4) * np.finfo(dtype_out).eps * exact).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_a_row_is_at_distance_zero_of_itself(dtype: str) -> None:
    """The distance of a row to a center equal to it is exactly zero, and nowhere else."""
    X = draw_rows(3, 20, 17, dtype)
    found = measure(X, X.astype(compute_type(dtype)))
    np.testing.assert_array_equal(np.diag(found), 0)
    assert (found + np.eye(20) > 0).all()


def test_the_frame_is_subtracted_and_multiplied() -> None:
    """Origin and scale change coordinates only: labels stay, distances are in scaled units."""
    stream = np.random.default_rng(0)
    X = (stream.integers(0, 16, size=(30, 5)) + 2**20).astype(np.float32)
    centers = stream.integers(0, 16, size=(4, 5)) + 2.0**20
    labels, distances = assign(X, centers, origin=2.0**20, scale=0.25)
    exact = reference.squared_distances(X, centers)
    np.testing.assert_array_equal(labels, exact.argmin(axis=0))
    np.testing.assert_array_equal(distances, exact.min(axis=0) / 16)
    np.testing.assert_array_equal(measure(X, centers, origin=2.0**20), exact)

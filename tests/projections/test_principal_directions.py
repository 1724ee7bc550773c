"""Directions of largest variance: products with centred rows, exact and approximate ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from projected_kmeans.keys import draw_signs
from projected_kmeans.projections.principal_directions import (
    Directions,
    Signs,
    center_rows,
    find_directions,
    sketch_width,
    stretch_rows,
)
from projected_kmeans.results import Floats

STREAM = np.random.default_rng(0)
SPARSE_ROWS = STREAM.normal(size=(300, 20)) * (STREAM.random((300, 20)) < 0.4)
WEIGHTS = STREAM.random(300) + 0.1


@pytest.mark.parametrize("scale", [1.0, 1e140, 1e-140])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_products_are_those_of_centred_rows(sparse: bool, weighted: bool, scale: float) -> None:
    """All products equal NumPy's with a centred copy, in the unit of the rows."""
    weights = WEIGHTS if weighted else None
    given = scipy.sparse.csr_array(SPARSE_ROWS * scale) if sparse else SPARSE_ROWS * scale
    rows = center_rows(given, weights, 2)
    mass = np.ones(300) if weights is None else weights
    centred = (SPARSE_ROWS - np.average(SPARSE_ROWS, axis=0, weights=mass)) * scale * rows.unit
    centred *= np.sqrt(mass)[:, None]
    gram = centred.T @ centred
    omega, left = STREAM.normal(size=(20, 5)), STREAM.normal(size=(300, 4))
    options = {"rtol": 1e-10, "atol": 1e-10 * np.abs(gram).max()}
    np.testing.assert_allclose(rows.multiply(None), gram, **options)
    np.testing.assert_allclose(rows.row_gram(), centred @ centred.T, **options)
    np.testing.assert_allclose(rows.multiply(omega), gram @ omega, **options)
    np.testing.assert_allclose(rows.combine(left), centred.T @ left, **options)
    signs = draw_signs(7, (20, 5)).astype(np.float64)
    np.testing.assert_allclose(rows.multiply(Signs(7, (20, 5))), gram @ signs, **options)


def test_threads_do_not_change_a_bit() -> None:
    """Stretches are added in the order of the rows, by any number of threads."""
    rows = STREAM.normal(size=(20_000, 7)).astype(np.float32)
    one, two = (center_rows(rows, None, n).multiply(Signs(1, (7, 5))) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("n_columns", "expected"),
    [(1, 4096), (64, 4096), (100, 2048), (784, 256), (3072, 256), (8192, 128), (10**6, 128)],
)
def test_the_length_of_a_stretch(n_columns: int, expected: int) -> None:
    """A stretch has a power of two of rows, from 128 to 4096, and 2**18 to 2**20 numbers."""
    assert stretch_rows(n_columns) == expected


# Six strong directions, and noise of a hundredth.
ROWS = STREAM.normal(size=(400, 6)) @ STREAM.normal(size=(6, 90)) + 3
ROWS += 0.01 * STREAM.normal(size=ROWS.shape)


def find(rows: Floats, *, sparse: bool, exact: bool, n_power: int = 1) -> Directions:
    """Return six directions of the rows about their mean."""
    given = scipy.sparse.csr_array(rows) if sparse else rows
    centred = center_rows(given, None, 1)
    return find_directions(centred, 6, key=3, n_oversamples=None, n_power=n_power, exact=exact)


def test_the_width_of_the_sketch() -> None:
    """R has twice as many columns as directions, at least 10 more, and at most d."""
    assert sketch_width(64, 784) == 128
    assert sketch_width(2, 784) == 12
    assert sketch_width(64, 100) == 100
    assert sketch_width(8, 784, n_oversamples=3) == 11


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_rows", [400, 60])
def test_a_sketch_finds_the_exact_directions(n_rows: int, sparse: bool) -> None:
    """With a gap of 100 in the spectrum both ways find the directions of NumPy's SVD."""
    rows = ROWS[:n_rows]
    _, values, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    for exact in (True, False):
        found = find(rows, sparse=sparse, exact=exact)
        np.testing.assert_allclose(found.columns.T @ found.columns, np.eye(6), atol=1e-8)
        assert scipy.linalg.subspace_angles(found.columns, right[:6].T).max() < 1e-3
        np.testing.assert_allclose(found.singular_values, values[:6], rtol=1e-5)


def test_directions_have_one_sign() -> None:
    """The largest entry of a direction is positive, so that its sign is not left to chance."""
    found = find(ROWS, sparse=False, exact=True)
    largest = np.take_along_axis(found.columns, np.abs(found.columns).argmax(axis=0)[None], axis=0)
    assert (largest > 0).all()


def test_few_rows_start_a_power_pass() -> None:
    """The first walk may take every fourth row, if a pass over all of them follows."""
    _, _, right = np.linalg.svd(ROWS - ROWS.mean(axis=0), full_matrices=False)
    every = center_rows(ROWS, None, 1)
    some = replace(every, array=ROWS[::4])
    found = find_directions(every, 6, key=3, n_oversamples=None, n_power=1, exact=False, start=some)
    assert scipy.linalg.subspace_angles(found.columns, right[:6].T).max() < 1e-3


@pytest.mark.parametrize("rank", [0, 3, 8])
def test_rows_of_low_rank_have_few_directions(rank: int) -> None:
    """Directions beyond the rank are zero, whichever way matrices are decomposed."""
    rows = STREAM.normal(size=(400, rank)) @ STREAM.normal(size=(rank, 90)) + 3
    found = find(rows, sparse=False, exact=False)
    few = min(rank, 6)
    np.testing.assert_allclose(
        found.columns.T @ found.columns, np.diag(np.arange(6) < few), atol=1e-8
    )

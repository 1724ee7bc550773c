"""Products with rows about a center: dense and sparse rows against NumPy, in any unit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.keys import draw_signs
from projected_kmeans.projections.centred_rows import (
    Signs,
    center_rows,
    stretch_rows,
)

STREAM = np.random.default_rng(0)
ROWS = STREAM.normal(size=(300, 20)) * (STREAM.random((300, 20)) < 0.4)
WEIGHTS = STREAM.random(300) + 0.1


@pytest.mark.parametrize("scale", [1.0, 1e140, 1e-140])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_products_are_those_of_centred_rows(sparse: bool, weighted: bool, scale: float) -> None:
    """All products equal NumPy's with a centred copy, in the unit of the rows."""
    weights = WEIGHTS if weighted else None
    given = scipy.sparse.csr_array(ROWS * scale) if sparse else ROWS * scale
    rows = center_rows(given, weights, 2)
    mass = np.ones(300) if weights is None else weights
    centred = (ROWS - np.average(ROWS, axis=0, weights=mass)) * scale * rows.unit
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

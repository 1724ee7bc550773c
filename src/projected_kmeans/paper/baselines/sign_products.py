"""Four ways to multiply by a sign matrix, which the paper's section 5.2 compares.

All return A R with R = signs / sqrt(t) of the same key. For other purposes use `SignProjection`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply_rows
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.keys import draw_signs


def multiply_blas(
    rows: NDArray[Any], key: int, n_components: int, n_threads: int = 1
) -> NDArray[Any]:
    """Multiply by R in memory with BLAS: the paper's MM1.

    Parameters
    ----------
    rows : ndarray (n, d)
        A.
    key : int
        Fixes R.
    n_components : int
        t.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray (n, t)
        A R, in the precision that rows of this type are computed in.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(12.0).reshape(2, 6)
    >>> [bool(np.allclose(multiply(rows, 7, 4), multiply_blas(rows, 7, 4)))
    ...  for multiply in SIGN_PRODUCTS.values()]
    [True, True, True, True]
    """
    dtype = compute_type(rows.dtype)
    matrix = make_sign_matrix(rows.shape[1], key, n_components, dtype)
    return multiply_rows(rows.astype(dtype, copy=False), matrix, n_threads)


def make_sign_matrix(
    n_features: int, key: int, n_components: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return R in memory: d x t entries +1/sqrt(t) and -1/sqrt(t)."""
    signs = draw_signs(key, (n_features, n_components)).astype(dtype)
    signs *= dtype.type(1.0 / math.sqrt(n_components))
    return signs


def multiply_on_the_fly(
    rows: NDArray[Any], key: int, n_components: int, n_threads: int = 1
) -> NDArray[Any]:
    """Multiply column by column without storing R: the paper's MM2; see `multiply_blas`."""
    return _multiply(_native.on_the_fly_product, rows, key, n_components, n_threads)


def multiply_mailman(
    rows: NDArray[Any], key: int, n_components: int, n_threads: int = 1
) -> NDArray[Any]:
    """Multiply by the mailman algorithm (Liberty, Zucker 2009), row by row; see `multiply_blas`.

    A block of w = floor(log2 d) columns of R is the transpose of U P. The columns of U are all 2^w
    sign vectors, and P has a single one in each column: it sends each coordinate of x to the sign
    vector of its row of the block. P x adds up coordinates, and U z folds z in half w times.
    """
    return _multiply(_native.mailman_product, rows, key, n_components, n_threads)


def multiply_look_up(
    rows: NDArray[Any], key: int, n_components: int, n_threads: int = 1
) -> NDArray[Any]:
    """Multiply by look-up in tables, many rows at a time, as `SignProjection` does."""
    return _multiply(_native.sign_product, rows, key, n_components, n_threads)


SIGN_PRODUCTS: Mapping[str, Callable[..., NDArray[Any]]] = MappingProxyType(
    {
        "MM1": multiply_blas,
        "MM2": multiply_on_the_fly,
        "mailman": multiply_mailman,
        "look-up": multiply_look_up,
    }
)


def _multiply(
    kernel: Callable[..., None], rows: NDArray[Any], key: int, n_components: int, n_threads: int
) -> NDArray[Any]:
    out = np.empty((len(rows), n_components), dtype=compute_type(rows.dtype))
    kernel(rows, key, 1.0 / math.sqrt(n_components), out, n_threads)
    return out

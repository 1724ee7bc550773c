"""REDUCE: the Gaussian map, for comparison: a matrix product with normal numbers from the key.

Panels of the matrix exist one at a time; the maps that need no matrix are in `projections.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply_rows
from projected_kmeans.keys import RandomState, draw_words
from projected_kmeans.projections.map_protocol import MapTransformer, SparseMatrix

# Bytes of the random matrix that exist at a time.
PANEL_BYTES = 16 * 2**20


class GaussianProjection(MapTransformer):
    """Multiply by a random matrix of independent normal entries with variance 1/t.

    The entry in row i and column j is a pure function of (key, i, j); panels of the matrix are
    regenerated when they are needed and multiplied by BLAS, whose rounding may depend on the
    block and the number of threads.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t. "auto" asks `target_dimension`: with ``n_clusters`` the rule of Makarychev, Makarychev
        and Razenshteyn (2019), without it the Johnson-Lindenstrauss bound for the number of rows;
        never more than the number of features.
    eps : float, default=0.3
        Error parameter in (0, 1), used by "auto".
    n_clusters : int, optional
        k, used by "auto".
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads that BLAS may use; by default as many as it likes.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        What fixes the map.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Notes
    -----
    All three parts of the paper's Lemma 1 hold at the same t as for signs; the cost is that of a
    matrix product.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import GaussianProjection
    >>> GaussianProjection(2, random_state=7).fit_transform(np.eye(3)).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.3,
        n_clusters: int | None = None,
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.eps = eps
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_threads = n_threads

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        out[...] = 0
        for first, panel in self._panels(out.dtype):
            part = block[:, first : first + len(panel)].astype(out.dtype, copy=False)
            out += multiply_rows(part, panel, self.n_threads or _native.max_threads())

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        out[...] = 0
        by_column = rows.tocsc()
        for first, panel in self._panels(out.dtype):
            out += by_column[:, first : first + len(panel)] @ panel

    def _panels(self, dtype: np.dtype[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Walk over the matrix in panels of rows: the first row's index and the panel."""
        length = max(1, PANEL_BYTES // (8 * self.n_components_))
        for first in range(0, self.n_features_in_, length):
            shape = (min(length, self.n_features_in_ - first), self.n_components_)
            normals = draw_normals(self.key_, shape, row=first)
            yield first, (normals / math.sqrt(self.n_components_)).astype(dtype, copy=False)


def draw_normals(
    key: int, shape: tuple[int, int], *, row: int = 0, column: int = 0
) -> NDArray[np.float64]:
    """Return a rectangle of standard normal numbers, each a pure function of its coordinates.

    The upper 52 bits of a word make a uniform number strictly between 0 and 1, and the inverse of
    the normal distribution function makes it normal.
    """
    words = draw_words(key, shape, row=row, column=column)
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    normals: NDArray[np.float64] = scipy.special.ndtri(uniform)
    return normals

"""The Gaussian map, for comparison: a matrix product with normal numbers that follow from the key.

The matrix exists one panel at a time. `signs.py` and `hadamard.py` have maps that need no matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.keys import draw_words
from projected_kmeans.projections.map_protocol import MapTransformer, SparseMatrix

# Size of one panel of the random matrix, in bytes of float64: 16 MiB.
PANEL_BYTES = 16 * 2**20


class GaussianProjection(MapTransformer):
    """Multiply by a random matrix of independent normal entries with variance 1/t.

    The entry in row i and column j is a pure function of (key, i, j). Panels of the matrix are
    generated again whenever they are needed. The sketch of a row depends on that row alone, to the
    last bit, for any block and any number of threads.

    Parameters
    ----------
    n_components, eps, n_clusters, random_state : as in `SignProjection`
        The same meaning and the same defaults.
    n_threads : int, optional
        Threads; by default as many as OpenMP allows.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        Fixes the matrix.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

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

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        out[...] = 0
        product = np.empty(out.shape, out.dtype)
        for first, panel in self._panels(out.dtype):
            part, directions = block, np.ascontiguousarray(panel.T)
            if len(panel) < block.shape[1]:
                part = np.ascontiguousarray(block[:, first : first + len(panel)])
            origin = np.zeros(len(panel), out.dtype)
            _native.direction_product(part, origin, 1.0, directions, product, self.n_threads or 0)
            out += product

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
    """Return a rectangle of standard normal numbers, each a pure function of its coordinates."""
    return normals_from_words(draw_words(key, shape, row=row, column=column))


def normals_from_words(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return one standard normal number for each random 64-bit word; every word gives a finite one.

    The upper 52 bits of a word make a uniform number strictly between 0 and 1, and the inverse of
    the normal distribution function makes it normal.
    """
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    normals: NDArray[np.float64] = scipy.special.ndtri(uniform)
    return normals

"""The maps that do not look at the rows, and the table of all maps by name.

No matrix of signs is stored: a map is its key, its number of features and its number of components.
The Gaussian matrix exists one panel at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.checks import check_count
from projected_kmeans.keys import RandomState, draw_words
from projected_kmeans.projections.column_sampling import ColumnSampling
from projected_kmeans.projections.map_protocol import MapTransformer, SparseMatrix
from projected_kmeans.projections.spectral import SpectralProjection


class SignProjection(MapTransformer):
    """Multiply by a random sign matrix, the paper's R: entries +1/sqrt(t) and -1/sqrt(t).

    The sign in row i and column j is a pure function of (key, i, j). So R is never stored, every
    machine, thread and block sees the same R, and the first t columns of a wider R are the same
    signs. Rows of float32, float16 and small integers are computed in float32, float64 rows in
    float64, in an order of additions that is fixed for each row. The product is a table look-up,
    several times faster than a matrix product.

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
        Threads of the product; by default as many as OpenMP allows. The result does not depend on
        their number.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        Fixes the signs.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    Notes
    -----
    All three parts of the paper's Lemma 1 hold: singular values of V_k^T R within 1 +- eps at
    t = O(k / eps^2); E ||S T - S R R^T T||_F^2 <= (2/t) ||S||_F^2 ||T||_F^2 and
    Var ||C R||_F^2 <= (2/t) ||C||_F^4 at every t.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import SignProjection
    >>> X = np.arange(12.0).reshape(2, 6)
    >>> SignProjection(4, random_state=7).fit_transform(X)
    array([[ -6.5,   0.5,   0.5,  -1.5],
           [-12.5,   0.5,   0.5,  -1.5]])
    """

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        _native.sign_product(block, self.key_, self._scale, out, self.n_threads or 0)

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        _multiply_sparse(self, _native.sign_product_sparse, self._scale, rows, out)

    @property
    def _scale(self) -> float:
        return 1.0 / math.sqrt(self.n_components_)


class SparseSignProjection(MapTransformer):
    """Multiply by a sparse random sign matrix: s entries +-1/sqrt(s) in each of its rows.

    In each row of R the t columns are cut into s stretches, and each stretch has one random sign at
    a random place (Kane, Nelson 2014); with s = 1 this is CountSketch. The cost is n d s for any t,
    little more than reading the data, and nnz s for sparse rows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t, as in `SignProjection`.
    n_nonzeros : int, default=8
        s, at most 64. If t is smaller than s, then t is used.
    eps, n_clusters, random_state, n_threads : as in `SignProjection`
        The same meaning and the same defaults.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        Fixes the signs and their places.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    Notes
    -----
    Of the paper's Lemma 1, parts 2 (matrix multiplication) and 3 (moments) hold with the same
    constants for every s. Part 1 (singular values of V_k^T R) needs t = O(k^2 / eps^2) at s = 1,
    and t = O(k log(k) / eps^2) at s = O(log(k) / eps) (Cohen 2016); on data s = 8 does as well as
    dense signs.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import SparseSignProjection
    >>> SparseSignProjection(3, n_nonzeros=1, random_state=7).fit_transform(np.eye(3) * 5)
    array([[ 0., -5.,  0.],
           [-5.,  0.,  0.],
           [ 0.,  0., -5.]])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_nonzeros: int = 8,
        eps: float = 0.3,
        n_clusters: int | None = None,
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            eps=eps,
            n_clusters=n_clusters,
            random_state=random_state,
            n_threads=n_threads,
        )
        self.n_nonzeros = n_nonzeros

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check the parameters and return t."""
        check_count("n_nonzeros", self.n_nonzeros)
        if self.n_nonzeros > _native.MAX_NONZEROS:
            raise ValueError(
                f"n_nonzeros={self.n_nonzeros} is too many; use at most {_native.MAX_NONZEROS}, "
                "or SignProjection for dense signs"
            )
        return super().choose_components(n_samples, n_features)

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        _native.sparse_sign_product(
            block, self.key_, self._scale, out, self.n_threads or 0, n_nonzeros=self._nonzeros
        )

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        kernel = partial(_native.sparse_sign_product_sparse, n_nonzeros=self._nonzeros)
        _multiply_sparse(self, kernel, self._scale, rows, out)

    @property
    def _scale(self) -> float:
        return 1.0 / math.sqrt(self._nonzeros)

    @property
    def _nonzeros(self) -> int:
        return min(int(self.n_nonzeros), int(self.n_components_))


class HadamardProjection(MapTransformer):
    """Randomised Hadamard transform: random signs, Walsh-Hadamard transform, t of its entries.

    Rows are padded with zeros to a power of two D. The cost is n D log(D) for any t; for sparse
    rows it is nnz t instead, and nothing is padded. The entries kept are the first t of a random
    order of all D, so a smaller t keeps the first entries of a larger t.

    Parameters
    ----------
    n_components, eps, n_clusters, random_state, n_threads : as in `SignProjection`
        The same meaning and the same defaults.

    Attributes
    ----------
    n_components_ : int
        t.
    key_ : int
        Fixes the signs and the random order.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    Notes
    -----
    Of the paper's Lemma 1, part 3 (moments) holds in expectation at every t. Part 1 (singular
    values of V_k^T R) holds at t = O((k + log(d)) log(k) / eps^2) (Tropp 2011), a logarithm more
    than signs need, and part 2 follows there.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import HadamardProjection
    >>> sketch = HadamardProjection(4, random_state=7).fit_transform(np.eye(4))
    >>> np.allclose(sketch @ sketch.T, np.eye(4))
    True
    """

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        _native.hadamard_product(
            block, self.key_, self._scale, out, self.n_threads or 0, positions=self._positions()
        )

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        kernel = partial(_native.hadamard_product_sparse, positions=self._positions())
        _multiply_sparse(self, kernel, self._scale, rows, out)

    @property
    def _scale(self) -> float:
        return 1.0 / math.sqrt(self.n_components_)

    def _positions(self) -> NDArray[np.int64]:
        """Return which entries of the transform are kept."""
        padded = 1 << (self.n_features_in_ - 1).bit_length()
        words = draw_words(self.key_, (1, padded))[0]
        return np.argsort(words, kind="stable")[: self.n_components_].astype(np.int64)


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


def _multiply_sparse(
    projection: MapTransformer,
    kernel: Callable[..., None],
    scale: float,
    rows: SparseMatrix,
    out: NDArray[Any],
) -> None:
    matrix = rows.data, rows.indices, rows.indptr, rows.shape[1]
    kernel(*matrix, projection.key_, scale, out, projection.n_threads or 0)


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


# The last two, "svd" and "columns", learn from the rows.
MAPS: Mapping[str, type[MapTransformer]] = MappingProxyType(
    {
        "sign": SignProjection,
        "sparse-sign": SparseSignProjection,
        "hadamard": HadamardProjection,
        "gaussian": GaussianProjection,
        "svd": SpectralProjection,
        "columns": ColumnSampling,
    }
)

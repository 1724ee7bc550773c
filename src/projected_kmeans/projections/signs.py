"""The paper's sign matrix as a map, dense and sparse. It does not look at the data.

No matrix is stored: a map is its key, its number of features and its number of components.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.checks import check_count
from projected_kmeans.keys import RandomState
from projected_kmeans.projections.map_protocol import MapTransformer, SparseMatrix


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
        _native.sign_product_sparse(
            rows.data,
            rows.indices,
            rows.indptr,
            rows.shape[1],
            self.key_,
            self._scale,
            out,
            self.n_threads or 0,
        )

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
        _native.sparse_sign_product_sparse(
            rows.data,
            rows.indices,
            rows.indptr,
            rows.shape[1],
            self.key_,
            self._scale,
            out,
            self.n_threads or 0,
            n_nonzeros=self._nonzeros,
        )

    @property
    def _scale(self) -> float:
        return 1.0 / math.sqrt(self._nonzeros)

    @property
    def _nonzeros(self) -> int:
        return min(int(self.n_nonzeros), int(self.n_components_))

"""The randomised Hadamard transform: a map whose cost does not depend on the dimension t."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.keys import draw_words
from projected_kmeans.projections.map_protocol import MapTransformer, SparseMatrix


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
        _native.hadamard_product_sparse(
            rows.data,
            rows.indices,
            rows.indptr,
            rows.shape[1],
            self.key_,
            self._scale,
            out,
            self.n_threads or 0,
            positions=self._positions(),
        )

    @property
    def _scale(self) -> float:
        return 1.0 / math.sqrt(self.n_components_)

    def _positions(self) -> NDArray[np.int64]:
        """Return which entries of the transform are kept."""
        padded = 1 << (self.n_features_in_ - 1).bit_length()
        words = draw_words(self.key_, (1, padded))[0]
        return np.argsort(words, kind="stable")[: self.n_components_].astype(np.int64)

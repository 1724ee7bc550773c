"""The map to columns of the data itself, drawn by their weight in the leading singular vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.checks import check_choice, check_count
from projected_kmeans.keys import SAMPLED_COLUMNS, RandomState, open_stream
from projected_kmeans.projections.map_protocol import LearnedTransformer, SparseMatrix
from projected_kmeans.projections.principal_directions import center_rows, find_directions
from projected_kmeans.projections.target_dimension import target_dimension
from projected_kmeans.results import Floats

SINGULAR_VECTOR_KINDS = ("auto", "exact", "approximate")


class ColumnSampling(LearnedTransformer):
    """Actual columns of the data, drawn by their leverage and rescaled: A S.

    With V_k the leading right singular vectors of the centred data, column i is drawn with
    probability p_i = ||row i of V_k||^2 / k in each of r independent draws, and divided by
    sqrt(r p_i), so that E[A S S^T A^T] = A A^T if every p_i is positive. An optimal clustering of
    A S is within 2 + eps of the optimum (Boutsidis, Mahoney, Drineas 2009). Centring the data does
    not change the inertia of any clustering.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        r. "auto" is k log2(k / eps) / eps^2, at most d. A number above d is allowed, because draws
        may repeat columns.
    n_clusters : int, default=8
        k. If the data has fewer directions than k, all of them are used.
    eps : float, default=0.3
        The error in (0, 1), used by "auto" and by "approximate".
    singular_vectors : {"auto", "exact", "approximate"}, default="auto"
        "approximate" finds V_k by a sign sketch of k + ceil(k / eps) + 1 columns; "auto" does so
        if min(n, d) is above 256, and else computes V_k exactly.
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads; by default as many as OpenMP allows.

    Attributes
    ----------
    columns_ : ndarray of int64 (r,)
        The columns drawn, in the order of the draws.
    scales_ : ndarray (r,)
        The factor that each drawn column is multiplied by.
    probabilities_ : ndarray (d,)
        p_i of every column.
    n_components_ : int
        r.
    key_ : int
        Fixes the draws.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ColumnSampling
    >>> X = np.array([[5.0, 0.0, 1.0], [0.0, 4.0, 1.0], [0.0, 0.0, 1.0]])
    >>> sampling = ColumnSampling(4, n_clusters=2, random_state=0).fit(X)
    >>> sampling.probabilities_.round(2)
    array([0.5, 0.5, 0. ])
    >>> sampling.transform(X).shape
    (3, 4)
    """

    dimension_rule: ClassVar[str] = "boutsidis2009-columns"
    drops_columns: ClassVar[bool] = True
    learnt: ClassVar[tuple[str, ...]] = ("columns_", "scales_", "probabilities_")

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        n_clusters: int = 8,
        eps: float = 0.3,
        singular_vectors: str = "auto",
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        super().__init__(n_components, eps=eps, random_state=random_state, n_threads=n_threads)
        self.n_clusters: int = n_clusters
        self.singular_vectors = singular_vectors

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check the parameters and return r."""
        check_count("n_clusters", self.n_clusters)
        check_count("n_components", self.n_components, word="auto")
        check_choice("singular_vectors", self.singular_vectors, SINGULAR_VECTOR_KINDS)
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        return target_dimension(
            self.n_clusters, eps=self.eps, rule=self.dimension_rule, n_features=n_features
        )

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Compute the leverage of every column, and draw columns by it."""
        rows = source.select()
        n_directions = min(self.n_clusters, *rows.shape)
        kinds = {"exact": True, "approximate": False}
        found = find_directions(
            center_rows(rows, weights, self.n_threads or 0),
            n_directions,
            key=self.key_,
            n_oversamples=target_dimension(n_directions, eps=self.eps, rule="cohen2015-svd") + 1,
            n_power=0,
            exact=kinds.get(self.singular_vectors),
        )
        leverage = np.einsum("ij,ij->i", found.columns, found.columns)
        if not leverage.any():  # all rows are equal, so every column is as good
            leverage[:] = 1
        self.probabilities_ = leverage / leverage.sum()
        stream = open_stream(self.key_, SAMPLED_COLUMNS)
        self.columns_ = stream.choice(len(leverage), self.n_components_, p=self.probabilities_)
        self.scales_ = 1.0 / np.sqrt(self.n_components_ * self.probabilities_[self.columns_])

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        np.multiply(block[:, self.columns_], self.scales_.astype(out.dtype), out=out)

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        out[...] = rows[:, self.columns_].toarray()
        out *= self.scales_.astype(out.dtype)

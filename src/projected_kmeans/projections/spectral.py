"""REDUCE: rows along their principal directions, a map that looks at the data.

Chooses how many directions and from which rows; `directions.py` finds them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import PickedRows, open_blocks
from projected_kmeans.checks import check_components, check_count
from projected_kmeans.keys import SPECTRAL_ROWS, RandomState, open_stream
from projected_kmeans.projections.centred_rows import about, mean_of
from projected_kmeans.projections.map_protocol import LearnedTransformer, SparseMatrix
from projected_kmeans.projections.principal_directions import Directions, find_directions
from projected_kmeans.projections.target_dimension import target_dimension
from projected_kmeans.results import Floats

# On digits (90,000 x 784, k = 100) 96 directions lower the inertia of 64 by 0.03 %.
AUTO_COMPONENTS = 64

# A sample has at least so many rows, and so many for each direction; it must spare half of all.
MIN_SAMPLE = 5000
SAMPLE_A_DIRECTION = 80

# Passes over a sample cost little, and all rows are passed over once.
POWER_ON_SAMPLE = 1

# Columns of R beyond t, as many as t but at least so many.
LEAST_OVERSAMPLES = 10

# Rows on which the loss is measured, and how many of them at a time.
LOSS_ROWS = 1024
LOSS_STRETCH = 64


class SpectralProjection(LearnedTransformer):
    """Coordinates of rows along their principal directions: (A - mean) V_t, that is U_t Sigma_t.

    The directions are found by a sign sketch: one pass for the exact mean, one for A^T (A R) by
    table look-up and a matrix product, and the sketch is the third; from a sample of the rows the
    first two are passes over the sample only. Where min(n, d) is at most 256
    the decomposition is exact up to rounding. Nothing is centred in a copy, and sparse rows are
    never made dense.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t. "auto" is ceil(k / eps), which keeps every clustering within 1 + eps (Cohen, Elder,
        Musco, Musco, Persu 2015), but at most 64, from where on digits gained next to nothing; 64
        without ``n_clusters``; never more than the number of features.
    eps : float, default=0.3
        Error parameter in (0, 1), used by "auto".
    n_clusters : int, optional
        k, used by "auto".
    n_oversamples : int or "auto", default="auto"
        Columns of R beyond t. "auto" is t, at least 10.
    n_power : int or "auto", default="auto"
        Further passes over the rows that the directions are found from. "auto" is 1 over a sample
        and none over all rows.
    sample_rows : int, "auto" or None, default="auto"
        From how many rows, drawn uniformly or by their weights, directions are found. "auto" is
        80 t, at least 5,000, where that is at most half of the rows; None takes all rows. What the
        sketch loses is measured, see ``lost_variance_``.
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads; by default what OpenMP allows.

    Attributes
    ----------
    components_ : ndarray (t, d)
        The directions as orthonormal rows; zero where the rank is exhausted.
    singular_values_ : ndarray (t,)
        Of the rows that directions were found from, about the mean; estimates from below where
        a sketch was decomposed.
    mean_ : ndarray (d,)
        The (weighted) mean of the rows that directions were found from.
    lost_variance_ : float
        The share of the variance that is not along the directions, measured on up to 1,024 rows
        that the directions were not found from; exact where all rows are so few.
    n_sampled_rows_ : int
        How many rows the directions were found from.
    n_components_ : int
        t.
    key_ : int
        What fixes signs and sample.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Notes
    -----
    On one machine directions have the same bits for any number of threads and any blocks: rows are
    multiplied in stretches that follow from d alone, each by BLAS on one thread, and added in
    order. Given the directions, a dense row's sketch depends on that row alone, to the bit. Another
    BLAS or instruction set rounds otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import SpectralProjection
    >>> X = np.array([[1.0, 7.0, 0.0], [5.0, 7.0, 0.0], [3.0, 8.0, 0.0], [3.0, 6.0, 0.0]])
    >>> projection = SpectralProjection(2).fit(X)
    >>> projection.transform(X).round(6) + 0.0
    array([[-2.,  0.],
           [ 2.,  0.],
           [ 0.,  1.],
           [ 0., -1.]])
    >>> projection.lost_variance_
    0.0
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.3,
        n_clusters: int | None = None,
        n_oversamples: int | str = "auto",
        n_power: int | str = "auto",
        sample_rows: int | str | None = "auto",
        random_state: RandomState = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.eps = eps
        self.n_clusters = n_clusters
        self.n_oversamples = n_oversamples
        self.n_power = n_power
        self.sample_rows = sample_rows
        self.random_state = random_state
        self.n_threads = n_threads

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check the parameters and return t."""
        check_components(self.n_components, n_features)
        check_count("n_oversamples", self.n_oversamples, minimum=0, word="auto")
        check_count("n_power", self.n_power, minimum=0, word="auto")
        if self.sample_rows is not None:
            check_count("sample_rows", self.sample_rows, word="auto")
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        most = min(AUTO_COMPONENTS, n_features)
        if self.n_clusters is None:
            return most
        return target_dimension(
            self.n_clusters, eps=self.eps, rule="cohen2015-svd", n_features=most
        )

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Find the directions, and measure what they lose."""
        sample = self._draw(source.shape[0], weights)
        found, unit = self._find(*_select(source, weights, sample.learnt), sample.learnt is None)
        self.components_ = np.ascontiguousarray(found.columns.T)
        self.singular_values_ = found.singular_values
        self.lost_variance_ = _lost_share(
            *_select(source, weights, sample.left_out), self.mean_, found.columns, unit
        )

    def _find(self, rows: Any, weights: Floats | None, all_rows: bool) -> tuple[Directions, float]:
        """Return the directions of rows, whose mean and number are kept, and the unit they have."""
        n_power, n_oversamples = self.n_power, self.n_oversamples
        if isinstance(n_power, str):
            n_power = 0 if all_rows else POWER_ON_SAMPLE
        if isinstance(n_oversamples, str):
            n_oversamples = max(self.n_components_, LEAST_OVERSAMPLES)
        n_threads = self.n_threads or 0
        ranges = scan_columns(open_blocks(rows), n_threads)
        self.n_sampled_rows_ = int(rows.shape[0])
        self.mean_ = mean_of(rows, weights, ranges, n_threads)
        centred = about(rows, self.mean_, weights, ranges, n_threads)
        found = find_directions(
            centred,
            self.n_components_,
            key=self.key_,
            n_oversamples=n_oversamples,
            n_power=n_power,
        )
        return found, centred.unit

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        origin, directions = self.mean_.astype(out.dtype), self.components_.astype(out.dtype)
        _native.direction_product(block, origin, 1.0, directions, out, self.n_threads or 0)

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        table = np.ascontiguousarray(self.components_.T, dtype=out.dtype)
        _native.table_product(rows, table, out, self.n_threads or 0)
        with one_blas_thread():
            along = self.components_ @ self.mean_
        out -= along.astype(out.dtype)

    def _draw(self, n_rows: int, weights: Floats | None) -> Sample:
        """Return the rows to learn from and the rows to measure the loss on."""
        wanted: Any = self.sample_rows
        if wanted == "auto":
            wanted = max(MIN_SAMPLE, SAMPLE_A_DIRECTION * self.n_components_)
            wanted = None if 2 * wanted > n_rows else wanted
        n_learnt = 0 if wanted is None or wanted >= n_rows else int(wanted)
        n_measured = min(LOSS_ROWS, n_rows - n_learnt)
        if n_measured == n_rows:
            return Sample(None, None)
        stream = open_stream(self.key_, SPECTRAL_ROWS)
        if weights is None:
            drawn = stream.choice(n_rows, n_learnt + n_measured, replace=False)
            return Sample(np.sort(drawn[:n_learnt]) if n_learnt else None, drawn[n_learnt:])
        share = weights / weights.sum()
        learnt = np.sort(stream.choice(n_rows, n_learnt, p=share)) if n_learnt else None
        if learnt is not None:
            share[learnt] = 0
        left = share.sum()
        if not left > 0:  # the sample has all rows that count
            return Sample(learnt, None)
        return Sample(learnt, stream.choice(n_rows, n_measured, p=share / left))


class Sample(NamedTuple):
    """Indices of rows, all rows where None; drawn by weight where there are weights."""

    learnt: NDArray[np.int64] | None
    left_out: NDArray[np.int64] | None


def _select(
    source: BlockSource, weights: Floats | None, indices: NDArray[np.int64] | None
) -> tuple[Any, Floats | None]:
    """Return all rows with their weights, or those drawn, which count once each."""
    if indices is None:
        return source.select(), weights
    if source.resident and not source.sparse:
        return PickedRows(source, indices), None
    return source.select(indices), None


def _lost_share(
    rows: Any, weights: Floats | None, mean: Floats, columns: Floats, unit: float
) -> float:
    """Return the share of the rows' squared distance to the mean that is not along the columns."""
    total = lost = 0.0
    sparse = scipy.sparse.issparse(rows)
    center = mean * unit
    with one_blas_thread():
        along = center @ columns
        for first in range(0, rows.shape[0], LOSS_STRETCH):
            span = slice(first, first + LOSS_STRETCH)
            part: Any = rows[span].astype(np.float64) * unit
            if sparse:
                squares = part.power(2).sum(axis=1) - 2 * (part @ center) + center @ center
                left = squares - np.sum((part @ columns - along) ** 2, axis=1)
            else:
                part -= center
                squares = np.einsum("ij,ij->i", part, part)
                left = squares - np.sum((part @ columns) ** 2, axis=1)
            counts = 1.0 if weights is None else weights[span]
            total += float(np.sum(counts * squares))
            lost += float(np.sum(counts * left))
    return min(max(lost / total, 0.0), 1.0) if total > 0 else 0.0

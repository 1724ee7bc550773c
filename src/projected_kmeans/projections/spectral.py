"""The map to principal directions, the default of `ProjectedKMeans`.

Decides from which rows directions are found and how many there are, and measures what they lose.
Planning counts the bytes and the seconds of the sample by the same functions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import multiply, one_blas_thread, strictly
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.memory_blocks import PickedRows
from projected_kmeans.checks import check_count
from projected_kmeans.keys import SPECTRAL_ROWS, RandomState, open_stream
from projected_kmeans.projections.hashed_columns import (
    count_hashed_columns,
    hash_selected,
    project_hashed_block,
    project_hashed_sparse,
)
from projected_kmeans.projections.map_protocol import LearnedTransformer, SparseMatrix
from projected_kmeans.projections.principal_directions import (
    EXACT_SIZE,
    Directions,
    center_rows,
    find_directions,
    spans,
)
from projected_kmeans.projections.target_dimension import target_dimension
from projected_kmeans.results import Floats
from projected_kmeans.thread_pool import ThreadPool

# Sample at least 5,000 rows, 80 for each of the first 64 directions and 40 for each of all; use all
# rows if that exceeds half of them.
MIN_SAMPLE_ROWS = 5000
SAMPLE_ROWS_PER_DIRECTION, FIRST_DIRECTIONS = 80, 64

# Rows, outside the sample, on which the lost variance is measured.
LOSS_ROWS = 1024

# The loss is measured on this number of rows at a time.
STRETCH_ROWS = 64

# The automatic number of directions is at least 64 (or ceil(k / eps)), because fewer save little
# time, and at most 256 or half of the columns, above which a sketch saves nothing.
EXPECTED_COMPONENTS, MAX_AUTO_COMPONENTS = 64, 256

# What t directions of k clusters can miss is at most the variance along the next k (Cohen, Elder,
# Musco, Musco, Persu 2015). Losses of inertia above .1 % begin where that is .15 to .25 of all.
# Where more than 64 directions are needed, as for embeddings, they are taken until it is .1.
MAX_NEXT_VARIANCE, MAX_NEXT_BEYOND = 0.25, 0.1

# No direction stands out if the variance along the 64th is more than this share of the first.
FLAT_SHARE = 0.25

# Power passes that follow the first one if directions are found from a sample, where a pass costs
# little. Over all rows there is none.
SAMPLE_POWER_PASSES = 1

# The pass before that takes every fourth row of the sample: enough for a start that it improves.
START_STEP = 4


class DirectionSample(NamedTuple):
    """Indices of rows: those to learn from, and those to measure the loss on. None is all rows."""

    learnt: NDArray[np.int64] | None
    left_out: NDArray[np.int64] | None


def wanted_sample_rows(n_directions: int) -> int:
    """Return how many rows are enough to find some directions, if there are many more rows."""
    wanted = SAMPLE_ROWS_PER_DIRECTION * min(n_directions, FIRST_DIRECTIONS)
    return max(MIN_SAMPLE_ROWS, wanted, SAMPLE_ROWS_PER_DIRECTION * n_directions // 2)


def count_sample_rows(n_rows: int, n_directions: int) -> int:
    """Return how many of the rows directions are found from: a sample, or all of them."""
    wanted = wanted_sample_rows(n_directions)
    return n_rows if 2 * wanted > n_rows else wanted


def draw_direction_sample(
    n_rows: int, n_learnt: int, weights: Floats | None, key: int
) -> DirectionSample:
    """Draw the rows to learn from, and up to `LOSS_ROWS` further rows to measure the loss on.

    Rows are drawn uniformly without replacement, or by weight with replacement, so that each drawn
    row counts once. If there are no more than ``n_learnt`` rows, all are learnt from.
    """
    if n_learnt >= n_rows:
        n_learnt = 0  # nothing to draw
    n_measured = min(LOSS_ROWS, n_rows - n_learnt)
    if n_measured == n_rows:
        return DirectionSample(None, None)
    stream = open_stream(key, SPECTRAL_ROWS)
    if weights is None:
        drawn = stream.choice(n_rows, n_learnt + n_measured, replace=False)
        return DirectionSample(np.sort(drawn[:n_learnt]) if n_learnt else None, drawn[n_learnt:])
    share = weights / weights.sum()
    learnt = np.sort(stream.choice(n_rows, n_learnt, p=share)) if n_learnt else None
    if learnt is not None:
        share[learnt] = 0
    left = share.sum()
    if not left > 0:  # the sample has every row of positive weight
        return DirectionSample(learnt, None)
    return DirectionSample(learnt, stream.choice(n_rows, n_measured, p=share / left))


def lost_share(
    rows: Any,
    weights: Floats | None,
    mean: Floats,
    columns: Floats,
    unit: float,
    n_threads: int,
) -> float:
    """Return the share of the rows' squared distance to the mean that is not along the columns.

    The columns are orthonormal or zero, and the rows are multiplied by ``unit``, so that squares do
    not overflow. Stretches are measured by several threads and added in their order. The caller
    passes it to `strictly`.
    """
    sparse = scipy.sparse.issparse(rows)
    center = mean * unit
    along = center @ columns

    @one_blas_thread()
    def measure_stretch(span: slice) -> tuple[float, float]:
        part: Any = rows[span].astype(np.float64) * unit
        if sparse:
            squares = part.power(2).sum(axis=1) - 2 * (part @ center) + center @ center
            left = squares - np.sum((part @ columns - along) ** 2, axis=1)
        else:
            part -= center
            squares = np.einsum("ij,ij->i", part, part)
            left = squares - np.sum((part @ columns) ** 2, axis=1)
        counts = 1.0 if weights is None else weights[span]
        return float(np.sum(counts * squares)), float(np.sum(counts * left))

    total = lost = 0.0
    with ThreadPool(_native.max_threads(n_threads)) as pool:
        for squares, left in pool.map(measure_stretch, spans(rows.shape[0], STRETCH_ROWS)):
            total += squares
            lost += left
    return min(max(lost / total, 0.0), 1.0) if total > 0 else 0.0


class SpectralProjection(LearnedTransformer):
    """Coordinates of rows along their principal directions: (A - mean) V_t, that is U_t Sigma_t.

    The directions are found by a sign sketch. The first pass over the rows gives the exact mean,
    the second A^T (A R) by table look-up and a matrix product, and the third the sketch. If the
    directions are found from a sample, the first two passes read the sample only, and a further one
    multiplies it with an orthonormal basis of what a quarter of it gave. If min(n, d) is
    at most 400, the decomposition is exact up to rounding. No centred copy of the rows is made, and
    sparse rows are never made dense.

    The columns of very wide rows are first hashed to fewer ones with random signs (CountSketch),
    and the directions are those of the hashed rows. So no matrix with a row for each column stands
    in memory, and the map takes little more than reading the rows.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        t. "auto" is 64 if the next k directions hold at most 0.25 of the variance, or no direction
        stands out; otherwise the smallest number after which they hold at most 0.1. It is at most
        ceil(k / eps), which keeps every clustering within 1 + eps (Cohen, Elder, Musco, Musco,
        Persu 2015), and at most 256 and half of the features; 64 without ``n_clusters``.
    eps : float, default=0.3
        Error parameter in (0, 1), used by "auto".
    n_clusters : int, optional
        k, used by "auto".
    n_oversamples : int or "auto", default="auto"
        Columns of R beyond t. "auto" is t, at least 10.
    n_power : int or "auto", default="auto"
        Further passes over the rows that the directions are found from. "auto" is 1 for a sample
        and 0 for all rows.
    sample_rows : int, "auto" or None, default="auto"
        The number of rows, drawn uniformly or by their weights, that directions are found from.
        "auto" is 80 t, at least 5,000, or all rows if that is more than half of them; None takes
        all rows. ``lost_variance_`` measures what the sketch loses.
    hashed_columns : int, "auto" or None, default="auto"
        The number of columns that all columns are hashed to before. "auto" is 8,192 for dense rows
        of at least 16,384 columns and sparse rows of at least 131,072, if t is at most 256; None
        hashes nothing.
    random_state : int, RandomState instance or None, default=None
        An integer is the key itself.
    n_threads : int, optional
        Threads; by default as many as OpenMP allows.

    Attributes
    ----------
    components_ : ndarray (t, d)
        The directions as orthonormal rows; rows of zeros beyond the rank of the data. If columns
        are hashed, they have an entry for each hashed column, and so has the mean.
    singular_values_ : ndarray (t,)
        Of the rows that directions were found from, about the mean. If a sketch was decomposed,
        they are estimates from below.
    mean_ : ndarray (d,)
        The (weighted) mean of the rows that directions were found from.
    lost_variance_ : float
        The share of the variance that is not along the directions, measured on up to 1,024 rows
        that the directions were not found from. With at most 1,024 rows it is exact.
    next_variance_ : float
        At most this share of the variance is along the next k directions; NaN without
        ``n_clusters``.
    n_sampled_rows_ : int
        How many rows the directions were found from.
    n_hashed_columns_ : int
        How many columns all columns are hashed to; 0 if they are not hashed.
    n_components_ : int
        t.
    key_ : int
        Fixes the signs and the sample.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only if X has string column names.

    Notes
    -----
    On one machine directions have the same bits for any number of threads and any blocks, because
    rows are multiplied in stretches whose length depends on d alone, each by BLAS on one thread,
    and added in order. Given the directions, a dense row's sketch depends on that row alone, to the
    bit. Another BLAS or instruction set rounds differently.

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

    dimension_rule: ClassVar[str] = "cohen2015-svd"
    learnt: ClassVar[tuple[str, ...]] = (
        "n_components_",
        "n_hashed_columns_",
        "n_sampled_rows_",
        "components_",
        "singular_values_",
        "mean_",
        "lost_variance_",
        "next_variance_",
    )
    n_components_: int

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.3,
        n_clusters: int | None = None,
        n_oversamples: int | str = "auto",
        n_power: int | str = "auto",
        sample_rows: int | str | None = "auto",
        hashed_columns: int | str | None = "auto",
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
        self.n_oversamples = n_oversamples
        self.n_power = n_power
        self.sample_rows = sample_rows
        self.hashed_columns = hashed_columns

    def choose_components(self, n_samples: int, n_features: int) -> int:
        """Check the parameters and return t."""
        most = "n_features", n_features
        check_count("n_components", self.n_components, most=most, word="auto")
        check_count("n_oversamples", self.n_oversamples, minimum=0, word="auto")
        check_count("n_power", self.n_power, minimum=0, word="auto")
        if self.sample_rows is not None:
            check_count("sample_rows", self.sample_rows, word="auto")
        if self.hashed_columns is not None:
            check_count("hashed_columns", self.hashed_columns, word="auto")
        if not isinstance(self.n_components, str):
            return int(self.n_components)
        maximum = min(EXPECTED_COMPONENTS, n_features)
        if self.n_clusters is None:
            return maximum
        return target_dimension(
            self.n_clusters, eps=self.eps, rule=self.dimension_rule, n_features=maximum
        )

    def learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Find the directions, and measure what they lose."""
        self.n_hashed_columns_ = self._count_hashed(source)
        is_open = isinstance(self.n_components, str) and self.n_clusters is not None
        limit, n_features = self.n_components_, source.shape[1]
        if is_open:
            wanted = target_dimension(
                self.n_clusters, eps=self.eps, rule=self.dimension_rule, n_features=n_features
            )
            limit = max(limit, min(MAX_AUTO_COMPONENTS, n_features // 2, wanted))
        if n_features <= EXACT_SIZE:  # all directions cost no more than some
            self.n_components_ = limit
        while True:
            self._learn(source, weights)
            enough = self._count_enough()
            if enough is not None or self.n_components_ >= limit:
                break
            # The spectrum falls slowly: look at more directions, but give up at the limit.
            self.n_components_ = min(2 * self.n_components_, limit)
        if is_open:
            self._keep(enough)

    def _learn(self, source: BlockSource, weights: Floats | None) -> None:
        """Find ``n_components_`` directions, and measure what is lost without the last ones."""
        n_rows = source.shape[0]
        if isinstance(self.sample_rows, str):
            n_learnt = count_sample_rows(n_rows, self.n_components_)
        else:
            n_learnt = n_rows if self.sample_rows is None else min(self.sample_rows, n_rows)
        sample = draw_direction_sample(n_rows, n_learnt, weights, self.key_)
        learnt = self._select(source, weights, sample.learnt)
        found, unit = self._find(*learnt, sample.learnt is None)
        self.components_ = np.ascontiguousarray(found.columns.T)
        self.singular_values_ = found.singular_values
        if sample.learnt is None and self.n_hashed_columns_:  # all rows are hashed already
            everything = sample.left_out is None
            left_out = learnt if everything else (learnt[0][sample.left_out], None)
        else:
            del learnt  # before other rows take as much memory
            left_out = self._select(source, weights, sample.left_out)
        n_threads = self.n_threads or 0
        share = partial(lost_share, *left_out, self.mean_, found.columns, unit, n_threads)
        self.lost_variance_ = strictly(share)
        self.next_variance_ = self._bound_next(self.lost_variance_, self.singular_values_[-1])

    def _bound_next(self, lost: float, singular_value: float) -> float:
        """Return a bound on the share of the variance along the k directions after the last.

        None of them holds more than the last, nor all of them more than what is lost.
        """
        if self.n_clusters is None:
            return float("nan")
        squares = self.singular_values_**2
        if not squares.sum() > 0:
            return lost
        share = (1 - self.lost_variance_) * singular_value**2 / squares.sum()
        return float(min(lost, self.n_clusters * share))

    def _count_enough(self) -> int | None:
        """Return the smallest number of directions that misses little enough; None if none does.

        If no direction stands out, as in noise, the first number is enough: more help little.
        """
        squares = self.singular_values_**2
        first = min(EXPECTED_COMPONENTS, len(squares))
        if squares[first - 1] > FLAT_SHARE * squares[0]:
            return first
        kept = (1 - self.lost_variance_) * np.cumsum(squares) / max(squares.sum(), 1e-300)
        for t in range(first, len(squares) + 1, 16):
            most = MAX_NEXT_VARIANCE if t <= EXPECTED_COMPONENTS else MAX_NEXT_BEYOND
            if self._bound_next(1 - kept[t - 1], self.singular_values_[t - 1]) <= most:
                return t
        return None

    def _keep(self, t: int | None) -> None:
        """Leave out directions after t; None keeps all if they lose little, else the first 64."""
        if t is None:
            few = self.lost_variance_ > 2 * MAX_NEXT_BEYOND
            t = min(EXPECTED_COMPONENTS, self.n_components_) if few else self.n_components_
        squares = self.singular_values_**2
        total = max(squares.sum(), 1e-300)
        lost = 1 - (1 - self.lost_variance_) * float(squares[:t].sum() / total)
        self.next_variance_ = self._bound_next(lost, self.singular_values_[t - 1])
        self.lost_variance_ = lost if t < self.n_components_ else self.lost_variance_
        self.components_ = np.ascontiguousarray(self.components_[:t])
        self.singular_values_ = self.singular_values_[:t].copy()
        self.n_components_ = t

    def _count_hashed(self, source: BlockSource) -> int:
        """Return how many columns all columns are hashed to; 0 for no hashing."""
        if self.hashed_columns is None:
            return 0
        if isinstance(self.hashed_columns, str):
            return count_hashed_columns(source.shape[1], self.n_components_, sparse=source.sparse)
        if self.hashed_columns < self.n_components_:
            raise ValueError(
                f"hashed_columns={self.hashed_columns} are fewer than the {self.n_components_} "
                "directions to find in them; use more, or fewer directions"
            )
        return int(self.hashed_columns) if self.hashed_columns < source.shape[1] else 0

    def _find(self, rows: Any, weights: Floats | None, all_rows: bool) -> tuple[Directions, float]:
        """Return the directions of the rows and their unit; remember their mean and number."""
        n_power, n_oversamples = self.n_power, self.n_oversamples
        if isinstance(n_power, str):
            n_power = 0 if all_rows else SAMPLE_POWER_PASSES
        centred, start = center_rows(rows, weights, self.n_threads or 0), None
        self.n_sampled_rows_, self.mean_ = int(rows.shape[0]), centred.center
        if not all_rows and n_power:  # the rows of a sample have no weights
            some = rows.indices[::START_STEP] if isinstance(rows, PickedRows) else None
            thinned = rows[::START_STEP] if some is None else PickedRows(rows.source, some)
            start = replace(centred, array=thinned)
        found = find_directions(
            centred,
            self.n_components_,
            key=self.key_,
            n_oversamples=None if isinstance(n_oversamples, str) else n_oversamples,
            n_power=n_power,
            start=start,
        )
        return found, centred.unit

    def _select(
        self, source: BlockSource, weights: Floats | None, indices: NDArray[np.int64] | None
    ) -> tuple[Any, Floats | None]:
        """Return all rows with their weights, or the rows drawn, each of which counts once."""
        if indices is not None:
            weights = None
        if self.n_hashed_columns_:
            wanted = indices, self.key_, self.n_hashed_columns_, self.n_threads or 0
            return hash_selected(source, *wanted), weights
        if indices is not None and source.resident and not source.sparse:
            return PickedRows(source, indices), weights
        return source.select(indices), weights

    def project_block(self, block: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the sketch of a block of dense rows into ``out``."""
        origin, directions = self.mean_.astype(out.dtype), self.components_.astype(out.dtype)
        n_threads = self.n_threads or 0
        if self.n_hashed_columns_:
            project_hashed_block(block, self.key_, origin, directions, out, n_threads)
        else:
            _native.direction_product(block, origin, 1.0, directions, out, n_threads)

    def project_sparse(self, rows: SparseMatrix, out: NDArray[Any]) -> None:
        """Write the sketch of sparse rows into ``out``."""
        table = np.ascontiguousarray(self.components_.T, dtype=out.dtype)
        n_threads = self.n_threads or 0
        if self.n_hashed_columns_:
            project_hashed_sparse(rows, self.key_, table, out, n_threads)
        else:
            _native.table_product(rows, table, out, n_threads)
        out -= multiply(self.components_, self.mean_).astype(out.dtype)

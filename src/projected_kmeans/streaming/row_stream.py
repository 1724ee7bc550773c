"""A stream of rows, kept as few weighted rows that stand for all of them: merge and reduce."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans.blocks.element_types import as_native_sparse
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.keys import STREAM, open_stream
from projected_kmeans.results import Floats
from projected_kmeans.streaming.condensing import WeightedRows, condense, join
from projected_kmeans.streaming.continued_model import Drift, ExactSum, ModelSummary

# A level keeps 20 rows a cluster, and at least 1,000.
KEPT_ROWS_PER_CLUSTER, MIN_KEPT_ROWS = 20, 1000

# The buffer holds 4 times as many rows as a level, as they arrived.
BUFFER_FACTOR = 4


class RowStream:
    """What is kept of all rows so far.

    Rows are buffered as they arrive. A full buffer is condensed to a quarter and becomes a part of
    level 0. Two parts of a level are joined, condensed to half, and become a part of the next
    level. So there is at most one part a level and about log2(rows / buffer) levels, and no row is
    condensed more often than there are levels. If ``spherical``, rows are brought to length one.
    """

    def __init__(
        self,
        n_clusters: int,
        n_columns: int,
        dtype: np.dtype[Any],
        *,
        sparse: bool,
        key: int,
        spherical: bool = False,
    ) -> None:
        self.n_clusters, self.n_columns, self.dtype = n_clusters, n_columns, dtype
        self.sparse, self.key, self.spherical = sparse, key, spherical
        # Rows of a level, and rows that arrived so far, those of weight 0 included.
        self.n_kept = max(MIN_KEPT_ROWS, KEPT_ROWS_PER_CLUSTER * n_clusters)
        self.n_seen = 0
        self._buffer: list[WeightedRows] = []
        self._n_buffered = 0
        self._levels: list[WeightedRows | None] = []
        self._n_condensed = 0
        self._weight = ExactSum()
        self._drift: Drift | None = None

    def begin_with(self, model: ModelSummary) -> None:
        """Take the centers of a fitted model for its rows. Nothing was added before."""
        self._drift, self.n_seen = Drift.begin(model), model.n_rows
        self._weight.add(np.array([model.total_weight]))
        kept = model.to_rows(self.dtype, sparse=self.sparse)
        self._buffer, self._n_buffered = [kept], len(kept)

    @property
    def model(self) -> ModelSummary | None:
        """The model that the stream began with, if it did."""
        return None if self._drift is None else self._drift.model

    @property
    def drift(self) -> float | None:
        """How far added rows are from the centers of the model that the stream began with."""
        return None if self._drift is None else self._drift.ratio

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all rows so far."""
        return self._weight.value

    @property
    def n_floats(self) -> int:
        """How many numbers are kept in all."""
        return sum(part.n_floats for part in self._parts())

    def copy(self) -> RowStream:
        """Return an independent stream. Rows are shared, because a part is never changed."""
        other = copy.copy(self)
        other._buffer, other._levels = list(self._buffer), list(self._levels)
        other._weight = self._weight.copy()
        other._drift = None if self._drift is None else self._drift.copy()
        return other

    def add(self, rows: Any, weights: Floats | None, n_threads: int = 0) -> None:
        """Take in further rows, which are finite and are copied; not those of weight 0."""
        counted = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        self.n_seen += rows.shape[0]
        self._weight.add(np.ones(rows.shape[0]) if weights is None else weights)
        if self._drift is not None:
            self._drift.add(rows, weights, n_threads, self.spherical)
        size = BUFFER_FACTOR * self.n_kept
        while len(counted):
            # Each piece is copied, so that it does not keep the caller's block in memory.
            piece, counted = np.split(counted, [size - self._n_buffered])
            mass = np.ones(len(piece)) if weights is None else weights[piece]
            self._buffer.append(WeightedRows(self._convert(rows[piece]), mass))
            self._n_buffered += len(piece)
            if self._n_buffered == size:
                self._push(self._condense(self._buffer, n_threads), n_threads)
                self._buffer, self._n_buffered = [], 0

    def gather(self) -> WeightedRows:
        """Return all rows that are kept, the oldest first."""
        empty = np.empty((0, self.n_columns), self.dtype)
        none = WeightedRows(scipy.sparse.csr_array(empty) if self.sparse else empty, np.empty(0))
        return join([none, *self._parts()])

    def _parts(self) -> list[WeightedRows]:
        return [part for part in self._levels[::-1] if part is not None] + self._buffer

    def _convert(self, rows: Any) -> Any:
        """Return rows in the form and type in which they are kept."""
        given_sparse = scipy.sparse.issparse(rows)
        if self.sparse:
            rows = as_native_sparse(scipy.sparse.csr_array(rows))
        elif given_sparse:
            rows = rows.toarray()
        return (to_unit_rows(rows) if self.spherical else rows).astype(self.dtype, copy=False)

    def _push(self, part: WeightedRows, n_threads: int) -> None:
        """Put a part on the first free level, joined with the parts of all levels below it."""
        for level, other in enumerate(self._levels):
            if other is None:
                self._levels[level] = part
                return
            self._levels[level] = None
            part = self._condense([other, part], n_threads)
        self._levels.append(part)

    def _condense(self, parts: list[WeightedRows], n_threads: int) -> WeightedRows:
        draws = open_stream(self.key, STREAM, self._n_condensed)
        self._n_condensed += 1
        return condense(
            join(parts),
            self.n_kept,
            self.key,
            draws,
            n_threads=n_threads,
            spherical=self.spherical,
        )

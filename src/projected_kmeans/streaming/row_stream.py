"""Rows that arrive over time, kept as few that stand for all: merge and reduce.

Depends on the rows in their order, not on the blocks that they arrive in; it clusters nothing.
"""

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

# Rows that stand for a full level: so many a cluster, and no fewer than so many in all.
KEPT_A_CLUSTER, LEAST_KEPT = 20, 1000

# Rows that are kept as they are until they are condensed, over those that are kept of them.
BUFFERED = 4


class RowStream:
    """What is kept of all rows so far.

    Rows are buffered as they are; a full buffer is condensed to a quarter and becomes a part of
    level 0. Two parts of a level are joined, condensed to half, and become one of the next. So at
    most one part a level is kept, about log2(rows / buffer) in all, and every row was condensed
    as often at most.

    Parameters
    ----------
    n_clusters : int
        k, which sets how many rows are kept.
    n_columns : int
        d.
    dtype : dtype
        Of what is kept: float32 or float64.
    sparse : bool
        Whether rows are kept as CSR.
    key : int
        What fixes all draws.
    spherical : bool
        Whether rows count by their direction.

    Attributes
    ----------
    n_kept : int
        Rows of a level.
    n_seen : int
        Rows so far.
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
        self.n_kept = max(LEAST_KEPT, KEPT_A_CLUSTER * n_clusters)
        self.n_seen = 0
        self._buffer: list[WeightedRows] = []
        self._n_buffered = 0
        self._levels: list[WeightedRows | None] = []
        self._n_condensed = 0

    @property
    def n_floats(self) -> int:
        """Numbers kept in all."""
        return sum(part.n_floats for part in self._parts())

    def copy(self) -> RowStream:
        """Return a stream that goes on by itself; rows are shared, as no part is ever changed."""
        other = copy.copy(self)
        other._buffer, other._levels = list(self._buffer), list(self._levels)
        return other

    def add(self, rows: Any, weights: Floats | None, n_threads: int = 0) -> None:
        """Take in rows that follow those so far.

        Parameters
        ----------
        rows : ndarray or csr_array (n, d)
            Finite; they are copied.
        weights : ndarray of float64 (n,) or None
            None counts every row once; rows of weight 0 are only counted as seen.
        n_threads : int, default=0
            0 takes what OpenMP allows. No result depends on it.
        """
        counted = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        self.n_seen += rows.shape[0]
        size = BUFFERED * self.n_kept
        while len(counted):
            # Each piece is a copy of its own, so that none keeps the caller's block alive.
            piece, counted = np.split(counted, [size - self._n_buffered])
            mass = np.ones(len(piece)) if weights is None else weights[piece]
            self._buffer.append(WeightedRows(self._convert(rows[piece]), mass))
            self._n_buffered += len(piece)
            if self._n_buffered == size:
                self._push(self._condense(self._buffer, n_threads), n_threads)
                self._buffer, self._n_buffered = [], 0

    def gather(self) -> WeightedRows:
        """Return what is kept, the oldest rows first."""
        empty = np.empty((0, self.n_columns), self.dtype)
        none = WeightedRows(scipy.sparse.csr_array(empty) if self.sparse else empty, np.empty(0))
        return join([none, *self._parts()])

    def _parts(self) -> list[WeightedRows]:
        return [part for part in self._levels[::-1] if part is not None] + self._buffer

    def _convert(self, rows: Any) -> Any:
        """Return rows as they are kept."""
        if self.sparse:
            rows = as_native_sparse(scipy.sparse.csr_array(rows))
        elif hasattr(rows, "toarray"):
            rows = rows.toarray()
        return (to_unit_rows(rows) if self.spherical else rows).astype(self.dtype, copy=False)

    def _push(self, part: WeightedRows, n_threads: int) -> None:
        """Put a part on the first level that is free; those below it are condensed into it."""
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

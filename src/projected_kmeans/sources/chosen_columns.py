"""Some columns of a row source, by their indices: another order, or without some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from projected_kmeans.sources.protocol import Rows, RowSource, SourceDefaults


class ChosenColumns(SourceDefaults):
    """A row source with some of the columns of another.

    All columns are read and some are kept. A file that is opened with ``columns=`` reads only
    those, if its format can.

    Parameters
    ----------
    source : RowSource
        The rows.
    columns : sequence of int
        Indices of columns in the order to give them.

    Examples
    --------
    >>> from projected_kmeans.sources.array_source import as_row_source
    >>> rows = ChosenColumns(as_row_source(np.array([[1.0, 2.0, 3.0]])), [2, 0])
    >>> rows.read(0, 1)
    array([[3., 1.]])
    """

    def __init__(self, source: RowSource, columns: Sequence[int]) -> None:
        self.source, self.columns = source, tuple(columns)
        self.shape = (source.shape[0], len(self.columns))
        self.dtype, self.sparse = source.dtype, source.sparse
        self.forward_only, self.labels = source.forward_only, source.labels
        names = source.feature_names
        self.feature_names = None if names is None else tuple(names[i] for i in self.columns)

    def read(self, start: int, stop: int) -> Rows:
        """Return the chosen columns of the rows start, ..., stop - 1."""
        rows = self.source.read(start, stop)[:, list(self.columns)]
        if not self.sparse:
            return np.ascontiguousarray(rows)
        chosen = scipy.sparse.csr_array(rows)
        chosen.sort_indices()
        return chosen

    def identity(self) -> str:
        """Return a fingerprint of the source and the choice."""
        return hashlib.sha256(f"{self.source.identity()} {self.columns}".encode()).hexdigest()

    def close(self) -> None:
        """Close the source."""
        self.source.close()

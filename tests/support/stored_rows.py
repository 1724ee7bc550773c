"""Row sources for tests: one that counts what is read of it, and one that fails in the middle.

Nothing here is about a format; `row_files.py` has those.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from projected_kmeans.sources.array_source import ArrayRows
from projected_kmeans.sources.protocol import Rows


class SpyRows(ArrayRows):
    """An array as a source that remembers who read which range.

    Parameters
    ----------
    array : ndarray or CSR (n, d)
        The rows.
    fails_at : int, optional
        A row whose reading raises an OSError.
    """

    def __init__(self, array: Any, fails_at: int | None = None) -> None:
        super().__init__(array)
        self.fails_at = fails_at
        self.walked: list[tuple[int, int]] = []
        self.selected: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> Rows:
        """Return rows, and remember."""
        if self.fails_at is not None and start <= self.fails_at < stop:
            raise OSError("the disk is gone")
        ahead = threading.current_thread().name.startswith("read-ahead")
        (self.walked if ahead else self.selected).append((start, stop))
        return super().read(start, stop)

    @property
    def n_walks(self) -> float:
        """How often all rows were walked over."""
        return sum(stop - start for start, stop in self.walked) / self.shape[0]


def reading_threads() -> list[str]:
    """Return the threads that read ahead and are still there."""
    return [one.name for one in threading.enumerate() if one.name.startswith("read-ahead")]


def draw_eighths(seed: int, n_rows: int, n_columns: int, n_clusters: int) -> np.ndarray:
    """Return clustered rows of multiples of 1/8, many of them 0: exact in text, apt for CSR."""
    stream = np.random.default_rng(seed)
    means = 3 * stream.normal(size=(n_clusters, n_columns))
    rows = means[stream.integers(n_clusters, size=n_rows)] + stream.normal(size=(n_rows, n_columns))
    rows[stream.random(size=rows.shape) < 0.4] = 0
    return np.rint(8 * rows) / 8 + 0.0

"""The sizes of a job: all that planning knows about the rows."""

from __future__ import annotations

from dataclasses import dataclass

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.projections.hashed_columns import count_hashed_columns


@dataclass(frozen=True)
class Sizes:
    """How large a job is.

    Attributes
    ----------
    n_rows, n_columns, n_clusters : int
        n, d, k.
    itemsize : int
        Bytes of an entry.
    n_nonzeros : int or None
        Stored entries of sparse rows; None for dense rows.
    """

    n_rows: int
    n_columns: int
    n_clusters: int
    itemsize: int
    n_nonzeros: int | None = None

    @classmethod
    def of(cls, rows: BlockSource, n_clusters: int) -> Sizes:
        """Return the sizes of clustering these rows."""
        return cls(*rows.shape, n_clusters, rows.dtype.itemsize, rows.nnz)

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.n_nonzeros is not None

    @property
    def n_entries(self) -> int:
        """Entries that a pass over the rows reads."""
        return self.n_rows * self.n_columns if self.n_nonzeros is None else self.n_nonzeros

    @property
    def data_bytes(self) -> int:
        """Bytes that a pass over the rows reads: entries, and 4 bytes a column index if sparse."""
        return self.n_entries * (self.itemsize + (4 if self.sparse else 0))

    @property
    def sketch_itemsize(self) -> int:
        """Bytes of a number in the sketch: 8 for rows of float64, 4 for all smaller types."""
        return 8 if self.itemsize == 8 else 4

    def count_hashed_columns(self, n_directions: int) -> int:
        """Return to how many columns principal directions hash these rows; 0 for no hashing."""
        return count_hashed_columns(self.n_columns, n_directions, sparse=self.sparse)

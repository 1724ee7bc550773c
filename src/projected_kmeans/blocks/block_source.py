"""READ: rows as a sequence of blocks, and what is known of their columns.

Knows where rows lie; it does not know what is computed from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.results import Floats


class BlockSource(Protocol):
    """Rows that are walked over block by block, as often as a caller needs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of every block, one of `NATIVE_TYPES`."""

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR arrays."""

    @property
    def resident(self) -> bool:
        """Whether rows lie in memory, so that some of them may be fetched again and again."""

    @property
    def distant(self) -> bool:
        """Whether blocks lie elsewhere, so that what tasks use of rows has to travel."""

    def __iter__(self) -> Iterator[Block]:
        """Walk over the blocks from the first row to the last."""

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Do some tasks, in their order, with every block: here or where it lies.

        A block begins at row ``first``, and those before it are left out.
        """

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Return some rows as float64."""

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Return some rows in memory as blocks have them, all of them by default."""

    def __len__(self) -> int:
        """Return the number of blocks."""

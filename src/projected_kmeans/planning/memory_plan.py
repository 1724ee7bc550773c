"""What has to be small so that a fit stays within a limit of memory: blocks, and the sketch.

Counts bytes from sizes (`fit_bytes.py`). No result depends on a plan, only time and memory do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.stored_blocks import BLOCKS_HELD
from projected_kmeans.planning.approach import Approach
from projected_kmeans.planning.fit_bytes import (
    STATE_BYTES_PER_ROW,
    FitBytes,
    count_bytes,
    count_selected_bytes,
)
from projected_kmeans.planning.memory_limit import parse_memory
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.sources.memory_at_hand import available_memory

# Blocks have at least 1 MiB, because smaller ones would spend most of the time on reading.
MIN_BLOCK_BYTES = 2**20

# A sketch of up to 64 MiB comes from the workers of a cluster to the client, where a pass takes
# less time than it takes to ask the workers.
MAX_SKETCH_BYTES = 2**26


@dataclass(frozen=True)
class MemoryPlan:
    """What keeps a fit within its limit.

    Attributes
    ----------
    block_bytes : int
        The size of a block.
    sketch_in_memory : bool
        Whether the sketch stays in the memory of this process. Otherwise `Storage` puts it into a
        file or, with a Dask cluster, leaves it on the workers.
    max_selected : int or None
        Bytes of rows that may be brought into memory at once; None for any number.
    total_bytes : int or None
        All that is counted, at its peak; None if there is no limit.
    left_bytes : int or None
        What the limit leaves for a certificate beside all that is counted, at least a 32nd of it;
        None if there is no limit.
    """

    block_bytes: int = BLOCK_BYTES
    sketch_in_memory: bool = True
    max_selected: int | None = None
    total_bytes: int | None = None
    left_bytes: int | None = None


def plan_memory(
    limit: int | str | None,
    sizes: Sizes,
    approach: Approach,
    *,
    stored: bool,
    distant: bool = False,
    keeps_rows: bool = False,
    spherical: bool = False,
    needs_all: bool = False,
) -> MemoryPlan:
    """Return what keeps a fit within a limit; raise if nothing does.

    Parameters
    ----------
    limit : int, str or None
        As `parse_memory` takes it.
    sizes : Sizes
        Of the job.
    approach : Approach
        What the fit does.
    stored : bool
        Whether rows are read block by block, rather than in memory already.
    distant : bool
        Whether Dask computes rows. Without a limit, their sketch may then take half of the memory
        that is available here.
    keeps_rows : bool
        Whether there is a cluster, whose workers can keep the sketch and all that has an entry for
        each row. A sketch of more than 64 MB then stays with them.
    spherical : bool
        Whether rows are brought to length one.
    needs_all : bool
        Whether something needs all rows at once.

    Examples
    --------
    >>> from projected_kmeans.planning.approach import Settings, choose_approach
    >>> sizes = Sizes(10**6, 1024, 100, 4)
    >>> approach = choose_approach(Settings(100, projection="sign", n_components=100), sizes)
    >>> plan_memory("2GB", sizes, approach, stored=True).sketch_in_memory
    True
    >>> plan_memory("500MB", sizes, approach, stored=True).sketch_in_memory
    False
    """
    allowed = parse_memory(limit)
    counted = count_bytes(sizes, approach)
    stays = keeps_rows and counted.sketch > MAX_SKETCH_BYTES
    if allowed is None:
        fits = not distant or 2 * counted.sketch <= available_memory()
        return MemoryPlan(sketch_in_memory=fits and not stays)
    # The sketch stays in memory if the limit is twice what it takes with the state of its rows.
    is_projected = approach.projection is not None
    sketch_and_state = counted.sketch + STATE_BYTES_PER_ROW * sizes.n_rows
    roomy = 2 * sketch_and_state if is_projected else 0
    in_memory = allowed >= roomy and not stays
    if keeps_rows and works_there(approach) and not (is_projected and in_memory):
        counted = replace(counted, state=0)
    selected = count_selected_bytes(sizes, approach, stored=stored, needs_all=needs_all)
    demand = _Demand(
        counted,
        selected=selected * (2 if spherical else 1),
        min_block=0 if distant else max(MIN_BLOCK_BYTES, sizes.data_bytes // sizes.n_rows),
        reads_rows=stored and not distant,
        reads_sketch=not distant,
        blocks_held=BLOCKS_HELD + spherical,
    )
    if allowed < demand.minimum(in_memory):
        in_file = _megabytes(demand.minimum(False))
        needed = in_file if in_file * 10**6 < roomy else _megabytes(demand.minimum(True))
        raise ValueError(
            f"memory_limit={limit!r} is too small for {sizes.n_rows} rows of {sizes.n_columns} "
            f"columns and {sizes.n_clusters} clusters; use at least '{needed}MB'"
        )
    block_bytes = demand.choose_block(allowed, in_memory)
    total_bytes = demand.peak(block_bytes, in_memory)
    return MemoryPlan(
        block_bytes,
        in_memory,
        max_selected=allowed - counted.tables - 2 * demand.min_block,
        total_bytes=total_bytes,
        left_bytes=max(allowed - total_bytes, allowed // 32),
    )


def works_there(approach: Approach) -> bool:
    """Return whether nothing with an entry for each row comes from the workers of a cluster.

    Seeding on all rows, single-point moves, breathing and limits of sizes bring such arrays.
    """
    known = approach.solver in ("lloyd", "cells") and approach.subsample_rows > 0
    return known and not approach.limits_sizes


def plan_labels(
    limit: int | str | None, n_rows: int, n_columns: int, n_clusters: int
) -> MemoryPlan:
    """Return what keeps the labelling of rows within a limit; raise if nothing does.

    Counted are 4 bytes a label, four tables of centers in float64, and the blocks.
    """
    allowed = parse_memory(limit)
    if allowed is None:
        return MemoryPlan()
    steady = 4 * n_rows + 4 * 8 * n_clusters * n_columns
    minimum = steady + (BLOCKS_HELD + 1) * max(MIN_BLOCK_BYTES, 8 * n_columns)
    if minimum > allowed:
        raise ValueError(
            f"memory_limit={limit!r} is too small to label {n_rows} rows of {n_columns} columns; "
            f"use at least '{_megabytes(minimum)}MB'"
        )
    return MemoryPlan(min(BLOCK_BYTES, (allowed - steady) // (BLOCKS_HELD + 1)))


@dataclass(frozen=True)
class _Demand:
    """What a fit takes at a time, in bytes, for blocks of any size.

    The peak is either while a map learns from the selected rows, or later, while Lloyd's method
    holds the sketch and a few blocks.
    """

    counted: FitBytes
    selected: int
    min_block: int
    reads_rows: bool
    reads_sketch: bool
    blocks_held: int

    def minimum(self, sketch_in_memory: bool) -> int:
        """Return what a fit takes with the smallest blocks."""
        return self.peak(self.min_block, sketch_in_memory)

    def peak(self, block_bytes: int, sketch_in_memory: bool) -> int:
        """Return what a fit takes with blocks of this size."""
        clustering = self._steady(sketch_in_memory) + self._held(sketch_in_memory) * block_bytes
        learning = self.counted.tables + self.selected + 2 * self.min_block
        return max(clustering, learning)

    def choose_block(self, allowed: int, sketch_in_memory: bool) -> int:
        """Return the largest block that a limit allows, at most the usual one."""
        room = allowed - self._steady(sketch_in_memory)
        return min(BLOCK_BYTES, room // max(1, self._held(sketch_in_memory)))

    def _steady(self, sketch_in_memory: bool) -> int:
        return self.counted.total - (0 if sketch_in_memory else self.counted.sketch)

    def _held(self, sketch_in_memory: bool) -> int:
        """Return how many blocks are in memory at a time."""
        reads = self.reads_rows or (self.reads_sketch and not sketch_in_memory)
        return self.blocks_held if reads else 0


def _megabytes(size: float) -> int:
    return math.ceil(size / 10**6)

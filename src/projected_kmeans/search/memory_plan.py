"""PLAN: the bytes that a fit takes, and what has to be small so that it stays within a limit.

Counts from sizes; the only count there is. No result depends on it, only time and memory do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.stored_blocks import BLOCKS_HELD
from projected_kmeans.projections.hashed_columns import count_hashed_columns
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.projections.spectral import LOSS_ROWS, count_sample_rows
from projected_kmeans.search.approach import Approach, choose_approach, count_largest
from projected_kmeans.search.kmeans_plus_plus import MIN_CLUSTERS, SEEDING_COLUMNS, count_held_rows
from projected_kmeans.search.settings import Settings, Sizes, limits_sizes, parse_memory
from projected_kmeans.search.swaps import choose_split_rows
from projected_kmeans.sources.memory import available_memory

# Blocks have at least 1 MiB, because smaller ones would spend most of the time on reading.
MIN_BLOCK_BYTES = 2**20

# A sketch of up to 64 MiB comes from the workers of a cluster to the client, where a pass takes
# less time than it takes to ask the workers.
MAX_SKETCH_BYTES = 2**26

# Bytes of a row beside its sketch: three sets of labels, bounds, and distances while they are made;
# its weight, which is counted even if no weights are given; its list of near centers, for sparse
# rows that meet few centers; its distance to a center, where clusters keep limits of their sizes (a
# block of distances is there twice).
STATE_BYTES_PER_ROW, WEIGHT_BYTES, LISTED_BYTES, LIMITED_BYTES = 64, 8, 4, 8

# Sets of k centers with d float64 entries, and of their sums. Wide sparse rows in memory take about
# 3 sets, because they are summed a few clusters at a time; stored ones take 8.
CENTER_SETS = 8

# Arrays of k centers in the sketch while every cluster is divided into two, float64.
SKETCH_CENTER_SETS = 16

# Bytes of an entry while starts are searched inside a kernel: of the rows scaled, and as they were
# read. Bytes of a row beside them: two partitions with their distances, and those to draws.
KERNEL_BYTES, KERNEL_ROW_BYTES = 16, 100

# Matrices of d rows, as wide as the sign sketch, that exist at a time while directions are found.
DIRECTION_MATRICES = 3


class FitBytes(NamedTuple):
    """Bytes that a fit takes beyond the rows themselves; their sum if the sketch is in memory."""

    tables: int  # centers in the original space, their sums, and matrices to find directions
    state: int  # what is kept of every row, and weights
    sketch: int  # that of all rows; of sparse rows without a map, the sketch to seed on
    subsample: int  # the largest sample of the sketch with its state; rows seeded or divided


def count_bytes(sizes: Sizes, approach: Approach, n_components: int, *, limited: bool) -> FitBytes:
    """Return the bytes that an approach takes with a sketch of so many columns."""
    n, d, k, t = sizes.n_rows, sizes.n_columns, sizes.n_clusters, n_components
    itemsize = sizes.sketch_itemsize
    row_bytes = STATE_BYTES_PER_ROW + WEIGHT_BYTES
    if sizes.sparse:
        row_bytes += LISTED_BYTES * approach.n_near
    if limited:
        row_bytes += LIMITED_BYTES * k
    sketch_columns, directions = t, 0
    if approach.projection is not None:
        directions = _count_direction_bytes(sizes, approach, t)
    else:
        sketch_columns = min(SEEDING_COLUMNS, d) if sizes.sparse else 0
    swapped = 8 * SKETCH_CENTER_SETS * k * t if approach.swap_rounds else 0
    copied = max(approach.level_rows[:-1], default=0)
    if k >= MIN_CLUSTERS:
        copied = max(copied, count_held_rows(n, k))
    if approach.swap_rounds:
        copied = max(copied, len(choose_split_rows(n, k)))
    subsample = copied * (t * itemsize + STATE_BYTES_PER_ROW)
    if approach.in_kernel:
        rows = approach.level_rows[0]
        subsample = max(subsample, rows * (KERNEL_BYTES * t + KERNEL_ROW_BYTES))
    return FitBytes(
        tables=8 * d * CENTER_SETS * k + directions + swapped,
        state=n * row_bytes,
        sketch=n * sketch_columns * itemsize,
        subsample=subsample,
    )


def _count_direction_bytes(sizes: Sizes, approach: Approach, t: int) -> int:
    """Return the bytes of the matrices that find directions, and of dense rows that are hashed.

    Other maps than principal directions need no matrices; they are counted all the same.
    """
    n_columns, n_hashed = sizes.n_columns, 0
    if approach.projection == "svd":
        n_hashed = count_hashed_columns(n_columns, approach.n_components, sparse=sizes.sparse)
        n_columns = n_hashed or n_columns
    hashed_rows = 0 if sizes.sparse else count_sample_rows(sizes.n_rows, t) + LOSS_ROWS
    matrices = 8 * n_columns * DIRECTION_MATRICES * sketch_width(t, n_columns)
    return matrices + hashed_rows * n_hashed * sizes.sketch_itemsize


def _count_selected_bytes(sizes: Sizes, approach: Approach, t: int, *, needs_all: bool) -> int:
    """Return the bytes of rows that are in memory at once, mostly to learn a map.

    Rows that are in memory anyway, because they are not stored, are not counted.
    """
    all_rows = sizes.data_bytes if sizes.stored else 0
    if needs_all or approach.projection in ("columns", "transformer"):
        return all_rows
    if approach.projection != "svd":
        return 0
    n_sampled, n_columns = count_sample_rows(sizes.n_rows, t), sizes.n_columns
    if not sizes.sparse and count_hashed_columns(n_columns, approach.n_components, sparse=False):
        return 0  # dense rows are hashed a block at a time
    if n_sampled == sizes.n_rows:
        return all_rows
    return (n_sampled + LOSS_ROWS) * sizes.data_bytes // sizes.n_rows


@dataclass(frozen=True)
class MemoryPlan:
    """What a fit takes, and what keeps it within its limit.

    A sketch that does not stay in the memory of this process lies in a file or, with a Dask
    cluster, on the workers.
    """

    block_bytes: int = BLOCK_BYTES
    sketch_in_memory: bool = True
    max_selected: int | None = None  # bytes of rows that may be brought into memory at once
    # What a fit takes beyond its rows; with a limit, all that counts against it, at its peak.
    total_bytes: int = 0
    left_bytes: int | None = None  # what is left for a certificate, at least a 32nd of the limit


def plan_memory(
    settings: Settings,
    sizes: Sizes,
    *,
    needs_all: bool = False,
) -> MemoryPlan:
    """Return what keeps a fit within its limit of memory; raise if nothing does.

    Without a limit, the sketch of distant rows may take half of the memory that is available here.
    If the workers of a cluster can keep the sketch and all that has an entry for each row, a sketch
    of more than 64 MiB stays with them. ``needs_all`` says that something needs all rows at once.
    """
    approach, limited = choose_approach(settings, sizes), limits_sizes(settings)
    stored, distant, keeps_rows = sizes.stored, sizes.distant, sizes.keeps_rows
    usual = sum(count_bytes(sizes, approach, approach.n_components, limited=limited))
    if settings.memory_limit is None and not (distant or keeps_rows):
        return MemoryPlan(total_bytes=usual)
    allowed, t = parse_memory(settings.memory_limit), count_largest(settings, sizes)
    counted = count_bytes(sizes, approach, t, limited=limited)
    stays = keeps_rows and counted.sketch > MAX_SKETCH_BYTES
    if allowed is None:
        fits = not distant or 2 * counted.sketch <= available_memory()
        return MemoryPlan(sketch_in_memory=fits and not stays, total_bytes=usual)
    # The sketch stays in memory if the limit is twice what it takes with the state of its rows.
    is_projected = approach.projection is not None
    roomy = 2 * is_projected * (counted.sketch + STATE_BYTES_PER_ROW * sizes.n_rows)
    in_memory = allowed >= roomy and not stays
    if keeps_rows and works_there(settings, approach) and not (is_projected and in_memory):
        counted = counted._replace(state=0)
    spherical = settings.metric == "cosine"
    min_block = 0 if distant else max(MIN_BLOCK_BYTES, sizes.data_bytes // sizes.n_rows)
    selected = _count_selected_bytes(sizes, approach, t, needs_all=needs_all)
    # The peak is either while a map learns from the selected rows, or later, while the search holds
    # a few blocks, and the sketch if that is in memory (index 1) and not in a file (index 0).
    learning = counted.tables + selected * (2 if spherical else 1) + 2 * min_block
    steady = sum(counted) - counted.sketch, sum(counted)
    n_blocks = 0 if distant else BLOCKS_HELD + spherical
    held = n_blocks, n_blocks if stored else 0
    minimum = [max(steady[place] + held[place] * min_block, learning) for place in (0, 1)]
    if allowed < minimum[in_memory]:
        needed = math.ceil(minimum[0] / 10**6)
        if needed * 10**6 >= roomy:
            needed = math.ceil(minimum[1] / 10**6)
        raise ValueError(
            f"memory_limit={settings.memory_limit!r} is too small for {sizes.n_rows} rows of "
            f"{sizes.n_columns} columns and {sizes.n_clusters} clusters; use at least '{needed}MB'"
        )
    block_bytes = min(BLOCK_BYTES, (allowed - steady[in_memory]) // max(1, held[in_memory]))
    total_bytes = max(steady[in_memory] + held[in_memory] * block_bytes, learning)
    max_selected = allowed - counted.tables - 2 * min_block
    left_bytes = max(allowed - total_bytes, allowed // 32)
    return MemoryPlan(block_bytes, in_memory, max_selected, int(total_bytes), left_bytes)


def works_there(settings: Settings, approach: Approach) -> bool:
    """Return whether nothing with an entry for each row comes from the workers of a cluster.

    Seeding on all rows, single-point moves and limits of sizes bring such arrays.
    """
    many = approach.solver == "lloyd" and len(approach.level_rows) > 1
    return (many or approach.n_near > 0) and not limits_sizes(settings)


def size_label_blocks(limit: int | str, n_rows: int, n_columns: int, n_clusters: int) -> int:
    """Return the bytes of blocks that keep the labelling of rows within a limit; raise if none do.

    Counted are 4 bytes a label, four tables of centers in float64, and the blocks.
    """
    allowed = parse_memory(limit) or 0
    steady = 4 * n_rows + 4 * 8 * n_clusters * n_columns
    minimum = steady + (BLOCKS_HELD + 1) * max(MIN_BLOCK_BYTES, 8 * n_columns)
    if minimum > allowed:
        raise ValueError(
            f"memory_limit={limit!r} is too small to label {n_rows} rows of {n_columns} columns; "
            f"use at least '{math.ceil(minimum / 10**6)}MB'"
        )
    return min(BLOCK_BYTES, (allowed - steady) // (BLOCKS_HELD + 1))

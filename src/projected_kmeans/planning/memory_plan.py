"""PLAN: how much memory a fit may take, and what has to be small for that.

Counts bytes by sizes alone; it opens nothing but what the system says of its memory.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from projected_kmeans.blocks.memory_blocks import BLOCK_BYTES
from projected_kmeans.blocks.stored_blocks import BLOCKS_HELD
from projected_kmeans.checks import check_count
from projected_kmeans.planning.approach import Approach, Sizes
from projected_kmeans.projections.spectral import LOSS_ROWS, MIN_SAMPLE, SAMPLE_A_DIRECTION
from projected_kmeans.solvers.seeding import count_seeding_columns

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}

# What Lloyd's method keeps of a row: labels and those before, bounds, distances in the making.
STATE_A_ROW = 60

# Of every row, whether it was given or not.
WEIGHT_BYTES = 8

# Blocks are no smaller, so that reading is not all that is done.
LEAST_BLOCK = 2**20

# Sets of centers and their sums, where one partition is lifted and where several are.
SETS_OF_CENTERS, SETS_OF_FINALISTS = 8, 24


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
    most_selected : int or None
        Bytes of rows that may be brought into memory at once; None for any number.
    total_bytes : int or None
        All that is counted, at its peak; None where there is no limit.
    """

    block_bytes: int = BLOCK_BYTES
    sketch_in_memory: bool = True
    most_selected: int | None = None
    total_bytes: int | None = None


def parse_memory(limit: Any) -> int | None:
    """Return a limit in bytes, or None where there is none.

    Parameters
    ----------
    limit : int, str or None
        Bytes, or a number with a unit: "500MB" are 500 * 10**6 bytes, "2GiB" are 2 * 2**30.

    Examples
    --------
    >>> parse_memory("1.5 GB"), parse_memory("64KiB"), parse_memory(None)
    (1500000000, 65536, None)
    """
    if limit is None:
        return None
    if not isinstance(limit, str):
        check_count("memory_limit", limit)
        return int(limit)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", limit, re.IGNORECASE)
    if found is None or found[2].upper() not in UNITS or not float(found[1]) > 0:
        raise ValueError(
            f"memory_limit={limit!r} is not a size; use bytes or a text such as '500MB' or '2GiB'"
        )
    return int(float(found[1]) * UNITS[found[2].upper()])


def plan_memory(
    limit: Any,
    sizes: Sizes,
    approach: Approach,
    *,
    stored: bool,
    distant: bool = False,
    spherical: bool = False,
    needs_all: bool = False,
) -> MemoryPlan:
    """Return what keeps a fit within a limit; raise where nothing does.

    Parameters
    ----------
    limit : int, str or None
        As `parse_memory` takes it.
    sizes : Sizes
        Of the job.
    approach : Approach
        What is to be done.
    stored : bool
        Whether rows are read block by block, rather than in memory already.
    distant : bool
        Whether rows lie elsewhere; without a limit, their sketch may then take half of the memory
        that is available here.
    spherical : bool
        Whether rows are brought to length one.
    needs_all : bool
        Whether something asks for all rows at once.

    Examples
    --------
    >>> from projected_kmeans.planning.approach import choose_effort
    >>> sizes = Sizes(10**6, 1024, 100, 4)
    >>> way = choose_effort(sizes, "sign", 100, "")
    >>> plan_memory("2GB", sizes, way, stored=True).sketch_in_memory
    True
    >>> plan_memory("500MB", sizes, way, stored=True).sketch_in_memory
    False
    """
    bytes_allowed = parse_memory(limit)
    if bytes_allowed is None:
        spilled = distant and 2 * _sketch_bytes(sizes, approach) > available_memory()
        return MemoryPlan(sketch_in_memory=not spilled)
    selected = _selected_bytes(sizes, approach, stored, needs_all) * (2 if spherical else 1)
    state = sizes.n_rows * (STATE_A_ROW + 2 * approach.polish_candidates + WEIGHT_BYTES)
    tables, sketch = _table_bytes(sizes, approach), _sketch_bytes(sizes, approach)
    block = 0 if distant else max(LEAST_BLOCK, sizes.data_bytes // sizes.n_rows)

    def steady(spilled: bool) -> int:
        kept = 0 if spilled else sketch
        return tables + state + kept + _rehearsal_bytes(sizes, approach)

    def held(spilled: bool) -> int:
        return (BLOCKS_HELD + spherical) * ((stored or spilled) and not distant)

    def least(spilled: bool) -> int:
        return max(steady(spilled) + held(spilled) * block, tables + selected + 2 * block)

    # From here on the sketch stays in memory.
    roomy = 2 * (sketch + STATE_A_ROW * sizes.n_rows) if approach.projection is not None else 0
    spilled = bytes_allowed < roomy
    if bytes_allowed < least(spilled):
        spilling = _megabytes(least(True))
        needed = spilling if spilling * 10**6 < roomy else _megabytes(least(False))
        raise ValueError(
            f"memory_limit={limit!r} is too small for {sizes.n_rows} rows of {sizes.n_columns} "
            f"columns and {sizes.n_clusters} clusters; use at least '{needed}MB'"
        )
    room = bytes_allowed - steady(spilled)
    block_bytes = min(BLOCK_BYTES, room // max(1, held(spilled)))
    peak = max(steady(spilled) + held(spilled) * block_bytes, tables + selected + 2 * block)
    return MemoryPlan(block_bytes, not spilled, bytes_allowed - tables - 2 * block, peak)


def available_memory() -> float:
    """Return the bytes of memory that are free or can be made free; infinity where unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 2**10
    except (OSError, StopIteration):  # not on every system
        return math.inf


def plan_labels(limit: Any, n_rows: int, n_columns: int, n_clusters: int) -> MemoryPlan:
    """Return what keeps the labelling of rows within a limit; raise where nothing does."""
    bytes_allowed = parse_memory(limit)
    if bytes_allowed is None:
        return MemoryPlan()
    steady = 4 * n_rows + 8 * 4 * n_clusters * n_columns
    least = steady + (BLOCKS_HELD + 1) * max(LEAST_BLOCK, 8 * n_columns)
    if least > bytes_allowed:
        raise ValueError(
            f"memory_limit={limit!r} is too small to label {n_rows} rows of {n_columns} columns; "
            f"use at least '{_megabytes(least)}MB'"
        )
    return MemoryPlan(min(BLOCK_BYTES, (bytes_allowed - steady) // (BLOCKS_HELD + 1)))


def _sketch_bytes(sizes: Sizes, approach: Approach) -> int:
    itemsize = 8 if sizes.itemsize == 8 else 4
    if approach.projection is not None:
        return sizes.n_rows * approach.n_components * itemsize
    if sizes.n_nonzeros is None:
        return 0
    return sizes.n_rows * count_seeding_columns(sizes.n_columns) * itemsize


def _table_bytes(sizes: Sizes, approach: Approach) -> int:
    """Return the bytes of centers, their sums, and what finding directions takes."""
    finalists = approach.n_init > 1 and not approach.subsample_rows
    sets = SETS_OF_FINALISTS if finalists else SETS_OF_CENTERS
    width = 0 if approach.projection is None else 2 * approach.n_components
    return 8 * sizes.n_columns * (sets * sizes.n_clusters + 3 * width)


def _rehearsal_bytes(sizes: Sizes, approach: Approach) -> int:
    itemsize = 8 if sizes.itemsize == 8 else 4
    return approach.subsample_rows * (approach.n_components * itemsize + STATE_A_ROW)


def _selected_bytes(sizes: Sizes, approach: Approach, stored: bool, needs_all: bool) -> int:
    """Return the bytes of rows that are in memory at once to learn a map, or for others."""
    all_rows = sizes.data_bytes if stored else 0  # rows in memory are there anyway
    if needs_all or approach.projection in ("columns", "transformer"):
        return all_rows
    if approach.projection != "svd":
        return 0
    wanted = max(MIN_SAMPLE, SAMPLE_A_DIRECTION * approach.n_components)
    if 2 * wanted > sizes.n_rows:
        return all_rows
    return (wanted + LOSS_ROWS) * sizes.data_bytes // sizes.n_rows


def _megabytes(size: float) -> int:
    return math.ceil(size / 10**6)

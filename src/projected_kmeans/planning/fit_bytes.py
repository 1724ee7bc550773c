"""How many bytes a fit takes beyond the rows: the only count, for memory limit and forecast."""

from __future__ import annotations

from dataclasses import dataclass

from projected_kmeans.planning.approach import Approach
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.projections.direction_sample import LOSS_ROWS, count_sample_rows
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.solvers.seeding import count_seeding_columns
from projected_kmeans.solvers.swaps import count_split_rows

# Bytes of a row beside its sketch: two sets of labels, bounds, and distances while they are made.
STATE_BYTES_PER_ROW = 60

# Bytes of a row's weight. They are counted even if no weights are given.
WEIGHT_BYTES = 8

# Bytes of a row's entry in the list of one candidate of the polish passes.
CANDIDATE_BYTES = 2

# Bytes of a row's distance to one center, where clusters keep limits of their sizes. A block of
# distances is there twice.
LIMITED_BYTES = 8

# Sets of k centers with d float64 entries, and of their sums: if one partition is lifted, and if
# several finalists are lifted together, as those of dense rows are. Wide sparse rows in memory take
# about 3 sets, because they are summed a few clusters at a time; stored ones take 8.
CENTER_SETS, FINALIST_CENTER_SETS = 8, 24

# Arrays of k centers in the sketch that the solver "cells" has at a time, float64: it divides every
# cluster into two. They are counted also for fits that take it only if tails are heavy.
CELL_CENTER_SETS = 16

# Bytes of an entry while restarts run inside a kernel: of the rows scaled, and as they were read.
# Bytes of a row beside them: two partitions with their distances, and those to draws.
SCOUT_BYTES, SCOUT_ROW_BYTES = 16, 100

# Matrices of d rows, as wide as the sign sketch, that exist at a time while directions are found.
DIRECTION_MATRICES = 3


@dataclass(frozen=True)
class FitBytes:
    """Bytes that a fit takes beyond the rows themselves.

    Attributes
    ----------
    tables : int
        Centers in the original space, their sums, and matrices to find directions.
    state : int
        What Lloyd's method keeps of every row, and weights.
    sketch : int
        The sketch of all rows; of sparse rows that are not projected, the sketch to seed on.
    subsample : int
        The sketch and the state of the subsample on which restarts compete. For the solver "cells",
        copies of the rows that take part in seeding, or in dividing clusters; for restarts inside a
        kernel, of all rows.
    """

    tables: int
    state: int
    sketch: int
    subsample: int

    @property
    def total(self) -> int:
        """All of it, if the sketch stays in memory."""
        return self.tables + self.state + self.sketch + self.subsample


def count_bytes(sizes: Sizes, approach: Approach) -> FitBytes:
    """Return the bytes that an approach takes.

    Examples
    --------
    >>> from projected_kmeans.planning.approach import Settings, choose_approach
    >>> sizes = Sizes(90_000, 784, 100, 4)
    >>> count_bytes(sizes, choose_approach(Settings(100), sizes))
    FitBytes(tables=8245248, state=6120000, sketch=23040000, subsample=8089600)
    """
    n, d, itemsize = sizes.n_rows, sizes.n_columns, sizes.sketch_itemsize
    row_bytes = STATE_BYTES_PER_ROW + WEIGHT_BYTES
    in_cells = approach.solver == "cells"
    if sizes.sparse or not in_cells:
        row_bytes += CANDIDATE_BYTES * approach.polish_candidates
    if approach.limits_sizes:
        row_bytes += LIMITED_BYTES * sizes.n_clusters
    sketch_columns, directions = approach.n_components, 0
    if approach.projection is not None:
        directions = _count_direction_bytes(sizes, approach)
    else:
        sketch_columns = count_seeding_columns(d) if sizes.sparse else 0
    restarts_on_all = approach.n_init > 1 and not (approach.subsample_rows or approach.scouts)
    lifts_finalists = restarts_on_all and not sizes.sparse
    center_sets = FINALIST_CENTER_SETS if lifts_finalists else CENTER_SETS
    tables = 8 * d * center_sets * sizes.n_clusters + directions
    if in_cells or approach.watches_tails:
        tables += 8 * CELL_CENTER_SETS * sizes.n_clusters * approach.n_components
    # Rows of a sketch that all take part in seeding are copied once, drawn ones twice.
    copies = 2 if in_cells and approach.subsample_rows < n else 1
    held = approach.subsample_rows
    subsample = held * (copies * approach.n_components * itemsize + STATE_BYTES_PER_ROW)
    if in_cells:
        split = count_split_rows(n, sizes.n_clusters) * approach.n_components * itemsize
        subsample = max(subsample, split)
    if approach.scouts:
        subsample = n * (SCOUT_BYTES * approach.n_components + SCOUT_ROW_BYTES)
    return FitBytes(
        tables=tables,
        state=n * row_bytes,
        sketch=n * sketch_columns * itemsize,
        subsample=subsample,
    )


def _count_direction_bytes(sizes: Sizes, approach: Approach) -> int:
    """Return the bytes of the matrices that find directions, and of dense rows that are hashed.

    Other maps than principal directions need no matrices; they are counted all the same.
    """
    t, n_hashed = approach.n_components, _count_hashed(sizes, approach)
    n_columns = n_hashed or sizes.n_columns
    hashed_rows = 0 if sizes.sparse else count_sample_rows(sizes.n_rows, t) + LOSS_ROWS
    matrices = 8 * n_columns * DIRECTION_MATRICES * sketch_width(t, n_columns)
    return matrices + hashed_rows * n_hashed * sizes.sketch_itemsize


def _count_hashed(sizes: Sizes, approach: Approach) -> int:
    """Return to how many columns the map of an approach hashes all columns; 0 for no hashing."""
    return sizes.count_hashed_columns(approach.n_components) if approach.projection == "svd" else 0


def count_selected_bytes(sizes: Sizes, approach: Approach, *, stored: bool, needs_all: bool) -> int:
    """Return the bytes of rows that are in memory at once, mostly to learn a map.

    Parameters
    ----------
    sizes : Sizes
        Of the job.
    approach : Approach
        What the fit does.
    stored : bool
        Whether rows are read block by block. Rows that are in memory anyway are not counted.
    needs_all : bool
        Whether something else, such as a certificate, needs all rows at once.
    """
    all_rows = sizes.data_bytes if stored else 0
    if needs_all or approach.projection in ("columns", "transformer"):
        return all_rows
    if approach.projection != "svd":
        return 0
    n_sampled = count_sample_rows(sizes.n_rows, approach.n_components)
    if _count_hashed(sizes, approach) and not sizes.sparse:
        return 0  # dense rows are hashed a block at a time
    if n_sampled == sizes.n_rows:
        return all_rows
    return (n_sampled + LOSS_ROWS) * sizes.data_bytes // sizes.n_rows

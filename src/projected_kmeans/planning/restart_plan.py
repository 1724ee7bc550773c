"""How many restarts there are, and on how many rows they compete.

Decides from sizes alone, so that the same call does the same work on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

from projected_kmeans.planning.sizes import Sizes

# Up to RESTARTS_WORK a fit can afford three restarts on all rows.
RESTARTS_WORK = 1e9

# Restarts compete on a subsample of 256 rows a cluster, at least 4,096 rows, if that is at most a
# third of all rows. On digits and a mixture the best of three then ends 0.1 to 0.3 % below one run
# on all rows.
SUBSAMPLE_ROWS_PER_CLUSTER = 256
MIN_SUBSAMPLE_ROWS = 4096
# If rows are fewer and three restarts on all rows are too much work, a single run starts on a third
# of the rows, because badly placed centers are cheaper to repair there. It needs 24 rows a cluster.
MIN_SUBSAMPLE_ROWS_PER_CLUSTER = 24

# Restarts: 3 by default, up to 8 if there are many subsamples' worth of rows.
DEFAULT_RESTARTS, MAX_RESTARTS = 3, 8


class Restarts(NamedTuple):
    """How many restarts there are, and on how many rows they compete; 0 for all rows."""

    n_init: int
    subsample_rows: int


def choose_restarts(sizes: Sizes, work: float) -> Restarts:
    """Return the restarts of a fit whose first centers are drawn."""
    n, k = sizes.n_rows, sizes.n_clusters
    subsample = max(MIN_SUBSAMPLE_ROWS, SUBSAMPLE_ROWS_PER_CLUSTER * k)
    if 3 * subsample <= n:
        return Restarts(min(MAX_RESTARTS, max(DEFAULT_RESTARTS, n // subsample)), subsample)
    if work <= RESTARTS_WORK:
        return Restarts(DEFAULT_RESTARTS, 0)
    third = n // 3
    return Restarts(1, third if third >= MIN_SUBSAMPLE_ROWS_PER_CLUSTER * k else 0)

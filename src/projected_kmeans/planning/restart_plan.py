"""How many restarts there are, and on how many rows they compete.

Decides from sizes alone, so that the same call does the same work on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

from projected_kmeans.planning.sizes import Sizes

# Restarts compete on a subsample of 256 rows a cluster, at least 4,096 rows, or on a third of all
# rows if that is not below half of it. Beside three restarts on all rows that ends .03 to .06 %
# higher on digits and word vectors, in half of the time.
SUBSAMPLE_ROWS_PER_CLUSTER = 256
MIN_SUBSAMPLE_ROWS = 4096

# Restarts on a subsample: 3, and up to 8 if there are many subsamples' worth of rows, but 2 from 43
# clusters on, and one from 65 on. Breathing mends the best of them. With many clusters it mends
# any: over 8 keys of digits, two in place of three at k = 64 end .01 % lower, and one in place of
# two at k = 100 ends .001 % higher.
MAX_RESTARTS, RESTARTED_CLUSTERS = 8, 128

# With fewer rows a cluster, up to RESTARTS_WORK a fit can afford three restarts on all rows.
RESTARTS_WORK, DEFAULT_RESTARTS = 2e8, 3
# Beyond that a single run starts on a third of the rows, because badly placed centers are cheaper
# to repair there. It needs 24 rows a cluster.
MIN_SUBSAMPLE_ROWS_PER_CLUSTER = 24


class Restarts(NamedTuple):
    """How many restarts there are, and on how many rows they compete; 0 for all rows."""

    n_init: int
    subsample_rows: int


def choose_restarts(sizes: Sizes, work: float) -> Restarts:
    """Return the restarts of a fit whose first centers are drawn."""
    n, k = sizes.n_rows, sizes.n_clusters
    enough = max(MIN_SUBSAMPLE_ROWS, SUBSAMPLE_ROWS_PER_CLUSTER * k)
    third = n // 3
    if third >= max(MIN_SUBSAMPLE_ROWS, enough // 2):
        n_drawn = min(enough, third)
        n_init = min(MAX_RESTARTS, max(DEFAULT_RESTARTS, n // n_drawn), RESTARTED_CLUSTERS // k)
        return Restarts(max(1, n_init), n_drawn)
    if work <= RESTARTS_WORK:
        return Restarts(DEFAULT_RESTARTS, 0)
    return Restarts(1, third if third >= MIN_SUBSAMPLE_ROWS_PER_CLUSTER * k else 0)

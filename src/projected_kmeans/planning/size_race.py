"""How many starts compete if clusters have limits of their sizes, and on how many rows.

Of few rows and clusters, 8 starts compete on a subsample and 2 go on. With many clusters, the last
percent of a subsample says nothing about all rows: of 20,000 rows in 50 clusters, what won on 5,000
rows ended 0.2 % above what the free partition led to. There only that one is a start. It begins on
the subsample all the same: it ends 0.2 % lower, in the mean over six keys, and takes no longer.
"""

from __future__ import annotations

# Starts compete up to this many rows times clusters.
MAX_RACE_WORK = 500_000

# Starts with that of the free partition, and how many go on with all rows.
N_STARTS, N_FINALISTS = 8, 2

# Rows of the subsample for each cluster, and at least; all rows if that exceeds half of them.
RACE_ROWS_PER_CLUSTER, MIN_RACE_ROWS = 100, 2000


def count_starts(n_rows: int, n_clusters: int) -> int:
    """Return how many starts compete; 1 if none does."""
    return N_STARTS if n_rows * n_clusters <= MAX_RACE_WORK else 1


def count_race_rows(n_rows: int, n_clusters: int) -> int:
    """Return on how many rows starts compete.

    Examples
    --------
    >>> count_race_rows(10_000, 10), count_race_rows(3_000, 10)
    (2000, 3000)
    """
    some = max(MIN_RACE_ROWS, RACE_ROWS_PER_CLUSTER * n_clusters)
    return some if 2 * some <= n_rows else n_rows

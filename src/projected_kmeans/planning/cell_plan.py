"""When and how very many clusters are found in cells: the solver "cells".

Decides from sizes alone, so that the same call does the same work on every machine.
"""

from __future__ import annotations

from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes

# From this many clusters on, and with at least this many rows a cluster, cells are faster than
# Lloyd's method over all centers, and end at a lower inertia.
MIN_CELL_CLUSTERS, MIN_ROWS_PER_CLUSTER = 500, 4

# Rows that take part in the race for first centers: 128 a cluster, at least 2^17 and at most 2^21,
# which have 512 MB in 64 columns of float32.
HELD_ROWS_PER_CLUSTER, MIN_HELD_ROWS, MAX_HELD_ROWS = 128, 2**17, 2**21

# The passes stop if one lowers the inertia by less than this share. They look ahead of the means,
# which ends .25 % (k = 500) and .4 % lower (1000) on digits in two thirds of the passes, and .02 to
# .2 % lower on trees, noise and heavy tails.
CELL_INERTIA_TOL = 2e-4

# Centers that a polish pass looks at: those around the row's cluster, which cost less than those
# around the row itself.
CELL_POLISH_CANDIDATES = 32

# If these turn out to miss the nearest centers of many rows, as in noise and among word vectors,
# polish passes look at more: at 256 of up to 4,096 clusters, where a pass is cheap, else at 128.
FEW_CLUSTERS, WIDE_OF_FEW, WIDE_OF_MANY = 4096, 256, 128

# Tails are looked for in up to this many rows, because swaps then begin at centers that are drawn
# from all rows, which takes 28 bytes a row in this process.
MAX_WATCHED_ROWS = 10**8

# Rows with heavy tails are searched in the original space if they have at most this many columns,
# and 2^28 numbers in all: on values of a t(2) distribution (40,000 x 250, k = 40) that ends 5 %
# below a search of the sketch, and 1 % below scikit-learn's, in 1.6 times the time of the former.
MAX_TAIL_COLUMNS, MAX_TAIL_NUMBERS = 1024, 2**28


def takes_cells(settings: Settings, sizes: Sizes, projection: str | None) -> bool:
    """Return whether a fit finds its clusters in cells.

    Parameters
    ----------
    settings : Settings
        What the caller fixed. Cells draw their own first centers, and are not restarted by
        themselves.
    sizes : Sizes
        Of the job.
    projection : str or None
        The name of the map.

    Examples
    --------
    >>> takes_cells(Settings(1000), Sizes(90_000, 784, 1000, 4), "svd")
    True
    >>> takes_cells(Settings(1000, n_init=5), Sizes(90_000, 784, 1000, 4), "svd")
    False
    """
    if settings.solver == "cells":
        return True
    k = sizes.n_clusters
    enough = k >= MIN_CELL_CLUSTERS and sizes.n_rows >= MIN_ROWS_PER_CLUSTER * k
    return enough and allows_cells(settings, sizes, projection)


def allows_cells(settings: Settings, sizes: Sizes, projection: str | None) -> bool:
    """Return whether the caller leaves the search to the plan, on rows that it can work on."""
    if settings.solver != "auto" or settings.n_init not in ("auto", 1):
        return False
    if not isinstance(settings.init, str) or settings.init != "k-means++":
        return False
    return projection is not None or not (sizes.sparse or settings.metric == "cosine")


def allows_swaps(settings: Settings, sizes: Sizes, projection: str | None) -> bool:
    """Return whether all rows can be searched by swaps of centers if their tails are heavy."""
    return sizes.n_rows <= MAX_WATCHED_ROWS and allows_cells(settings, sizes, projection)


def may_leave_sketch(settings: Settings, sizes: Sizes) -> bool:
    """Return whether rows with heavy tails are searched in the original space.

    Only if the caller leaves the map to the plan, and the search does not take much longer there.
    """
    free = settings.projection == "auto" and settings.metric == "euclidean"
    free = free and settings.n_components == "auto" and settings.guarantee is None
    few = sizes.n_columns <= MAX_TAIL_COLUMNS and sizes.n_rows * sizes.n_columns <= MAX_TAIL_NUMBERS
    return free and few and not sizes.sparse


def count_wide_candidates(n_clusters: int) -> int:
    """Return how many centers polish passes look at if those around a cluster are not enough.

    Examples
    --------
    >>> [count_wide_candidates(k) for k in (1000, 16_384)]
    [256, 128]
    """
    return WIDE_OF_FEW if n_clusters <= FEW_CLUSTERS else WIDE_OF_MANY


def count_held_rows(sizes: Sizes) -> int:
    """Return how many rows take part in the race for first centers, which are in memory at once.

    Examples
    --------
    >>> [count_held_rows(Sizes(10**7, 64, k, 4)) for k in (500, 8192, 10**5)]
    [131072, 1048576, 2097152]
    """
    wanted = max(MIN_HELD_ROWS, HELD_ROWS_PER_CLUSTER * sizes.n_clusters)
    return min(sizes.n_rows, wanted, MAX_HELD_ROWS)

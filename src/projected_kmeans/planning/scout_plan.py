"""When restarts run inside a kernel, on few rows in memory: `solvers.scouting`.

Decides from settings; `approach.py` says from the sizes whether the work is small.
"""

from __future__ import annotations

from projected_kmeans.planning.settings import Settings

# Restarts inside the kernel. On load_digits (k = 10) 4 end as low as 10 of scikit-learn's KMeans.
# There are up to 16 if that takes no more than milliseconds: as many as passes fit in this work,
# counted in multiplications (rows x clusters x columns).
MIN_SCOUTS, MAX_SCOUTS, SCOUT_WORK = 4, 16, 2**17

# Rows times columns at most. The kernel needs copies of all rows, 1 MB each, within any limit of
# memory, and must run on the same rows with and without a limit.
MAX_SCOUT_ENTRIES = 2**17


def count_scouts(work: float) -> int:
    """Return the number of restarts inside the kernel, for the multiplications of one pass.

    Examples
    --------
    >>> count_scouts(150 * 3 * 4), count_scouts(1797 * 10 * 64)
    (16, 4)
    """
    return int(min(MAX_SCOUTS, max(MIN_SCOUTS, SCOUT_WORK // work)))


def takes_scouts(settings: Settings, projection: str | None, n_entries: int) -> bool:
    """Return whether restarts of a small fit run inside a kernel.

    They do not if the caller chose a solver, first centers or a number of restarts, which are then
    made one by one. Nor do they for directions of rows that are not projected, because the kernel
    knows Euclidean distances only.

    Parameters
    ----------
    settings : Settings
        What the caller fixed.
    projection : str or None
        The name of the map.
    n_entries : int
        Rows times columns, of the sketch if there is one.

    Examples
    --------
    >>> takes_scouts(Settings(10), None, 5000)
    True
    >>> takes_scouts(Settings(10, solver="breathing"), None, 5000)
    False
    """
    if settings.solver not in ("auto", "sdp") or settings.n_init != "auto":
        return False
    if n_entries > MAX_SCOUT_ENTRIES:
        return False
    knows_metric = projection is not None or settings.metric == "euclidean"
    return isinstance(settings.init, str) and settings.init == "k-means++" and knows_metric

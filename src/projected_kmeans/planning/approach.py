"""What to do with rows of a given size: the planner.

Decides by sizes alone, so that the same call does the same work on every machine. It looks at no
row; what a decision costs is for `forecasts.py` to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.projections.spectral import AUTO_COMPONENTS, SAMPLE_A_DIRECTION
from projected_kmeans.projections.target_dimension import RULES, target_dimension

# The eps that rules use where the caller names none.
PLAIN_EPS = 0.3

# Restarts are rehearsed on a sample with so many rows a cluster, where it spares two thirds of all
# rows: on digits and a mixture the best of three then ends 0.1 to 0.3 % below one run on all rows.
# A single run is rehearsed on a third of the rows, as a sample is where centers are mended.
ROWS_A_CLUSTER, FEW_ROWS_A_CLUSTER = 256, 24
MIN_SUBSAMPLE = 4096
MAX_RESTARTS, FEW_RESTARTS = 8, 3

# Distances of a pass, times dimensions, up to which local search costs less than a second, and up
# to which three restarts do without a sample.
LITTLE_WORK, SOME_WORK = 1e7, 1e9

# A center that stands between two clusters, while two others share one, raises the inertia by about
# 1 / k. Breaths mend it; on digits the first or the second gains less than this share.
MIN_BREATHING_GAIN = 1e-3

# On digits, 16 candidates from a sketch gain 97 to 99 % of what full polish passes gain, in the
# time of about 50 centers; with fewer clusters that saves too little to pay for it.
CANDIDATES, CANDIDATES_FROM = 16, 128

# Lloyd stops where a pass gains less of the inertia: beyond, digits gain 0.1 % in half
# the time again.
# With fewer clusters than a hundred passes cost less, and the share is less in proportion.
PLATEAU_A_CLUSTER, PLATEAU = 3e-7, 3e-5

# Bytes that finding directions may take.
WORKING_BYTES = 2**31


@dataclass(frozen=True)
class Sizes:
    """What the planner knows of a job.

    Attributes
    ----------
    n_rows, n_columns, n_clusters : int
        n, d, k.
    itemsize : int
        Bytes of an entry.
    n_nonzeros : int or None
        Stored entries of sparse rows; None for dense ones.
    """

    n_rows: int
    n_columns: int
    n_clusters: int
    itemsize: int
    n_nonzeros: int | None = None

    @classmethod
    def of(cls, rows: BlockSource, n_clusters: int) -> Sizes:
        """Return the sizes of clustering these rows."""
        return cls(*rows.shape, n_clusters, rows.dtype.itemsize, rows.nnz)

    @property
    def n_entries(self) -> int:
        """Entries that a pass over the rows reads."""
        return self.n_rows * self.n_columns if self.n_nonzeros is None else self.n_nonzeros

    @property
    def data_bytes(self) -> int:
        """Bytes that a pass over the rows reads."""
        return self.n_entries * (self.itemsize + (0 if self.n_nonzeros is None else 4))


@dataclass(frozen=True)
class Approach:
    """What is to be done, nothing left open.

    Attributes
    ----------
    projection : str or None
        The name of a map; None for the original space.
    n_components : int
        t, d where nothing is projected.
    solver : str
        "lloyd", "hartigan" or "breathing".
    n_init, subsample_rows : int
        Restarts, and the rows of the sample on which they compete; 0 lets them compete on all.
    inertia_tol : float
        Where a pass gains less, Lloyd stops.
    min_breathing_gain : float
        Local search goes on after Lloyd as long as a breath gains this share; infinity: not at all.
    polish_iter, polish_candidates : int
        Passes in the original space, and how many centers they look at for each row, 0 for all.
    reason : str
        Why this projection.
    """

    projection: str | None
    n_components: int
    solver: str
    n_init: int
    subsample_rows: int
    inertia_tol: float
    min_breathing_gain: float
    polish_iter: int
    polish_candidates: int
    reason: str


def choose_projection(sizes: Sizes, eps: float | None) -> tuple[str | None, int, str]:
    """Return the map, its dimensions and the reason for them.

    Examples
    --------
    >>> choose_projection(Sizes(90_000, 784, 100, 4), None)[:2]
    ('svd', 64)
    >>> choose_projection(Sizes(90_000, 50, 100, 4), None)
    (None, 50, '50 columns are too few for a sketch to save work')
    """
    n, d, k = sizes.n_rows, sizes.n_columns, sizes.n_clusters
    name = "svd" if _directions_fit(sizes) else "sign"
    t = choose_components(name, k, d, eps)
    if eps is not None and t == d:
        rule = RULES[rule_of(name)].source.split(":")[0]
        return None, d, f"eps={eps:g} asks for no fewer than all {d} columns ({rule})"
    if 2 * t > d or k == 1:
        return None, d, f"{d} columns are too few for a sketch to save work"
    if name == "sign":
        return name, t, f"{d} columns are too many for principal directions in little memory"
    kind = "sparse rows" if sizes.n_nonzeros is not None else "rows"
    return name, t, f"{t} principal directions keep what clusters of {n} {kind} need of {d} columns"


def rule_of(projection: str) -> str:
    """Return the name of the rule for the dimensions of a map."""
    return "cohen2015-svd" if projection == "svd" else "makarychev2019"


def choose_components(projection: str, n_clusters: int, n_features: int, eps: float | None) -> int:
    """Return t: what the theorem asks for where eps is named, else what has proven enough."""
    t = target_dimension(
        n_clusters,
        eps=PLAIN_EPS if eps is None else eps,
        rule=rule_of(projection),
        n_features=n_features,
    )
    return min(t, AUTO_COMPONENTS) if eps is None and projection == "svd" else t


def choose_effort(
    sizes: Sizes, projection: str | None, n_components: int, reason: str, *, drawn: bool = True
) -> Approach:
    """Return the approach for a map that is chosen: restarts, solver, tolerance, polishing.

    Parameters
    ----------
    sizes : Sizes
        Of the job.
    projection, n_components, reason
        As in `Approach`.
    drawn : bool, default=True
        Whether first centers are drawn; where they are given, restarts would all be the same.
    """
    work = float(sizes.n_rows) * sizes.n_clusters * n_components
    bare = projection is None and sizes.n_nonzeros is not None  # sparse rows as they are
    little = work <= LITTLE_WORK and not bare
    subsample = max(MIN_SUBSAMPLE, ROWS_A_CLUSTER * sizes.n_clusters)
    n_init = 1
    if 3 * subsample <= sizes.n_rows:
        n_init = min(MAX_RESTARTS, max(FEW_RESTARTS, sizes.n_rows // subsample))
    elif work <= SOME_WORK:
        n_init, subsample = FEW_RESTARTS, 0
    else:
        few = sizes.n_rows // 3
        subsample = few if few >= FEW_ROWS_A_CLUSTER * sizes.n_clusters else 0
    if not drawn or bare:
        n_init, subsample = 1, 0
    many = sizes.n_clusters >= CANDIDATES_FROM
    polish = 0 if projection is None else 4 if little else 1 if projection == "svd" else 2
    return Approach(
        projection=projection,
        n_components=n_components,
        solver="breathing" if little and drawn else "lloyd",
        n_init=n_init,
        subsample_rows=subsample,
        min_breathing_gain=MIN_BREATHING_GAIN
        if (subsample or n_init > 1) and not (little or bare)
        else math.inf,
        inertia_tol=0.0 if little else min(PLATEAU, PLATEAU_A_CLUSTER * sizes.n_clusters),
        polish_iter=polish,
        polish_candidates=CANDIDATES if many and projection is not None else 0,
        reason=reason,
    )


def _directions_fit(sizes: Sizes) -> bool:
    """Return whether a sample of the rows and what is made of it fit in little memory."""
    sampled = min(sizes.n_rows, SAMPLE_A_DIRECTION * AUTO_COMPONENTS) / sizes.n_rows
    table = 3 * 2 * AUTO_COMPONENTS * sizes.n_columns * 8
    return 2 * sampled * sizes.data_bytes + table <= WORKING_BYTES

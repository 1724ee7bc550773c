"""What a fit will do: the meaning of every "auto", for settings and sizes.

Decides from sizes alone, so that the same call does the same work on every machine. It looks at no
row. `forecast.py` says what an approach costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from projected_kmeans.choices import SKETCH_SOLVERS
from projected_kmeans.planning.cell_plan import (
    CELL_INERTIA_TOL,
    CELL_POLISH_CANDIDATES,
    allows_swaps,
    count_held_rows,
    count_wide_candidates,
    may_leave_sketch,
    takes_cells,
)
from projected_kmeans.planning.map_choice import MapChoice, choose_map
from projected_kmeans.planning.restart_plan import Restarts, choose_restarts
from projected_kmeans.planning.scout_plan import count_scouts, takes_scouts
from projected_kmeans.planning.settings import (
    OWN_SOLVER,
    Settings,
    limits_sizes,
    list_fixed,
)
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.solvers.restarts import FINALISTS

# The work of a fit is counted in multiplications of one full pass: rows x clusters x dimensions.
# Up to SMALL_WORK, and if rows are too few for a subsample, a local search takes less than a
# second, so a small fit breathes until no breath gains anything. With the default seeding restarts
# run inside a kernel instead (`scout_plan.py`). Few clusters of many rows are not small: searching
# 100,000 x 10 rows (k = 8) fully takes four times as long and ends less than 0.001 % lower.
SMALL_WORK = 1e7

# Breathing goes on while a breath lowers the inertia by at least this share. A center that stands
# between two clusters while two others share one costs about 1 / k of the inertia, and breaths
# repair that; on digits the first or the second breath gains less than this share.
MIN_BREATHING_GAIN = 1e-3

# Polish passes look at 16 centers a row, the nearest ones in the sketch, from 128 clusters on. On
# digits that keeps 97 to 99 % of the gain of full passes, in the time of about 50 centers; with
# fewer clusters it saves too little.
POLISH_CANDIDATES, MIN_CLUSTERS_FOR_CANDIDATES = 16, 128

# Lloyd's method stops if a pass lowers the inertia by less than this share: 3e-7 a cluster, at most
# 3e-5. On digits another 0.1 % would take half of the time again. With fewer than 100 clusters
# passes cost less, so the share is smaller in proportion.
INERTIA_TOL_PER_CLUSTER, MAX_INERTIA_TOL = 3e-7, 3e-5

# Passes of fits that are not small, and polish passes after the first, look ahead of the means, by
# this share of their last step, unless the caller names a solver other than "cells", or gives first
# centers for rows that are not projected. Digits, mixtures and rows of few columns end up to .15 %
# lower in half as many passes. From 1.0 on, some passes look too far and fail. Restarts that pause
# look at the means, because they forget in which direction these moved.
MOMENTUM = 0.9

# Polish passes: 4 for small work; else 1 after principal directions and 2 after other maps, and if
# columns were hashed before directions were found.
SMALL_POLISH, SPECTRAL_POLISH, DEFAULT_POLISH = 4, 1, 2
# After principal directions more passes follow, as long as each lowers the inertia by at least this
# share. On digits and mixtures the first pass gains less. Noise has no principal directions, so
# that 64 of them say little: there five passes end 0.2 % lower.
EXTRA_POLISH, MIN_POLISH_GAIN = 5, 2e-4
# At least 3 for metric="cosine", because the sketch is Euclidean: only polishing sees directions.
MIN_COSINE_POLISH = 3


@dataclass(frozen=True)
class Approach:
    """What a fit does, with nothing left to "auto".

    Attributes
    ----------
    projection : str or None
        The name of a map; "transformer" for a map of the caller; None for the original space.
    n_components : int
        t; d if nothing is projected.
    solver : str
        "lloyd", "cells", "hartigan", "breathing", "orss06", "kss04" or "exact"; "own" for a solver
        of the caller.
    n_init : int
        Number of restarts.
    subsample_rows : int
        Rows of the subsample on which restarts compete; 0 if they compete on all rows. For the
        solver "cells", rows that take part in seeding.
    inertia_tol : float
        Lloyd's method stops if a pass lowers the inertia by less than this share.
    min_breathing_gain : float
        After Lloyd's method, centers breathe while a breath gains at least this share; 0 lets them
        breathe until no breath gains anything, and infinity turns breathing off.
    polish_iter : int
        Passes in the original space.
    extra_polish : int
        Further passes there, as long as each lowers the inertia by at least 2e-4 of it. The solver
        "cells" has them only if rows turn out to be scattered, see `Clustering`.
    polish_candidates : int
        Centers that a polish pass looks at for each row; 0 for all.
    wide_candidates : int
        The same if rows turn out to be scattered.
    watches_tails : bool
        Whether all rows are searched by swaps of centers, in place of restarts on a subsample, if
        the rows turn out to have heavy tails.
    leaves_sketch : bool
        Whether such rows are searched in the original space. A sketch does not see values that are
        far in a column by itself.
    reason : str
        Why this projection.
    momentum : float
        How far ahead of the means passes look, as a share of the means' last step: passes of the
        solvers "lloyd" and "cells", and polish passes.
    limits_sizes : bool
        Whether clusters keep limits of their sizes.
    scouts : bool
        Whether restarts run inside a kernel, on all rows in memory, and the best of them goes on.
    """

    projection: str | None
    n_components: int
    solver: str
    n_init: int
    subsample_rows: int
    inertia_tol: float
    min_breathing_gain: float
    polish_iter: int
    extra_polish: int
    polish_candidates: int
    wide_candidates: int
    watches_tails: bool
    reason: str
    momentum: float = 0.0
    limits_sizes: bool = False
    scouts: bool = False
    leaves_sketch: bool = False

    @property
    def searches_fully(self) -> bool:
        """Whether a local search goes on until it gains nothing more."""
        return self.solver == "breathing" or self.min_breathing_gain == 0

    @property
    def has_tails(self) -> bool:
        """Whether the rows turned out to have heavy tails."""
        return self.watches_tails and self.solver == "cells"


def choose_approach(settings: Settings, sizes: Sizes) -> Approach:
    """Return what a fit does: what the caller fixed, and for the rest what suits the sizes.

    Examples
    --------
    >>> chosen = choose_approach(Settings(n_clusters=100, n_init=2), Sizes(90_000, 784, 100, 4))
    >>> chosen.projection, chosen.n_components, chosen.solver, chosen.n_init
    ('svd', 64, 'lloyd', 2)
    """
    draws_centers = isinstance(settings.init, str)
    chosen = choose_map(settings, sizes)
    planned = choose_effort(sizes, chosen, draws_centers=draws_centers)
    if takes_cells(settings, sizes, chosen.name):
        planned = _plan_cells(sizes, planned)
    elif planned.searches_fully and takes_scouts(
        settings, chosen.name, sizes.n_rows * chosen.n_components
    ):
        n_scouts = count_scouts(float(sizes.n_rows) * sizes.n_clusters * chosen.n_components)
        planned = replace(planned, scouts=True, n_init=n_scouts)
        planned = replace(planned, solver="lloyd", min_breathing_gain=math.inf)
    approach = _apply_settings(settings, planned)
    restarts = (approach.n_init > 1 or approach.subsample_rows > 0) and not approach.scouts
    competes = approach.solver == "lloyd" and restarts and not approach.searches_fully
    watches = competes and allows_swaps(settings, sizes, chosen.name)
    watches = watches and not approach.limits_sizes
    leaves = watches and chosen.name is not None and may_leave_sketch(settings, sizes)
    return replace(approach, watches_tails=watches, leaves_sketch=leaves)


def choose_effort(sizes: Sizes, chosen: MapChoice, *, draws_centers: bool = True) -> Approach:
    """Return the approach if only the map is fixed: restarts, solver, tolerance, polishing.

    Parameters
    ----------
    sizes : Sizes
        Of the job.
    chosen : MapChoice
        The map.
    draws_centers : bool, default=True
        Whether first centers are drawn. If they are given, all restarts would be the same.
    """
    work = float(sizes.n_rows) * sizes.n_clusters * chosen.n_components
    is_projected = chosen.name is not None
    sparse_original = sizes.sparse and not is_projected
    restarts = choose_restarts(sizes, work)
    is_small = work <= SMALL_WORK and restarts.subsample_rows == 0 and not sparse_original
    polish_iter = _choose_polish(sizes, chosen, is_small=is_small)
    if sparse_original or not draws_centers:
        restarts = Restarts(1, 0)
    min_gain = MIN_BREATHING_GAIN if restarts != (1, 0) else math.inf
    if is_small and draws_centers:
        min_gain = math.inf if is_projected else 0.0
    tolerance = min(MAX_INERTIA_TOL, INERTIA_TOL_PER_CLUSTER * sizes.n_clusters)
    has_candidates = is_projected and sizes.n_clusters >= MIN_CLUSTERS_FOR_CANDIDATES
    looks_ahead = not is_small and (is_projected or draws_centers)
    return Approach(
        projection=chosen.name,
        n_components=chosen.n_components,
        solver="breathing" if is_small and is_projected and draws_centers else "lloyd",
        n_init=restarts.n_init,
        subsample_rows=restarts.subsample_rows,
        inertia_tol=0.0 if is_small else tolerance,
        min_breathing_gain=min_gain,
        polish_iter=polish_iter,
        extra_polish=EXTRA_POLISH if polish_iter == SPECTRAL_POLISH else 0,
        polish_candidates=POLISH_CANDIDATES if has_candidates else 0,
        wide_candidates=POLISH_CANDIDATES if has_candidates else 0,
        watches_tails=False,
        reason=chosen.reason,
        momentum=MOMENTUM if looks_ahead else 0.0,
    )


def _plan_cells(sizes: Sizes, planned: Approach) -> Approach:
    """Return an approach with the solver "cells" in place of Lloyd's method over all centers."""
    return replace(
        planned,
        solver="cells",
        n_init=1,
        subsample_rows=count_held_rows(sizes),
        inertia_tol=CELL_INERTIA_TOL,
        min_breathing_gain=math.inf,
        polish_candidates=CELL_POLISH_CANDIDATES if planned.polish_candidates else 0,
        wide_candidates=count_wide_candidates(sizes.n_clusters) if planned.polish_candidates else 0,
    )


def plan_tails(planned: Approach, n_columns: int) -> Approach:
    """Return an approach with one search of all rows by swaps, in place of restarts on some.

    Restarts on a subsample would not see the few far rows that make up much of the inertia.
    """
    found = replace(
        planned, solver="cells", n_init=1, subsample_rows=0, min_breathing_gain=math.inf
    )
    if not planned.leaves_sketch:
        return found
    return replace(
        found,
        projection=None,
        n_components=n_columns,
        polish_iter=0,
        extra_polish=0,
        reason="the rows have heavy tails, which a sketch does not keep",
    )


def _choose_polish(sizes: Sizes, chosen: MapChoice, *, is_small: bool) -> int:
    if chosen.name is None:
        return 0
    if is_small:
        return SMALL_POLISH
    hashed = sizes.count_hashed_columns(chosen.n_components) > 0
    return SPECTRAL_POLISH if chosen.name == "svd" and not hashed else DEFAULT_POLISH


def _apply_settings(settings: Settings, planned: Approach) -> Approach:
    """Return the approach with the caller's settings in place of what was planned."""
    if settings.metric == "cosine":
        if planned.projection is None:
            planned = replace(planned, solver="lloyd", inertia_tol=0.0, min_breathing_gain=math.inf)
            planned = replace(planned, momentum=0.0)  # centers ahead would have no length of one
        else:
            n_polish = max(planned.polish_iter, MIN_COSINE_POLISH)
            planned = replace(planned, polish_iter=n_polish, extra_polish=0)
    fixed = list_fixed(settings)
    if fixed.get("solver") in (*SKETCH_SOLVERS, OWN_SOLVER):
        fixed.setdefault("n_init", 1)
    if fixed.get("solver") == OWN_SOLVER:
        # What such a solver aims at is not known, so that its labels stay as they are.
        fixed.setdefault("polish_iter", 0)
    if "polish_iter" in fixed:
        fixed["extra_polish"] = 0
    if "polish_candidates" in fixed:
        fixed["wide_candidates"] = fixed["polish_candidates"]
    approach = replace(planned, limits_sizes=limits_sizes(settings), **fixed)
    single_run = fixed.get("n_init") == 1
    if "solver" in fixed or (single_run and approach.min_breathing_gain > 0):
        approach = replace(approach, min_breathing_gain=math.inf)
    cells = approach.solver == "cells"
    if not cells and (single_run or approach.solver != "lloyd"):
        # A single run needs no subsample, and the other solvers are asked for the best partition.
        approach = replace(approach, subsample_rows=0)
    if approach.solver not in ("lloyd", "cells") and "inertia_tol" not in fixed:
        approach = replace(approach, inertia_tol=0.0)
    pauses = approach.n_init > FINALISTS and approach.subsample_rows == 0
    if not cells and ("solver" in fixed or pauses):
        approach = replace(approach, momentum=0.0)
    return approach

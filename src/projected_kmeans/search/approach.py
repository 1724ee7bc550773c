"""PLAN: what a fit will do: the meaning of every "auto", decided once before the first pass.

Sizes decide, and of the rows only what the map has learnt: how much of their variance it keeps. So
the same call does the same work on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from projected_kmeans.projections.hashed_columns import count_hashed_columns
from projected_kmeans.projections.map_protocol import Transformer
from projected_kmeans.projections.maps import MAPS
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.projections.spectral import (
    EXPECTED_COMPONENTS,
    MAX_AUTO_COMPONENTS,
    wanted_sample_rows,
)
from projected_kmeans.projections.target_dimension import RULES, target_dimension
from projected_kmeans.search.settings import OWN_SOLVER, Settings, Sizes, limits_sizes

# The eps of the rules for dimensions if the caller names none.
DEFAULT_EPS = 0.3

# "auto" takes signs instead of principal directions if finding those would take more than 2 GiB.
MAX_DIRECTION_BYTES = 2**31

# Solvers that go over levels, from samples to all rows, if the caller does not give first centers.
LEVEL_SOLVERS = ("auto", "sdp", "lloyd", "hartigan")

# The name of a map that the caller made.
TRANSFORMER = "transformer"

# The first level has 200 rows a cluster and at least 2,048, and each further one five times as
# many, as long as a level has at most a third of all rows. With fewer rows a cluster swaps fit
# noise. Further levels have at most 2^18 rows, because samples are in memory.
ROWS_PER_CLUSTER, MIN_LEVEL_ROWS, LEVEL_FACTOR, MAX_LEVEL_ROWS = 200, 2048, 5, 2**18

# Starts on the first level: fewer for more clusters, of which swaps mend any. Few rows are searched
# inside a kernel, where starts cost so little that there are more of them, at most two a cluster.
MAX_STARTS, STARTED_CLUSTERS = 4, 96
KERNEL_STARTS, MAX_KERNEL_STARTS, KERNEL_WORK = 4, 16, 2**17

# Rows times columns of the first level at most, and multiplications of a pass, for the kernel. It
# needs copies of the rows, 1 MB each, within any limit of memory.
MAX_KERNEL_ENTRIES, MAX_KERNEL_WORK = 2**17, 1e7

# Starts on all rows are only made up to this many multiplications of a pass.
MAX_WORK_OF_STARTS = 2e8

# From this many clusters on a row meets only the centers around its cluster: 64 of them, or 32 of
# very many clusters.
MIN_LISTED_CLUSTERS, FEW_CLUSTERS = 128, 4096
NEAR_OF_FEW, NEAR_OF_MANY = 64, 32

# Rounds of swaps on every level at most. They end when none promises enough.
SWAP_ROUNDS = 24

# Passes end if one lowers the inertia by less than this share: 3e-7 a cluster, and 2e-4 where rows
# meet near centers only. On digits another 0.1 % would take half of the time again. Small fits run
# until nothing changes.
INERTIA_TOL_PER_CLUSTER, LISTED_TOL, SMALL_WORK = 3e-7, 2e-4, 1e7

# Passes over the original rows at most, after the sketch is clustered. They end when one gains less
# than this share; those of small fits when nothing changes but rounding.
POLISH_PASSES, POLISH_TOL, SMALL_POLISH_TOL = 20, 5e-4, 1e-12


@dataclass(frozen=True)
class Approach:
    """What a fit does, with nothing left to "auto"."""

    projection: str | None  # a map's name, "transformer" for the caller's; None for no map
    n_components: int  # t; d if nothing is projected
    solver: str  # "lloyd", "hartigan", "orss06", "kss04", "exact"; "own" for the caller's
    n_init: int  # starts on the first level, of which the best goes on
    level_rows: tuple[int, ...]  # of every level: samples of the sketch, and in the end all rows
    n_near: int  # centers that a row meets in a pass, those around its cluster; 0 for all
    swap_rounds: int  # on every level at most
    # A level ends if a pass lowers the inertia by less than this share, and swaps pay no more.
    inertia_tol: float
    polish_iter: int  # passes over the original rows at most
    # These passes end if one gains less than this share, and swaps pay no more. 0 if the caller
    # fixed their number, and then there are no swaps among them.
    polish_tol: float
    in_kernel: bool  # starts are searched inside a kernel, because the first level has few rows
    reason: str  # why this map and this number of dimensions


class MapChoice(NamedTuple):
    """The map of a fit: its name, t (d without a map), and why."""

    name: str | None
    n_components: int
    reason: str


def choose_approach(settings: Settings, sizes: Sizes, learnt: Any = None) -> Approach:
    """Return what a fit does: what the caller fixed, and for the rest what suits the rows.

    ``learnt`` is the map after it has looked at the rows. Without it, t is what rows of this size
    usually need.
    """
    d, k = sizes.n_columns, sizes.n_clusters
    name, t, reason = choose_map(settings, sizes)
    if learnt is not None and name is not None:
        t = int(getattr(learnt, "n_components_", t))  # a transformer of the caller may not tell
        following = getattr(learnt, "next_variance_", None)
        if following is not None and settings.n_components == "auto":
            reason = (
                f"{t} of {d} directions keep {1 - learnt.lost_variance_:.0%} of the variance; the "
                f"next {min(k, d - t)} hold at most {following:.0%}"
            )
    is_drawn = isinstance(settings.init, str)
    solver = settings.solver if isinstance(settings.solver, str) else OWN_SOLVER
    searches = solver in ("auto", "sdp") and is_drawn
    n_near = 0
    meets_all = limits_sizes(settings) or (sizes.sparse and name is None)
    if searches and k >= MIN_LISTED_CLUSTERS and not meets_all:
        n_near = NEAR_OF_FEW if k <= FEW_CLUSTERS else NEAR_OF_MANY
    in_pieces = is_drawn and solver in LEVEL_SOLVERS
    level_rows = _choose_levels(sizes.n_rows, k) if in_pieces else (sizes.n_rows,)
    chosen = MapChoice(name, t, reason)
    n_init, in_kernel = _choose_starts(settings, sizes, chosen, level_rows)
    inertia_tol, polish_iter, polish_tol = _choose_ends(settings, sizes, chosen)
    return Approach(
        projection=name,
        n_components=t,
        solver="lloyd" if solver in ("auto", "sdp") else solver,
        n_init=n_init,
        level_rows=level_rows,
        n_near=n_near,
        swap_rounds=SWAP_ROUNDS if searches and k > 1 else 0,
        inertia_tol=inertia_tol,
        polish_iter=polish_iter,
        polish_tol=polish_tol,
        in_kernel=in_kernel,
        reason=reason,
    )


def _choose_levels(n_rows: int, n_clusters: int) -> tuple[int, ...]:
    """Return the rows of every level, the samples first."""
    levels: list[int] = []
    rows = max(MIN_LEVEL_ROWS, ROWS_PER_CLUSTER * n_clusters)
    while 3 * rows <= n_rows and (not levels or rows <= MAX_LEVEL_ROWS):
        levels.append(rows)
        rows *= LEVEL_FACTOR
    return (*levels, n_rows)


def _choose_starts(
    settings: Settings, sizes: Sizes, chosen: MapChoice, level_rows: tuple[int, ...]
) -> tuple[int, bool]:
    """Return the number of starts, and whether they are searched inside a kernel.

    A kernel searches few dense rows, if the caller fixes nothing about the starts.
    """
    init, n_init, k = settings.init, settings.n_init, sizes.n_clusters
    if not isinstance(n_init, str):
        is_fixed = not isinstance(init, str) and not callable(init)
        return 1 if is_fixed else int(n_init), False  # starts from the same centers are the same
    if callable(init):
        return 3, False
    if not isinstance(init, str) or settings.solver not in LEVEL_SOLVERS:
        return 1, False
    entries = level_rows[0] * chosen.n_components
    work = float(entries) * k
    is_plain = settings.metric == "euclidean" and not sizes.sparse
    if (
        settings.solver in ("auto", "sdp")
        and init == "k-means++"
        and (is_plain or chosen.name is not None)
        and entries <= MAX_KERNEL_ENTRIES
        and work <= MAX_KERNEL_WORK
    ):
        most = max(KERNEL_STARTS, min(MAX_KERNEL_STARTS, 2 * k))
        return int(min(most, max(KERNEL_STARTS, KERNEL_WORK // work))), True
    if len(level_rows) == 1 and work > MAX_WORK_OF_STARTS:
        return 1, False
    return max(1, min(MAX_STARTS, STARTED_CLUSTERS // k)), False


def _choose_ends(settings: Settings, sizes: Sizes, chosen: MapChoice) -> tuple[float, int, float]:
    """Return when passes end: ``inertia_tol``, ``polish_iter`` and ``polish_tol``."""
    rows_and_clusters = float(sizes.n_rows) * sizes.n_clusters
    if settings.tol == 0 or rows_and_clusters * chosen.n_components <= SMALL_WORK:
        inertia_tol = 0.0
    elif sizes.n_clusters >= MIN_LISTED_CLUSTERS:
        inertia_tol = LISTED_TOL
    else:
        inertia_tol = INERTIA_TOL_PER_CLUSTER * sizes.n_clusters
    if not isinstance(settings.polish_iter, str):
        return inertia_tol, int(settings.polish_iter), 0.0
    # What a solver of the caller aims at is not known, so that its labels stay as they are.
    is_own = not isinstance(settings.solver, str)
    polish_iter = 0 if chosen.name is None or is_own else POLISH_PASSES
    is_small = rows_and_clusters * sizes.n_columns <= SMALL_WORK
    return inertia_tol, polish_iter, SMALL_POLISH_TOL if is_small else POLISH_TOL


def choose_map(settings: Settings, sizes: Sizes) -> MapChoice:
    """Return the map that the caller wants, or the one that "auto" means for rows of this size."""
    name, wanted, d = settings.projection, settings.n_components, sizes.n_columns
    if name is None:
        return MapChoice(None, d, "the caller wants no projection")
    if isinstance(name, Transformer):
        return MapChoice(TRANSFORMER, d, "the caller has a map of their own")
    if name != "auto":
        if isinstance(wanted, str):
            wanted = choose_components(name, sizes.n_clusters, d, settings.eps)
        return MapChoice(name, int(wanted), "the caller wants this map")
    chosen = _choose_automatic_map(sizes, settings.eps)
    if isinstance(wanted, str):
        return chosen
    if wanted >= d:
        return MapChoice(None, d, f"n_components={wanted} keeps all columns")
    if chosen.name is None:
        return MapChoice("svd", int(wanted), f"n_components={wanted} is fewer than {d} columns")
    return chosen._replace(n_components=int(wanted))


def _choose_automatic_map(sizes: Sizes, eps: float | None) -> MapChoice:
    """Return what projection="auto" means: principal directions, signs or no map."""
    n, d, k = sizes.n_rows, sizes.n_columns, sizes.n_clusters
    # Bytes to find the most directions: two copies of the sampled rows, and three matrices as wide
    # as the sign sketch. With fewer than twice as many rows as the sample wants, the map reads all
    # of them, and the rows' count is too low by a factor of at most 2. Of dense rows that are
    # hashed, only the hashed rows are in memory.
    n_hashed = count_hashed_columns(d, EXPECTED_COMPONENTS, sparse=sizes.sparse)
    hashes_dense = n_hashed and not sizes.sparse
    row_bytes = n_hashed * sizes.sketch_itemsize if hashes_dense else sizes.data_bytes / n
    n_columns, n_sampled = n_hashed or d, min(n, wanted_sample_rows(EXPECTED_COMPONENTS))
    matrices = 3 * 8 * sketch_width(EXPECTED_COMPONENTS, n_columns) * n_columns
    name = "svd" if 2 * n_sampled * row_bytes + matrices <= MAX_DIRECTION_BYTES else "sign"
    t = choose_components(name, k, d, eps)
    if eps is not None and t == d:
        source = RULES[MAPS[name].dimension_rule].source.split(":")[0]
        return MapChoice(None, d, f"eps={eps:g} asks for no fewer than all {d} columns ({source})")
    if 2 * t > d or k == 1:
        return MapChoice(None, d, f"{d} columns are too few for a sketch to save work")
    if name == "sign":
        reason = f"{d} columns are too many for principal directions in little memory"
        return MapChoice(name, t, reason)
    kind = "sparse rows" if sizes.sparse else "rows"
    n_hashed = count_hashed_columns(d, t, sparse=sizes.sparse)
    hashed = f", hashed to {n_hashed}" if n_hashed else ""
    return MapChoice(name, t, f"principal directions of {n} {kind} of {d} columns{hashed}")


def choose_components(name: str, n_clusters: int, n_features: int, eps: float | None) -> int:
    """Return what n_components="auto" means for a map that has not seen the rows.

    If eps is named, that is what the theorem of the map asks for. Otherwise it is the same rule at
    eps = 0.3, and for principal directions at most 64, which most rows need; the map decides when
    it has seen the spectrum of the rows.
    """
    t = target_dimension(
        n_clusters,
        eps=DEFAULT_EPS if eps is None else eps,
        rule=MAPS[name].dimension_rule,
        n_features=n_features,
    )
    return min(t, EXPECTED_COMPONENTS) if eps is None and name == "svd" else t


def count_largest(settings: Settings, sizes: Sizes) -> int:
    """Return the largest t that the map may choose, for which memory is planned."""
    chosen = choose_map(settings, sizes)
    is_open = chosen.name == "svd" and settings.n_components == "auto" and settings.eps is None
    if not is_open or chosen.n_components < EXPECTED_COMPONENTS:
        return chosen.n_components
    return max(chosen.n_components, min(MAX_AUTO_COMPONENTS, sizes.n_columns // 2))

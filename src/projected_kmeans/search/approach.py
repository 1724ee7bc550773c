"""PLAN: what a fit will do: the meaning of every "auto", decided once before the first pass.

Sizes decide, and of the rows only what the map has learnt: how much of their variance it keeps. So
the same call does the same work on every machine. `forecast.py` says what an approach costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from projected_kmeans.projections.direction_sample import wanted_sample_rows
from projected_kmeans.projections.map_protocol import Transformer
from projected_kmeans.projections.named_maps import MAPS
from projected_kmeans.projections.principal_directions import sketch_width
from projected_kmeans.projections.spectral import EXPECTED_COMPONENTS, MAX_AUTO_COMPONENTS
from projected_kmeans.projections.target_dimension import RULES, target_dimension
from projected_kmeans.search.settings import OWN_SOLVER, Settings, Sizes, limits_sizes

# The eps of the rules for dimensions if the caller names none.
DEFAULT_EPS = 0.3

# "auto" takes signs instead of principal directions if finding those would take more than 2 GiB.
MAX_DIRECTION_BYTES = 2**31

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

    Examples
    --------
    >>> chosen = choose_approach(Settings(n_clusters=100, n_init=2), Sizes(90_000, 784, 100, 4))
    >>> chosen.projection, chosen.n_components, chosen.level_rows, chosen.n_init
    ('svd', 64, (20000, 90000), 2)
    """
    chosen = choose_map(settings, sizes)
    if learnt is not None and chosen.name is not None:
        chosen = chosen._replace(n_components=_count_learnt(learnt, chosen.n_components))
        if getattr(learnt, "next_variance_", None) is not None and settings.n_components == "auto":
            chosen = chosen._replace(reason=_tell_variance(learnt, sizes))
    n, k, t = sizes.n_rows, sizes.n_clusters, chosen.n_components
    work, is_drawn = float(n) * k * t, isinstance(settings.init, str)
    solver = settings.solver if isinstance(settings.solver, str) else OWN_SOLVER
    searches = solver in ("auto", "sdp") and is_drawn
    in_pieces = solver in ("auto", "sdp", "lloyd", "hartigan") and is_drawn
    level_rows = _choose_levels(n, k) if in_pieces else (n,)
    approach = Approach(
        projection=chosen.name,
        n_components=t,
        solver="lloyd" if solver in ("auto", "sdp") else solver,
        n_init=1,
        level_rows=level_rows,
        n_near=_choose_near(settings, sizes, chosen) if searches else 0,
        swap_rounds=SWAP_ROUNDS if searches and k > 1 else 0,
        inertia_tol=_choose_tolerance(settings, work, k),
        polish_iter=_choose_polish(settings, chosen),
        polish_tol=_choose_polish_tolerance(settings, sizes),
        in_kernel=searches and _fits_kernel(settings, sizes, chosen, level_rows[0]),
        reason=chosen.reason,
    )
    return replace(approach, n_init=_choose_starts(settings, sizes, approach))


def _count_learnt(learnt: Any, expected: int) -> int:
    """Return t of a map that has looked at the rows; that of a caller's transformer is unknown."""
    return int(getattr(learnt, "n_components_", expected))


def _tell_variance(learnt: Any, sizes: Sizes) -> str:
    t, d, k = learnt.n_components_, sizes.n_columns, sizes.n_clusters
    kept, following = 1 - learnt.lost_variance_, learnt.next_variance_
    return (
        f"{t} of {d} directions keep {kept:.0%} of the variance; the next {min(k, d - t)} hold at "
        f"most {following:.0%}"
    )


def _choose_levels(n_rows: int, n_clusters: int) -> tuple[int, ...]:
    """Return the rows of every level.

    Examples
    --------
    >>> _choose_levels(90_000, 10), _choose_levels(90_000, 1000)
    ((2048, 10240, 90000), (90000,))
    """
    levels: list[int] = []
    rows = max(MIN_LEVEL_ROWS, ROWS_PER_CLUSTER * n_clusters)
    while 3 * rows <= n_rows and (not levels or rows <= MAX_LEVEL_ROWS):
        levels.append(rows)
        rows *= LEVEL_FACTOR
    return (*levels, n_rows)


def _choose_near(settings: Settings, sizes: Sizes, chosen: MapChoice) -> int:
    k = sizes.n_clusters
    if k < MIN_LISTED_CLUSTERS or (sizes.sparse and chosen.name is None):
        return 0
    if limits_sizes(settings):
        return 0
    return NEAR_OF_FEW if k <= FEW_CLUSTERS else NEAR_OF_MANY


def _choose_tolerance(settings: Settings, work: float, n_clusters: int) -> float:
    if not isinstance(settings.inertia_tol, str):
        return float(settings.inertia_tol)
    if work <= SMALL_WORK:
        return 0.0
    if n_clusters >= MIN_LISTED_CLUSTERS:
        return LISTED_TOL
    return INERTIA_TOL_PER_CLUSTER * n_clusters


def _choose_polish(settings: Settings, chosen: MapChoice) -> int:
    if not isinstance(settings.polish_iter, str):
        return int(settings.polish_iter)
    # What a solver of the caller aims at is not known, so that its labels stay as they are.
    is_own = not isinstance(settings.solver, str)
    return 0 if chosen.name is None or is_own else POLISH_PASSES


def _choose_polish_tolerance(settings: Settings, sizes: Sizes) -> float:
    if not isinstance(settings.polish_iter, str):
        return 0.0
    work = float(sizes.n_rows) * sizes.n_columns * sizes.n_clusters
    return SMALL_POLISH_TOL if work <= SMALL_WORK else POLISH_TOL


def _choose_starts(settings: Settings, sizes: Sizes, approach: Approach) -> int:
    if not isinstance(settings.n_init, str):
        is_fixed = not isinstance(settings.init, str) and not callable(settings.init)
        return 1 if is_fixed else int(settings.n_init)  # starts from the same centers are the same
    if callable(settings.init):
        return 3
    if not isinstance(settings.init, str) or approach.solver not in ("lloyd", "hartigan"):
        return 1
    rows, k, t = approach.level_rows[0], sizes.n_clusters, approach.n_components
    work = float(rows) * k * t
    if approach.in_kernel:
        most = max(KERNEL_STARTS, min(MAX_KERNEL_STARTS, 2 * k))
        return int(min(most, max(KERNEL_STARTS, KERNEL_WORK // work)))
    if len(approach.level_rows) == 1 and work > MAX_WORK_OF_STARTS:
        return 1
    return max(1, min(MAX_STARTS, STARTED_CLUSTERS // k))


def _fits_kernel(settings: Settings, sizes: Sizes, chosen: MapChoice, n_rows: int) -> bool:
    """Return whether starts are searched inside a kernel: few dense rows, and nothing fixed."""
    entries, is_mapped = n_rows * chosen.n_components, chosen.name is not None
    knows_rows = is_mapped or (settings.metric == "euclidean" and not sizes.sparse)
    free = settings.n_init == "auto" and settings.init == "k-means++"
    small = entries <= MAX_KERNEL_ENTRIES and entries * sizes.n_clusters <= MAX_KERNEL_WORK
    return knows_rows and free and small


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
    chosen = choose_automatic_map(sizes, settings.eps)
    if isinstance(wanted, str):
        return chosen
    if wanted >= d:
        return MapChoice(None, d, f"n_components={wanted} keeps all columns")
    if chosen.name is None:
        return MapChoice("svd", int(wanted), f"n_components={wanted} is fewer than {d} columns")
    return chosen._replace(n_components=int(wanted))


def choose_automatic_map(sizes: Sizes, eps: float | None) -> MapChoice:
    """Return what projection="auto" means: principal directions, signs or no map.

    Examples
    --------
    >>> choose_automatic_map(Sizes(90_000, 784, 100, 4), None)[:2]
    ('svd', 64)
    >>> choose_automatic_map(Sizes(90_000, 50, 100, 4), None).reason
    '50 columns are too few for a sketch to save work'
    """
    n, d, k = sizes.n_rows, sizes.n_columns, sizes.n_clusters
    name = "svd" if _directions_fit(sizes) else "sign"
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
    n_hashed = sizes.count_hashed_columns(t)
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


def _directions_fit(sizes: Sizes) -> bool:
    """Return whether finding the maximum number of directions takes at most 2 GiB.

    Counted are two copies of the sampled rows, and three matrices as wide as the sign sketch. If
    there are fewer than twice as many rows as the sample wants, the map reads all of them, and the
    count of their bytes is too low by a factor of at most 2. Of dense rows that are hashed, only
    the hashed rows are in memory.
    """
    n_sampled = min(sizes.n_rows, wanted_sample_rows(EXPECTED_COMPONENTS))
    n_hashed = sizes.count_hashed_columns(EXPECTED_COMPONENTS)
    n_columns = n_hashed or sizes.n_columns
    row_bytes = sizes.data_bytes / sizes.n_rows
    if n_hashed and not sizes.sparse:
        row_bytes = n_hashed * sizes.sketch_itemsize
    matrices = 3 * 8 * sketch_width(EXPECTED_COMPONENTS, n_columns) * n_columns
    return 2 * n_sampled * row_bytes + matrices <= MAX_DIRECTION_BYTES


def count_largest(settings: Settings, sizes: Sizes) -> int:
    """Return the largest t that the map may choose, for which memory is planned."""
    chosen = choose_map(settings, sizes)
    is_open = chosen.name == "svd" and settings.n_components == "auto" and settings.eps is None
    if not is_open or chosen.n_components < EXPECTED_COMPONENTS:
        return chosen.n_components
    return max(chosen.n_components, min(MAX_AUTO_COMPONENTS, sizes.n_columns // 2))

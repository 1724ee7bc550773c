"""All that a run depends on beside the rows: settings with every "auto" resolved, and the map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike
from sklearn.base import clone

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.keys import resolve_key
from projected_kmeans.passes.size_limits import SizeLimits, resolve_limits
from projected_kmeans.planning.approach import Approach, choose_approach
from projected_kmeans.planning.map_choice import DEFAULT_EPS
from projected_kmeans.planning.memory_plan import MemoryPlan, plan_memory
from projected_kmeans.planning.settings import OWN_SOLVER, Settings, list_proofs
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.projections.map_protocol import RandomMap, Transformer, fit_shape
from projected_kmeans.projections.named_maps import MAPS
from projected_kmeans.results import Floats
from projected_kmeans.solvers.own_solvers import OwnSolver, name_solver

# Solvers that take the rows of the sketch as one array.
ARRAY_SOLVERS = ("exact", OWN_SOLVER)


@dataclass(frozen=True)
class Recipe:
    """All that a run depends on beside the rows and their weights, with nothing left to "auto".

    Attributes
    ----------
    n_clusters : int
        k.
    key : int
        Fixes all randomness.
    projection : RandomMap, Transformer or None
        A map of this package, fitted to the shape of the rows; a transformer of the caller, to be
        fitted; None for the original space.
    init : str, array-like or callable
        First centers, as `ProjectedKMeans` takes them.
    metric : str
        "euclidean" or "cosine".
    max_iter : int
        Maximum number of passes over the sketch.
    tol : float
        As `ProjectedKMeans` takes it.
    approach : Approach
        Restarts, solver, tolerance and polishing.
    n_threads : int
        0 takes as many as OpenMP allows.
    memory : MemoryPlan
        Keeps the run within its limit of memory.
    own_solver : Clusterer, callable or None
        A solver of the caller; None if the approach names the solver.
    limits : SizeLimits or None
        How small and how large clusters may be; None for any size.
    """

    n_clusters: int
    key: int
    projection: RandomMap | Transformer | None
    init: str | ArrayLike | Callable[..., ArrayLike]
    metric: str
    max_iter: int
    tol: float
    approach: Approach
    n_threads: int
    memory: MemoryPlan
    own_solver: OwnSolver | None = None
    limits: SizeLimits | None = None


def resolve_recipe(
    settings: Settings,
    sizes: Sizes,
    *,
    stored: bool = False,
    distant: bool = False,
    keeps_rows: bool = False,
    limits: SizeLimits | None = None,
) -> Recipe:
    """Return the recipe for rows of this size.

    Parameters
    ----------
    settings : Settings
        Checked.
    sizes : Sizes
        Of the job.
    stored : bool, default=False
        Whether rows are read block by block, rather than in memory already.
    distant : bool, default=False
        Whether Dask computes rows.
    keeps_rows : bool, default=False
        Whether the workers of a cluster can keep the sketch.
    limits : SizeLimits, optional
        The limits of cluster sizes that the settings mean for these rows, see `read_limits`.
    """
    key = resolve_key(settings.random_state)
    approach = choose_approach(settings, sizes)
    projection = _build_map(settings, sizes, approach, key)
    takes_array = approach.solver in ARRAY_SOLVERS
    gathers = takes_array and approach.projection is None
    if gathers and distant:
        raise ValueError(
            f"the solver {name_solver(settings.solver)} cannot work on rows of Dask's workers; use "
            "a projection, whose sketch lies in this process, or solver='lloyd'"
        )
    memory = plan_memory(
        settings.memory_limit,
        sizes,
        approach,
        stored=stored,
        distant=distant,
        keeps_rows=keeps_rows and not takes_array,
        spherical=settings.metric == "cosine",
        needs_all=bool(list_proofs(settings)) or callable(settings.init) or gathers,
    )
    if takes_array and approach.projection is not None and not memory.sketch_in_memory:
        raise ValueError(
            f"the solver {name_solver(settings.solver)} needs the whole sketch in the memory of "
            "this process, where it does not fit; use fewer n_components, a larger memory_limit, "
            "or solver='lloyd'"
        )
    return Recipe(
        n_clusters=int(settings.n_clusters),
        key=key,
        projection=projection,
        init=settings.init,
        metric=settings.metric,
        max_iter=int(settings.max_iter),
        tol=float(settings.tol),
        approach=approach,
        n_threads=settings.n_threads or 0,
        memory=memory,
        own_solver=None if isinstance(settings.solver, str) else settings.solver,
        limits=limits,
    )


def describe_place(rows: BlockSource) -> dict[str, bool]:
    """Return what `resolve_recipe` wants to know of where rows lie."""
    return {
        "stored": not rows.resident,
        "distant": rows.distant,
        "keeps_rows": rows.keeps_new_rows,
    }


def read_limits(settings: Settings, n_rows: int, weights: Floats | None) -> SizeLimits | None:
    """Return the limits of cluster sizes for rows; raise if no partition can keep them."""
    return resolve_limits(
        settings.min_cluster_size,
        settings.max_cluster_size,
        balanced=bool(settings.balanced),
        n_clusters=int(settings.n_clusters),
        n_rows=n_rows,
        weights=weights,
    )


def _build_map(
    settings: Settings, sizes: Sizes, approach: Approach, key: int
) -> RandomMap | Transformer | None:
    """Return the map of an approach: a copy of the caller's, or one fitted to the rows' shape."""
    if approach.projection is None:
        return None
    if isinstance(settings.projection, Transformer):
        own: Transformer = clone(settings.projection)
        return own
    projection = MAPS[approach.projection](
        approach.n_components,
        eps=DEFAULT_EPS if settings.eps is None else settings.eps,
        n_clusters=settings.n_clusters,
        random_state=key,
        n_threads=settings.n_threads,
    )
    fit_shape(projection, sizes.n_rows, sizes.n_columns)
    return projection

"""All that a run depends on beside the rows and the approach: the map, the limits, the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from numpy.typing import ArrayLike
from sklearn.base import clone

from projected_kmeans.keys import resolve_key
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.projections.map_protocol import MapTransformer, Transformer, fit_shape
from projected_kmeans.projections.maps import MAPS
from projected_kmeans.results import Clustering
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.search.approach import DEFAULT_EPS, choose_map
from projected_kmeans.search.memory_plan import MemoryPlan, plan_memory
from projected_kmeans.search.own_solvers import OwnSolver, name_solver
from projected_kmeans.search.settings import Settings, Sizes, list_proofs

# From the sketch to a partition: a solver that the paper names, or one of the caller.
SketchSolver: TypeAlias = Callable[[Problem, Run], Clustering]


@dataclass(frozen=True)
class Recipe:
    """All that a run depends on beside rows, weights and approach, with nothing left to "auto"."""

    n_clusters: int
    key: int  # fixes all randomness
    # A map of this package, fitted to the shape of the rows, or one of the caller, to be fitted.
    projection: MapTransformer | Transformer | None
    init: str | ArrayLike | Callable[..., ArrayLike]
    metric: str
    max_iter: int
    tol: float
    n_threads: int  # 0 takes as many as OpenMP allows
    memory: MemoryPlan
    solver_name: str = "auto"  # as the caller named it, or the name of ``own_solver``
    own_solver: OwnSolver | None = None
    solve: SketchSolver | None = None  # clusters the sketch in place of the search
    limits: SizeLimits | None = None  # how small and how large clusters may be


def resolve_recipe(
    settings: Settings,
    sizes: Sizes,
    *,
    limits: SizeLimits | None = None,
) -> Recipe:
    """Return the recipe for rows of this size."""
    key, solver = resolve_key(settings.random_state), settings.solver
    name = solver if isinstance(solver, str) else name_solver(solver)
    takes_array = solver == "exact" or not isinstance(solver, str)
    gathers = takes_array and choose_map(settings, sizes).name is None
    if gathers and sizes.distant:
        raise ValueError(
            f"the solver {name} cannot work on rows of Dask's workers; use a projection, whose "
            "sketch lies in this process, or solver='lloyd'"
        )
    memory = plan_memory(
        settings,
        replace(sizes, keeps_rows=sizes.keeps_rows and not takes_array),
        needs_all=bool(list_proofs(settings)) or callable(settings.init) or gathers,
    )
    if takes_array and not gathers and not memory.sketch_in_memory:
        raise ValueError(
            f"the solver {name} needs the whole sketch in the memory of this process, where it "
            "does not fit; use fewer n_components, a larger memory_limit, or solver='lloyd'"
        )
    return Recipe(
        n_clusters=int(settings.n_clusters),
        key=key,
        projection=_build_map(settings, sizes, key),
        init=settings.init,
        metric=settings.metric,
        max_iter=int(settings.max_iter),
        tol=float(settings.tol),
        n_threads=settings.n_threads or 0,
        memory=memory,
        solver_name=name,
        own_solver=None if isinstance(solver, str) else solver,
        limits=limits,
    )


def _build_map(settings: Settings, sizes: Sizes, key: int) -> MapTransformer | Transformer | None:
    """Return the map: a copy of the caller's, or one fitted to the rows' shape."""
    chosen = choose_map(settings, sizes)
    if chosen.name is None:
        return None
    if isinstance(settings.projection, Transformer):
        own: Transformer = clone(settings.projection)
        return own
    is_open = chosen.name == "svd" and settings.n_components == "auto" and settings.eps is None
    projection = MAPS[chosen.name](
        "auto" if is_open else chosen.n_components,
        eps=DEFAULT_EPS if settings.eps is None else settings.eps,
        n_clusters=settings.n_clusters,
        random_state=key,
        n_threads=settings.n_threads,
    )
    fit_shape(projection, sizes.n_rows, sizes.n_columns)
    return projection

"""What a run does, fixed before it begins: the estimator's parameters with every "auto" resolved.

Knows defaults and sizes; it looks at no row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from projected_kmeans.keys import resolve_key
from projected_kmeans.planning.approach import (
    FEW_RESTARTS,
    PLAIN_EPS,
    Approach,
    Sizes,
    choose_components,
    choose_effort,
    choose_projection,
)
from projected_kmeans.planning.memory_plan import MemoryPlan, plan_memory
from projected_kmeans.planning.settings import Settings
from projected_kmeans.projections.map_protocol import Transformer, fit_shape
from projected_kmeans.projections.named_maps import MAPS

# The sketch knows Euclidean k-means of unit rows only; passes over directions tell the difference.
COSINE_POLISH = 3


@dataclass(frozen=True)
class Recipe:
    """All that a run depends on beside the rows and their weights, nothing left to "auto".

    Attributes
    ----------
    n_clusters : int
        k.
    key : int
        What fixes all randomness.
    projection : RandomMap, transformer or None
        A map with its dimensions; another transformer, to be fitted; None for the original space.
    init : str, array-like or callable
        First centers, as `ProjectedKMeans` takes them.
    metric : str
        "euclidean" or "cosine".
    max_iter : int
        Passes over the sketch.
    tol : float
        As `ProjectedKMeans` takes it.
    approach : Approach
        Restarts, solver, tolerance and polishing.
    n_threads : int
        0 takes what OpenMP allows.
    memory : MemoryPlan
        What keeps the run within its limit of memory.
    """

    n_clusters: int
    key: int
    projection: Any
    init: Any
    metric: str
    max_iter: int
    tol: float
    approach: Approach
    n_threads: int
    memory: MemoryPlan


def resolve_recipe(
    settings: Settings, sizes: Sizes, *, stored: bool = False, distant: bool = False
) -> Recipe:
    """Return the recipe of a `ProjectedKMeans` for rows of this size, wherever they lie."""
    key = resolve_key(settings.random_state)
    projection, name, reason = _choose_projection(settings, key, sizes)
    t = getattr(projection, "n_components_", sizes.n_columns)
    drawn = isinstance(settings.init, str)
    approach = _follow_wishes(settings, choose_effort(sizes, name, t, reason, drawn=drawn))
    memory = plan_memory(
        settings.memory_limit,
        sizes,
        approach,
        stored=stored,
        distant=distant,
        spherical=settings.metric == "cosine",
        needs_all=settings.certificate is not None or callable(settings.init),
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
    )


def _follow_wishes(settings: Settings, planned: Approach) -> Approach:
    """Return the approach with what the caller fixed in the place of what was planned."""
    wishes: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("solver", "n_init", "inertia_tol", "polish_iter")
        if getattr(settings, name) != "auto"
    }
    if settings.metric == "cosine":
        if planned.projection is None:
            planned = replace(planned, solver="lloyd", inertia_tol=0.0, min_breathing_gain=math.inf)
        else:
            planned = replace(planned, polish_iter=max(planned.polish_iter, COSINE_POLISH))
    if callable(settings.init) and "n_init" not in wishes:
        wishes["n_init"] = FEW_RESTARTS
    candidates = settings.polish_candidates
    if candidates is None:
        wishes["polish_candidates"] = 0
    elif not isinstance(candidates, str):
        every = candidates >= settings.n_clusters
        wishes["polish_candidates"] = 0 if every else int(candidates)
    approach = replace(planned, **wishes)
    if "solver" in wishes or wishes.get("n_init") == 1:
        approach = replace(approach, min_breathing_gain=math.inf)
    if wishes.get("n_init") == 1 or approach.solver != "lloyd":
        # A single run needs no subsample, and other solvers are asked for their last digit.
        approach = replace(approach, subsample_rows=0)
    if approach.solver != "lloyd" and "inertia_tol" not in wishes:
        approach = replace(approach, inertia_tol=0.0)
    return approach


def _choose_projection(settings: Settings, key: int, sizes: Sizes) -> tuple[Any, str | None, str]:
    """Return the map for rows of this size, or the caller's own, its name, and the reason."""
    name, wanted, d = settings.projection, settings.n_components, sizes.n_columns
    if name is None:
        return None, None, "the caller wants no projection"
    if isinstance(name, Transformer):
        return clone(name), "transformer", "the caller has a map of their own"
    reason = "the caller wants this map"
    if name == "auto":
        name, t, reason = choose_projection(sizes, settings.eps)
        if isinstance(wanted, str):
            wanted = t
        elif wanted >= d:
            name, reason = None, f"n_components={wanted} keeps all columns"
        elif name is None:
            name, reason = "svd", f"n_components={wanted} is fewer than {d} columns"
        if name is None:
            return None, None, reason
    if wanted == "auto" and name == "svd":  # which alone caps what it takes unasked
        wanted = choose_components(name, sizes.n_clusters, d, settings.eps)
    projection = MAPS[name](
        wanted,
        eps=PLAIN_EPS if settings.eps is None else settings.eps,
        n_clusters=settings.n_clusters,
        random_state=key,
        n_threads=settings.n_threads,
    )
    fit_shape(projection, sizes.n_rows, d)
    return projection, name, reason

"""What a run does, fixed before it begins: the estimator's parameters with every "auto" resolved.

Knows defaults and sizes; it looks at no row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sklearn.base import clone

from projected_kmeans.checks import (
    check_choice,
    check_components,
    check_count,
    check_not_negative,
)
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
from projected_kmeans.planning.memory_plan import MemoryPlan, parse_memory, plan_memory
from projected_kmeans.projections.column_sampling import ColumnSampling
from projected_kmeans.projections.map_protocol import fit_shape
from projected_kmeans.projections.signs import PROJECTIONS
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.projections.target_dimension import check_eps
from projected_kmeans.solvers.seeding import SEEDINGS

# All maps by name, those that look at the rows last.
MAPS: Mapping[str, Any] = MappingProxyType(
    {**PROJECTIONS, "svd": SpectralProjection, "columns": ColumnSampling}
)

SOLVERS = ("lloyd", "hartigan", "breathing")
METRICS = ("euclidean", "cosine")

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


def check_parameters(model: Any) -> None:
    """Raise one sentence where a parameter of a `ProjectedKMeans` cannot be meant."""
    check_count("n_clusters", model.n_clusters)
    check_count("n_init", model.n_init, word="auto")
    check_count("max_iter", model.max_iter)
    check_count("polish_iter", model.polish_iter, minimum=0, word="auto")
    if model.polish_candidates is not None:
        check_count("polish_candidates", model.polish_candidates, word="auto")
    check_not_negative("tol", model.tol)
    if not (isinstance(model.inertia_tol, str) and model.inertia_tol == "auto"):
        check_not_negative("inertia_tol", model.inertia_tol)
    if model.eps is not None:
        check_eps(model.eps)
    check_choice("metric", model.metric, METRICS)
    check_choice("solver", model.solver, ("auto", *SOLVERS))
    if model.time_budget is not None:
        check_not_negative("time_budget", model.time_budget)
    parse_memory(model.memory_limit)
    if model.n_threads is not None:
        check_count("n_threads", model.n_threads)
    if isinstance(model.init, str):
        check_choice("init", model.init, SEEDINGS)
    if isinstance(model.projection, str) or not hasattr(model.projection, "transform"):
        check_choice("projection", model.projection, ("auto", *MAPS, None))


def check_sizes(model: Any, n_samples: int, n_features: int) -> None:
    """Raise one sentence where rows are too few for the clusters, or columns for the sketch."""
    if model.n_clusters > n_samples:
        raise ValueError(
            f"n_clusters={model.n_clusters} exceeds n_samples={n_samples}; use at most {n_samples}"
        )
    if isinstance(model.projection, str):
        check_components(model.n_components, n_features)


def resolve_recipe(
    model: Any, sizes: Sizes, *, stored: bool = False, distant: bool = False
) -> Recipe:
    """Return the recipe of a `ProjectedKMeans` for rows of this size, wherever they lie."""
    key = resolve_key(model.random_state)
    projection, name, reason = _choose_projection(model, key, sizes)
    t = getattr(projection, "n_components_", sizes.n_columns)
    drawn = isinstance(model.init, str)
    approach = _follow_wishes(model, choose_effort(sizes, name, t, reason, drawn=drawn))
    memory = plan_memory(
        model.memory_limit,
        sizes,
        approach,
        stored=stored,
        distant=distant,
        spherical=model.metric == "cosine",
        needs_all=model.certificate is not None or callable(model.init),
    )
    return Recipe(
        n_clusters=int(model.n_clusters),
        key=key,
        projection=projection,
        init=model.init,
        metric=model.metric,
        max_iter=int(model.max_iter),
        tol=float(model.tol),
        approach=approach,
        n_threads=model.n_threads or 0,
        memory=memory,
    )


def _follow_wishes(model: Any, planned: Approach) -> Approach:
    """Return the approach with what the caller fixed in the place of what was planned."""
    wishes: dict[str, Any] = {
        name: getattr(model, name)
        for name in ("solver", "n_init", "inertia_tol", "polish_iter")
        if getattr(model, name) != "auto"
    }
    if model.metric == "cosine":
        if planned.projection is None:
            planned = replace(planned, solver="lloyd", inertia_tol=0.0, min_breathing_gain=math.inf)
        else:
            planned = replace(planned, polish_iter=max(planned.polish_iter, COSINE_POLISH))
    if callable(model.init) and "n_init" not in wishes:
        wishes["n_init"] = FEW_RESTARTS
    candidates = model.polish_candidates
    if candidates != "auto":
        every = candidates is None or candidates >= model.n_clusters
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


def _choose_projection(model: Any, key: int, sizes: Sizes) -> tuple[Any, str | None, str]:
    """Return the map for rows of this size, or the caller's own, its name, and the reason."""
    name, wanted, d = model.projection, model.n_components, sizes.n_columns
    if name is None:
        return None, None, "the caller wants no projection"
    if hasattr(name, "transform"):
        return clone(name), "transformer", "the caller has a map of their own"
    reason = "the caller wants this map"
    if name == "auto":
        name, t, reason = choose_projection(sizes, model.eps)
        if isinstance(wanted, str):
            wanted = t
        elif wanted >= d:
            name, reason = None, f"n_components={wanted} keeps all columns"
        elif name is None:
            name, reason = "svd", f"n_components={wanted} is fewer than {d} columns"
        if name is None:
            return None, None, reason
    if wanted == "auto" and name == "svd":  # which alone caps what it takes unasked
        wanted = choose_components(name, sizes.n_clusters, d, model.eps)
    projection = MAPS[name](
        wanted,
        eps=PLAIN_EPS if model.eps is None else model.eps,
        n_clusters=model.n_clusters,
        random_state=key,
        n_threads=model.n_threads,
    )
    fit_shape(projection, sizes.n_rows, d)
    return projection, name, reason

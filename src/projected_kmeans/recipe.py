"""What a run does, fixed before it begins: the estimator's parameters with every "auto" resolved.

Knows defaults and sizes; it looks at no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.base import clone

from projected_kmeans.column_sampling import ColumnSampling
from projected_kmeans.dimensions import check_eps, target_dimension
from projected_kmeans.keys import resolve_key
from projected_kmeans.parameters import check_choice, check_count, check_not_negative
from projected_kmeans.projections import PROJECTIONS
from projected_kmeans.random_maps import fit_shape
from projected_kmeans.seeding import SEEDINGS
from projected_kmeans.spectral import SpectralProjection

# All maps by name, those that look at the rows last.
MAPS: Mapping[str, Any] = MappingProxyType(
    {**PROJECTIONS, "svd": SpectralProjection, "columns": ColumnSampling}
)

SOLVERS = ("lloyd", "hartigan", "breathing")

# Restarts cost little in the sketch; passes in the original space repair what it blurred.
AUTO_RESTARTS = 3
AUTO_POLISH = 2

# On digits, 16 candidates from a sketch of 64 signs gain 97 to 99 % of what full polish passes
# gain, in the time of about 50 centers; with fewer clusters that saves too little to pay for it.
AUTO_CANDIDATES = 16
CANDIDATES_FROM = 128


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
    n_init, max_iter, polish_iter : int
        Restarts, passes over the sketch, passes in the original space.
    solver : str
        "lloyd", "hartigan" or "breathing".
    tol, inertia_tol : float
        As `ProjectedKMeans` takes them.
    polish_candidates : int
        Centers that a polish pass looks at for each row; 0 for all.
    n_threads : int
        0 takes what OpenMP allows.
    """

    n_clusters: int
    key: int
    projection: Any
    init: Any
    n_init: int
    solver: str
    max_iter: int
    tol: float
    inertia_tol: float
    polish_iter: int
    polish_candidates: int
    n_threads: int


def check_parameters(model: Any) -> None:
    """Raise one sentence where a parameter of a `ProjectedKMeans` cannot be meant."""
    check_count("n_clusters", model.n_clusters)
    check_count("n_init", model.n_init, word="auto")
    check_count("max_iter", model.max_iter)
    check_count("polish_iter", model.polish_iter, least=0, word="auto")
    if model.polish_candidates is not None:
        check_count("polish_candidates", model.polish_candidates, word="auto")
    check_not_negative("tol", model.tol)
    check_not_negative("inertia_tol", model.inertia_tol)
    check_eps(model.eps)
    check_choice("solver", model.solver, SOLVERS)
    if model.time_budget is not None:
        check_not_negative("time_budget", model.time_budget)
    if model.n_threads is not None:
        check_count("n_threads", model.n_threads)
    if isinstance(model.init, str):
        check_choice("init", model.init, SEEDINGS)
    if isinstance(model.projection, str) or not hasattr(model.projection, "transform"):
        check_choice("projection", model.projection, ("auto", *MAPS, None))


def resolve_recipe(model: Any, n_samples: int, n_features: int) -> Recipe:
    """Return the recipe of a `ProjectedKMeans` for rows of this shape."""
    key = resolve_key(model.random_state)
    projection = _choose_projection(model, key, n_samples, n_features)
    n_init, polish_iter = model.n_init, model.polish_iter
    if n_init == "auto":
        drawn = isinstance(model.init, str) or callable(model.init)
        n_init = AUTO_RESTARTS if drawn else 1
    if polish_iter == "auto":
        polish_iter = 0 if projection is None else AUTO_POLISH
    return Recipe(
        n_clusters=int(model.n_clusters),
        key=key,
        projection=projection,
        init=model.init,
        n_init=int(n_init),
        solver=model.solver,
        max_iter=int(model.max_iter),
        tol=float(model.tol),
        inertia_tol=float(model.inertia_tol),
        polish_iter=int(polish_iter),
        polish_candidates=_choose_candidates(model, projection),
        n_threads=model.n_threads or 0,
    )


def _choose_candidates(model: Any, projection: Any) -> int:
    """Return how many centers a polish pass looks at for each row, 0 for all."""
    wanted = model.polish_candidates
    if wanted == "auto":
        worth = projection is not None and model.n_clusters >= CANDIDATES_FROM
        return AUTO_CANDIDATES if worth else 0
    return 0 if wanted is None or wanted >= model.n_clusters else int(wanted)


def _choose_projection(model: Any, key: int, n_samples: int, n_features: int) -> Any:
    """Return the map for rows of this shape, or the caller's own; None for all dimensions."""
    name = model.projection
    if name is None:
        return None
    if hasattr(name, "transform"):
        return clone(name)
    if name == "auto":
        wanted = model.n_components
        if isinstance(wanted, str):
            wanted = target_dimension(model.n_clusters, eps=model.eps, n_features=n_features)
        if wanted >= n_features:
            return None
        name = "sign"
    projection = MAPS[name](
        model.n_components,
        eps=model.eps,
        n_clusters=model.n_clusters,
        random_state=key,
        n_threads=model.n_threads,
    )
    fit_shape(projection, n_samples, n_features)
    return projection

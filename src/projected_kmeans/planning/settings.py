"""What the caller asked for: the parameters of `ProjectedKMeans` as one value, and their checks.

Planning and the fit take a `Settings` instead of the estimator, so that a reader sees all that they
can depend on. Here "auto" is still "auto": `approach.py` decides what it means.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import ArrayLike

from projected_kmeans.certificates.requests import check_certificate, check_guarantee
from projected_kmeans.certificates.semidefinite.proof_plan import MAX_PART_ROWS
from projected_kmeans.checks import (
    check_choice,
    check_clusters,
    check_components,
    check_count,
    check_flag,
    check_not_negative,
    check_threads,
)
from projected_kmeans.choices import METRICS, ON_MISSING, SKETCH_SOLVERS, SOLVERS
from projected_kmeans.keys import RandomState
from projected_kmeans.planning.memory_limit import parse_memory
from projected_kmeans.planning.restart_plan import DEFAULT_RESTARTS
from projected_kmeans.projections.map_protocol import Transformer
from projected_kmeans.projections.named_maps import MAPS
from projected_kmeans.projections.target_dimension import check_eps
from projected_kmeans.results import FitState
from projected_kmeans.solvers.kss04 import check_few_clusters
from projected_kmeans.solvers.own_solvers import OwnSolver, check_own_solver
from projected_kmeans.solvers.seeding import SEEDINGS
from projected_kmeans.solvers.trimming import count_trimmed

# The name of a solver that the caller made.
OWN_SOLVER = "own"
# The most rows of the solver "sdp", whose matrices have as many rows and columns.
MAX_SDP_ROWS = MAX_PART_ROWS


@dataclass(frozen=True, eq=False)
class Settings:
    """All parameters of a `ProjectedKMeans`, as the caller gave them.

    The fields have the names, types and defaults of the estimator's parameters, and its docstring
    explains them. Values are not checked when a `Settings` is made: `check_parameters` does that.

    Examples
    --------
    >>> from projected_kmeans import ProjectedKMeans
    >>> model = ProjectedKMeans(n_clusters=3, solver="lloyd")
    >>> settings = Settings.of(model.get_params(deep=False))
    >>> settings.n_clusters, settings.solver, settings.n_init
    (3, 'lloyd', 'auto')
    """

    n_clusters: int = 8
    projection: str | Transformer | None = "auto"
    n_components: int | str = "auto"
    eps: float | None = None
    metric: str = "euclidean"
    init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++"
    n_init: int | str = "auto"
    solver: str | OwnSolver = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    inertia_tol: float | str = "auto"
    time_budget: float | None = None
    polish_iter: int | str = "auto"
    polish_candidates: int | str | None = "auto"
    trim: float = 0.0
    min_cluster_size: float | None = None
    max_cluster_size: float | None = None
    balanced: bool = False
    on_missing: str = "error"
    certificate: str | None = None
    certificate_time: float | None = None
    guarantee: float | None = None
    random_state: RandomState = None
    n_threads: int | None = None
    memory_limit: int | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    callback: Callable[[FitState], object] | None = None
    verbose: int = 0

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """Return the settings that ``get_params(deep=False)`` of a `ProjectedKMeans` holds.

        Parameters of a subclass that the estimator does not have are left out.
        """
        return cls(**{field.name: parameters[field.name] for field in fields(cls)})


def check_parameters(settings: Settings) -> None:
    """Raise one sentence if a parameter has a type or a value that no fit can use."""
    check_count("n_clusters", settings.n_clusters)
    check_count("n_init", settings.n_init, word="auto")
    check_count("max_iter", settings.max_iter)
    check_count("polish_iter", settings.polish_iter, minimum=0, word="auto")
    if settings.polish_candidates is not None:
        check_count("polish_candidates", settings.polish_candidates, word="auto")
    check_not_negative("tol", settings.tol)
    if not (isinstance(settings.inertia_tol, str) and settings.inertia_tol == "auto"):
        check_not_negative("inertia_tol", settings.inertia_tol)
    if settings.eps is not None:
        check_eps(settings.eps)
    check_choice("metric", settings.metric, METRICS)
    check_choice("on_missing", settings.on_missing, ON_MISSING)
    check_certificate(settings.certificate, settings.certificate_time)
    if settings.guarantee is not None:
        check_guarantee(settings.guarantee)
    if isinstance(settings.solver, str):
        check_choice("solver", settings.solver, ("auto", *SOLVERS, *SKETCH_SOLVERS, "sdp"))
    else:
        check_own_solver(settings.solver)
    _check_trim(settings)
    _check_limits(settings)
    if settings.time_budget is not None:
        check_not_negative("time_budget", settings.time_budget)
    parse_memory(settings.memory_limit)
    check_threads(settings.n_threads)
    if isinstance(settings.init, str):
        check_choice("init", settings.init, SEEDINGS)
    if settings.solver == "cells" and not (
        isinstance(settings.init, str) and settings.init == "k-means++"
    ):
        raise ValueError(
            f'solver="cells" draws its own first centers, got init={settings.init!r}; '
            'use init="k-means++" or solver="lloyd"'
        )
    if not isinstance(settings.projection, Transformer):
        check_choice("projection", settings.projection, ("auto", *MAPS, None))
    if isinstance(settings.projection, str):
        check_count("n_components", settings.n_components, word="auto")


def _check_trim(settings: Settings) -> None:
    """Raise if the share of rows to set aside is none, or does not go with the other settings."""
    check_not_negative("trim", settings.trim)
    if settings.trim >= 1:
        raise ValueError(
            f"trim={settings.trim:g} leaves no rows; use a share below 1, such as 0.01"
        )
    if settings.trim and list_proofs(settings):
        raise ValueError(
            f"trim={settings.trim:g} goes with no certificate, guarantee or solver='sdp', because "
            "a bound would hold for the rows that are kept and not for the best choice of them; "
            "use trim=0, or certify the kept rows"
        )


def _check_limits(settings: Settings) -> None:
    """Raise if limits of cluster sizes are no sizes, or do not go with the other settings."""
    given = {
        name: getattr(settings, name)
        for name in ("min_cluster_size", "max_cluster_size")
        if getattr(settings, name) is not None
    }
    check_flag("balanced", settings.balanced)
    for name, size in given.items():
        check_not_negative(name, size)
    if not limits_sizes(settings):
        return
    if settings.balanced and given:
        name, size = next(iter(given.items()))
        raise ValueError(
            f"balanced=True sets both limits of cluster sizes, got {name}={size:g} as well; "
            "use one of them"
        )
    if len(given) == 2 and given["min_cluster_size"] > given["max_cluster_size"]:
        raise ValueError(
            f"min_cluster_size={given['min_cluster_size']:g} is above "
            f"max_cluster_size={given['max_cluster_size']:g}; exchange them"
        )
    if settings.trim:
        raise ValueError(
            f"trim={settings.trim:g} goes with no limits of cluster sizes; use trim=0, or cluster "
            "the kept rows once more with the limits"
        )
    if settings.solver in ("exact", "sdp"):
        raise ValueError(
            f"solver={settings.solver!r} finds the best clusters of any size, not those within "
            "limits; use solver='auto'"
        )


def limits_sizes(settings: Settings) -> bool:
    """Return whether the caller limits the sizes of clusters."""
    limits = settings.min_cluster_size, settings.max_cluster_size
    return bool(settings.balanced) or any(limit is not None for limit in limits)


def check_sizes(settings: Settings, n_samples: int, n_features: int) -> None:
    """Raise one sentence if there are more clusters than rows, or more components than columns."""
    check_clusters(settings.n_clusters, n_samples)
    if settings.solver == "kss04":
        check_few_clusters(settings.n_clusters)
    n_far = count_trimmed(settings.trim, n_samples)
    if settings.n_clusters > n_samples - n_far:
        raise ValueError(
            f"trim={settings.trim:g} sets {n_far} of {n_samples} rows aside, which leaves fewer "
            f"than n_clusters={settings.n_clusters}; use a smaller share or fewer clusters"
        )
    if settings.solver == "sdp" and n_samples > MAX_SDP_ROWS:
        raise ValueError(
            f'solver="sdp" takes at most {MAX_SDP_ROWS} rows, and X has {n_samples}; '
            'use solver="auto"'
        )
    if isinstance(settings.projection, str):
        check_components(settings.n_components, n_features)


def list_proofs(settings: Settings) -> tuple[str, ...]:
    """Return the methods of proof that a fit tries, in their order.

    A guarantee is first tried with little work and then with much, unless the caller names the
    method. The solver "sdp" is a method of proof that also finds labels.

    Examples
    --------
    >>> list_proofs(Settings(guarantee=1.01)), list_proofs(Settings(certificate="full"))
    (('auto', 'full'), ('full',))
    """
    if settings.certificate is not None:
        return (settings.certificate,)
    if settings.guarantee is not None:
        return ("auto", "full")
    return ("semidefinite",) if settings.solver == "sdp" else ()


def list_fixed(settings: Settings) -> dict[str, Any]:
    """Return the fields of the approach that the caller fixed, with their values."""
    given = {
        "solver": settings.solver if isinstance(settings.solver, str) else OWN_SOLVER,
        "n_init": settings.n_init,
        "inertia_tol": settings.inertia_tol,
        "polish_iter": settings.polish_iter,
    }
    # The solver "sdp" improves what "auto" finds.
    fixed: dict[str, Any] = {
        name: value for name, value in given.items() if value not in ("auto", "sdp")
    }
    if callable(settings.init):
        fixed.setdefault("n_init", DEFAULT_RESTARTS)
    elif not isinstance(settings.init, str) and "n_init" in fixed:
        fixed["n_init"] = 1  # restarts from the same centers would all be the same
    candidates = settings.polish_candidates
    if candidates is None:
        fixed["polish_candidates"] = 0
    elif not isinstance(candidates, str):
        # As many candidates as clusters, or more, are a full pass.
        fixed["polish_candidates"] = int(candidates) if candidates < settings.n_clusters else 0
    return fixed

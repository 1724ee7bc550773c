"""What the caller asked for: the parameters of `ProjectedKMeans` as one value, and their checks.

Planning and the fit take a `Settings` instead of the estimator, so that a reader sees all that they
can depend on. Here "auto" is still "auto": `approach.py` decides what it means, from `Sizes`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.holes import Holes
from projected_kmeans.checks import (
    check_choice,
    check_count,
    check_not_negative,
    check_threads,
)
from projected_kmeans.choices import METRICS, ON_MISSING, SEEDING_NAMES, SKETCH_SOLVERS, SOLVERS
from projected_kmeans.keys import RandomState
from projected_kmeans.projections.map_protocol import Transformer
from projected_kmeans.projections.maps import MAPS
from projected_kmeans.projections.target_dimension import check_eps
from projected_kmeans.results import FitState
from projected_kmeans.search.own_solvers import OwnSolver, check_own_solver

# The most clusters of KSS04, whose time grows as a constant to the power of k.
MAX_CLUSTERS = 4

Parameters = ParamSpec("Parameters")
Estimator = TypeVar("Estimator")

# The word for clusters of equal size, in place of the largest one.
EQUAL = "equal"

# The name of a solver that the caller made.
OWN_SOLVER = "own"
# Solvers of earlier versions, and what to use in their place.
GONE = {
    "cells": "solver='auto' compares rows with near centers by itself where there are many",
    "breathing": "solver='auto' moves centers by itself as long as that pays",
}

# Parameters of other programs and of earlier versions, and what to use in their place.
OTHER_PARAMETERS = {
    "algorithm": "leave it out, because passes skip distances by bounds, as 'elkan' does; solver "
    "chooses the method",
    "balanced": "use max_cluster_size='equal'",
    "certificate_time": "use time_budget, which bounds the proof as well",
    "copy_x": "leave it out, because X is never changed",
    "inertia_tol": "use tol=0 to run until nothing changes, or time_budget to end earlier",
    "n_jobs": "use n_threads",
    "polish_candidates": "leave it out, because the number of clusters decides it",
}

# Units of memory in bytes: of 1000 (KB) and of 1024 (KiB).
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# A share of 0.29 of 100 rows is 29 rows, although 0.29 * 100 is below 29 in float64.
ROUNDING = 1 + 1e-12


@dataclass(frozen=True)
class Sizes:
    """How large a job is, and where its rows are: all that planning knows about the rows."""

    n_rows: int
    n_columns: int
    n_clusters: int
    itemsize: int  # bytes of an entry
    n_nonzeros: int | None = None  # stored entries of sparse rows; None for dense rows
    stored: bool = False  # rows are not in the memory of this process
    distant: bool = False  # Dask computes the rows
    keeps_rows: bool = False  # there is a cluster, whose workers can keep what a fit makes of rows

    @classmethod
    def of(cls, rows: BlockSource, n_clusters: int) -> Sizes:
        """Return the sizes of clustering these rows."""
        size = (*rows.shape, n_clusters, rows.dtype.itemsize, rows.nnz)
        return cls(*size, not rows.resident, rows.distant, rows.keeps_new_rows)

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.n_nonzeros is not None

    @property
    def n_entries(self) -> int:
        """Entries that a pass over the rows reads."""
        return self.n_rows * self.n_columns if self.n_nonzeros is None else self.n_nonzeros

    @property
    def data_bytes(self) -> int:
        """Bytes that a pass over the rows reads: entries, and 4 bytes a column index if sparse."""
        if self.n_nonzeros is None:
            return self.n_rows * self.n_columns * self.itemsize
        return self.n_nonzeros * (self.itemsize + 4)

    @property
    def sketch_itemsize(self) -> int:
        """Bytes of a number in the sketch: 8 for rows of float64, 4 for all smaller types."""
        return 8 if self.itemsize == 8 else 4


@dataclass(frozen=True, eq=False)
class Settings:
    """All parameters of a `ProjectedKMeans`, as the caller gave them.

    The fields have the names, types and defaults of the estimator's parameters, and its docstring
    explains them. Values are not checked when a `Settings` is made: `check_parameters` does that.
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
    time_budget: float | None = None
    polish_iter: int | str = "auto"
    trim: float = 0.0
    min_cluster_size: float | None = None
    max_cluster_size: float | str | None = None
    on_missing: str = "error"
    certificate: str | None = None
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
        return cls(*map(parameters.__getitem__, cls.__dataclass_fields__))


def explain_other_parameters(
    init: Callable[Concatenate[Estimator, Parameters], None],
) -> Callable[Concatenate[Estimator, Parameters], None]:
    """Return a constructor that says what to use in place of a parameter that it does not have."""

    @wraps(init)
    def explained(
        self: Estimator, /, *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> None:
        for name in OTHER_PARAMETERS.keys() & named.keys():
            raise TypeError(f"{name} is not a parameter here; {OTHER_PARAMETERS[name]}")
        init(self, *arguments, **named)

    return explained


def check_parameters(settings: Settings) -> None:
    """Raise one sentence if a parameter has a type or a value that no fit can use."""
    check_count("n_clusters", settings.n_clusters)
    check_count("n_init", settings.n_init, word="auto")
    check_count("max_iter", settings.max_iter)
    check_count("polish_iter", settings.polish_iter, minimum=0, word="auto")
    check_not_negative("tol", settings.tol)
    if settings.eps is not None:
        check_eps(settings.eps)
    check_choice("metric", settings.metric, METRICS)
    check_choice("on_missing", settings.on_missing, ON_MISSING)
    if isinstance(settings.solver, str):
        if settings.solver in GONE:
            raise ValueError(f"solver={settings.solver!r} is gone: {GONE[settings.solver]}")
        check_choice("solver", settings.solver, ("auto", *SOLVERS, *SKETCH_SOLVERS, "sdp"))
    else:
        check_own_solver(settings.solver)
    check_not_negative("trim", settings.trim)
    if settings.trim:
        _check_trim(settings)
    for name in ("min_cluster_size", "time_budget"):
        if getattr(settings, name) is not None:
            check_not_negative(name, getattr(settings, name))
    if limits_sizes(settings):
        _check_limits(settings)
    if settings.memory_limit is not None:
        parse_memory(settings.memory_limit)
    check_threads(settings.n_threads)
    if isinstance(settings.init, str):
        check_choice("init", settings.init, SEEDING_NAMES)
    if not isinstance(settings.projection, Transformer):
        check_choice("projection", settings.projection, ("auto", *MAPS, None))
    if isinstance(settings.projection, str):
        check_count("n_components", settings.n_components, word="auto")


def _check_trim(settings: Settings) -> None:
    """Raise if the share of rows to set aside is all, or does not go with the other settings."""
    if settings.trim >= 1:
        raise ValueError(
            f"trim={settings.trim:g} leaves no rows; use a share below 1, such as 0.01"
        )
    if list_proofs(settings):
        raise ValueError(
            f"trim={settings.trim:g} goes with no certificate, guarantee or solver='sdp', because "
            "a bound would hold for the rows that are kept and not for the best choice of them; "
            "use trim=0, or certify the kept rows"
        )


def _check_limits(settings: Settings) -> None:
    """Raise if limits of cluster sizes do not go with each other or with the other settings."""
    least, most = settings.min_cluster_size, settings.max_cluster_size
    if isinstance(most, str):
        if most != EQUAL:
            raise ValueError(f"max_cluster_size={most!r} is not known; use a number or {EQUAL!r}")
        if least is not None:
            raise ValueError(
                f"max_cluster_size={EQUAL!r} sets both limits of cluster sizes, got "
                f"min_cluster_size={least:g} as well; use one of them"
            )
    elif most is not None:
        check_not_negative("max_cluster_size", most)
        if least is not None and least > most:
            raise ValueError(
                f"min_cluster_size={least:g} is above max_cluster_size={most:g}; exchange them"
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
    return settings.min_cluster_size is not None or settings.max_cluster_size is not None


def check_sizes(settings: Settings, n_samples: int, n_features: int) -> None:
    """Raise one sentence if there are more clusters than rows, or more components than columns."""
    check_count("n_clusters", settings.n_clusters, most=("n_samples", n_samples))
    if settings.solver == "kss04":
        check_few_clusters(settings.n_clusters)
    if settings.trim:
        n_far = count_trimmed(settings.trim, n_samples)
        if settings.n_clusters > n_samples - n_far:
            raise ValueError(
                f"trim={settings.trim:g} sets {n_far} of {n_samples} rows aside, which leaves "
                f"fewer than n_clusters={settings.n_clusters}; use a smaller share or fewer "
                "clusters"
            )
    if isinstance(settings.projection, str):
        most = "n_features", n_features
        check_count("n_components", settings.n_components, most=most, word="auto")


def count_trimmed(share: float, n_rows: int) -> int:
    """Return how many of n rows without weights a share is, rounded down."""
    return math.floor(share * n_rows * ROUNDING)


def list_proofs(settings: Settings) -> tuple[str, ...]:
    """Return the methods of proof that a fit tries, in their order.

    A guarantee is first tried with little work and then with much, unless the caller names the
    method. The solver "sdp" is a method of proof that also finds labels.
    """
    if settings.certificate is not None:
        return (settings.certificate,)
    if settings.guarantee is not None:
        return ("auto", "full")
    return ("semidefinite",) if settings.solver == "sdp" else ()


def parse_memory(limit: int | str | None) -> int | None:
    """Return a limit of memory in bytes: bytes, or a number with a unit; None if there is none."""
    if limit is None:
        return None
    if not isinstance(limit, str):
        check_count("memory_limit", limit)
        return int(limit)
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", limit, re.IGNORECASE)
    size = float(match[1]) * UNITS.get(match[2].upper(), 0) if match is not None else 0.0
    if not 0 < size < math.inf:
        raise ValueError(
            f"memory_limit={limit!r} is not a size; use bytes or a text such as '500MB' or '2GiB'"
        )
    return int(size)


def renumber_init(settings: Settings, holes: Holes) -> Settings:
    """Return settings whose ``init``, if it holds indices of rows, counts complete rows only.

    Rows with holes (``on_missing="skip"``) are left out by `blocks.holes`, so that the steps see
    the other rows only.
    """
    init = settings.init
    if not len(holes.rows) or isinstance(init, str) or callable(init) or np.ndim(init) != 1:
        return settings
    rows = np.asarray(init)
    hit = rows[np.isin(rows, holes.rows)]
    if len(hit):
        raise ValueError(
            f"init names row {hit[0]}, which has a hole (NaN) and is skipped; name complete rows"
        )
    inside = rows.dtype.kind in "iu" and bool((rows >= 0).all() and (rows < holes.n_rows).all())
    # Other arrays are refused with the numbers that the caller gave.
    return replace(settings, init=holes.renumber(rows)) if inside else settings


def check_few_clusters(n_clusters: int) -> None:
    """Raise if there are more clusters than the search can take."""
    if n_clusters > MAX_CLUSTERS:
        raise ValueError(
            f"n_clusters={n_clusters} is too many for KSS04, whose time grows as a constant to the "
            f"power of k; use at most {MAX_CLUSTERS}, or another solver"
        )

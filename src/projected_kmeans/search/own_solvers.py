"""CLUSTER: solvers of the caller: a scikit-learn clusterer, or a function that returns labels.

Gives such a solver the rows, the number of clusters and a seed, and checks the labels that it
returns. Nothing else is known of it, so that every error here names it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.results import Floats, Labels

WEIGHTS = "sample_weight"
ADVICE = "use an estimator such as KMeans(), or a function (sketch, n_clusters, random_state)"


@runtime_checkable
class Clusterer(Protocol):
    """What is asked of a scikit-learn clusterer; one of its parameters is ``n_clusters``."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters."""

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters and return the estimator itself."""

    def fit(self, X: Any) -> Any:
        """Cluster the rows of X, and keep the cluster of each in ``labels_``."""


# From rows, k and a seed to the label of every row.
LabelFunction: TypeAlias = Callable[..., Any]
OwnSolver: TypeAlias = Clusterer | LabelFunction


def check_own_solver(solver: Any) -> None:
    """Raise unless this is an estimator with ``n_clusters``, or a function."""
    if isinstance(solver, type):
        raise TypeError(f"solver={solver.__name__} is a class; use {solver.__name__}()")
    if isinstance(solver, Clusterer):
        if "n_clusters" not in solver.get_params(deep=False):
            raise TypeError(f"solver={solver!r} has no parameter n_clusters; {ADVICE}")
    elif not callable(solver):
        raise TypeError(f"solver={solver!r} is neither a name nor a solver; {ADVICE}")


def name_solver(solver: str | OwnSolver) -> str:
    """Return a name as it is, and else the name of an estimator's class or of a function."""
    if isinstance(solver, str):
        return solver
    return type(solver).__name__ if isinstance(solver, Clusterer) else name_function(solver)


def name_function(function: LabelFunction) -> str:
    """Return the name of a function; that of the class if it is an object that can be called."""
    return str(getattr(function, "__qualname__", type(function).__name__))


def check_weighted_solver(solver: OwnSolver) -> None:
    """Raise if rows have weights that this solver would ignore: it has no ``sample_weight``."""
    try:
        called = solver.fit if isinstance(solver, Clusterer) else solver
        takes_weights = WEIGHTS in inspect.signature(called).parameters
    except ValueError:  # a function in C without a signature
        takes_weights = False
    if not takes_weights:
        raise ValueError(
            f"the solver {name_solver(solver)} takes no {WEIGHTS}; use a solver that does, or no "
            "weights"
        )


def run_own_solver(
    solver: OwnSolver, rows: NDArray[Any], n_clusters: int, seed: int, weights: Floats | None
) -> Labels:
    """Return the labels that a solver of the caller gives to rows, which are read-only for it.

    An estimator is cloned first; its ``n_clusters`` and, if it has one, its ``random_state`` are
    set to k and the seed, which is below 2**32. It runs with one BLAS thread, so that its labels do
    not depend on the number of processors.
    """
    given = rows.view()
    given.flags.writeable = False
    options = {} if weights is None else {WEIGHTS: weights}
    with one_blas_thread():
        if isinstance(solver, Clusterer):
            copied = clone(solver).set_params(n_clusters=n_clusters)
            if "random_state" in copied.get_params(deep=False):
                copied.set_params(random_state=seed)
            fitted = copied.fit(given, **options)
            try:
                labels = fitted.labels_
            except AttributeError:
                name = name_solver(solver)
                raise TypeError(
                    f"the solver {name} has no labels_ after its fit; {ADVICE}"
                ) from None
        else:
            labels = solver(given, n_clusters, seed, **options)
    return _check_labels(np.asarray(labels), name_solver(solver), len(rows), n_clusters)


def _check_labels(labels: NDArray[Any], name: str, n_rows: int, n_clusters: int) -> Labels:
    """Return labels as int32; raise one sentence unless every row has one of 0, ..., k - 1."""
    if labels.shape != (n_rows,):
        raise ValueError(
            f"the solver {name} returned labels of shape {labels.shape} for {n_rows} rows; return "
            "one integer for every row"
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        row = int(np.argmax(np.isnan(labels)))
        raise ValueError(f"the solver {name} returned NaN for row {row}; return integers")
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"the solver {name} returned labels of type {labels.dtype}; return integers"
        )
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise ValueError(
            f"the solver {name} returned labels from {labels.min()} to {labels.max()}; return "
            f"integers from 0 to {n_clusters - 1}"
        )
    return labels.astype(np.int32)

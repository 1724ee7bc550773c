"""Warnings after a fit that found fewer clusters, proved less than was asked, or was interrupted.

Warns; it changes nothing.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.certificates.certificate import OPTIMAL_RATIO, Certificate
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.search.approach import choose_approach
from projected_kmeans.search.memory_plan import works_there
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.settings import Settings, Sizes

# Frames of these packages are passed over on the way to the caller; decorators live in contextlib.
INNER = ("projected_kmeans", "contextlib")

# Rows on a cluster of which this process may keep something without a warning, 6 GB of memory.
MAX_CLIENT_ROWS = 10**8


def warn_caller(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line that called this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in INNER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_fit(
    sketched: Clustering, polished: Clustering, recipe: Recipe, stopped: str | None
) -> None:
    """Warn if some clusters are empty, and if Ctrl-C ended the fit.

    A cluster that was not empty in the sketch lost its rows when they got their nearest centers.
    """
    n_filled, n_clusters = int(np.count_nonzero(polished.mass > 0)), recipe.n_clusters
    if n_filled < n_clusters:
        reason = "Possibly due to duplicate points in X: use fewer clusters"
        if recipe.own_solver is not None:
            name = recipe.solver_name
            reason = f"The solver {name} returned no more: use fewer clusters or another solver"
        if np.count_nonzero(sketched.mass > 0) > n_filled:
            reason = "The fit ended before it converged: raise max_iter"
            if recipe.projection is not None:
                reason = "No row is nearest to the other centers: raise polish_iter"
        warn_caller(
            # scikit-learn's words, so that filters of warnings that programs have go on to work.
            f"Number of distinct clusters ({n_filled}) found smaller than n_clusters "
            f"({n_clusters}). {reason}"
        )
    if stopped == "interrupted":
        warn_caller("The fit was interrupted and keeps the best result so far; fit again for more")


def warn_of_client(
    rows: BlockSource, settings: Settings, sizes: Sizes, weights: Floats | None
) -> None:
    """Warn if a fit on a cluster keeps something of very many rows in this process."""
    if not rows.keeps_new_rows or rows.shape[0] <= MAX_CLIENT_ROWS:
        return
    asked = {
        "sample_weight": weights is not None,
        "trim": bool(settings.trim),
        "on_missing='skip'": settings.on_missing == "skip",
    }
    reasons = [name for name, is_asked in asked.items() if is_asked]
    approach = choose_approach(settings, sizes)
    if not works_there(settings, approach):
        reasons.append(f"solver={approach.solver!r} on all rows")
    if reasons:
        warn_caller(
            f"{rows.shape[0]} rows lie on a cluster, but {' and '.join(reasons)} keeps up to 60 "
            "bytes of each in this process; docs/scale.md says what stays on the workers",
            RuntimeWarning,
        )


def warn_of_init(init: Any, n_init: int | str) -> None:
    """Warn, as scikit-learn does, if restarts were asked for that would all be the same."""
    if isinstance(init, str) or callable(init) or isinstance(n_init, str) or n_init == 1:
        return
    warn_caller(
        "Explicit initial center position passed: performing only one init in ProjectedKMeans "
        f"instead of n_init={n_init}.",
        RuntimeWarning,
    )


def warn_of_gamma(solver: str, gamma: float | None) -> None:
    """Warn if the solver "exact" could not prove that its partition of the sketch is optimal."""
    if solver != "exact" or (gamma is not None and gamma <= OPTIMAL_RATIO):
        return
    known = "nothing is proven about it"
    if gamma is not None and math.isfinite(gamma):
        known = f"it is proven to be within a factor of {gamma:.6g} of the lowest possible"
    warn_caller(
        f'solver="exact" could not prove that its inertia in the sketch is the lowest: {known}'
    )


def warn_of_guarantee(guarantee: float | None, certificate: Certificate | None) -> None:
    """Warn if a guarantee was asked for and is not met."""
    if guarantee is None or (certificate is not None and certificate.ended == "met"):
        return
    reached = "the fit was stopped before anything was proven"
    if certificate is not None:
        kind = "proven" if certificate.certain else "probable"
        why = "the time was over" if certificate.ended == "time" else "nothing gained any more"
        reached = f"{certificate.ratio:.5g} is {kind}, and {why}"
        if math.isinf(certificate.ratio):
            reached = f"nothing is proven, and {why}"
    warn_caller(f"guarantee={guarantee:g} is not met: {reached}")

"""Set far rows aside: before the other steps, and once more after them (``trim``).

Far rows get the weight 0 before rows are reduced, because a few of them can take all principal
directions and all first centers. The steps then cluster the other rows. At the end, passes in the
original space choose anew which rows are far, and move the centers.
"""

from __future__ import annotations

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.fit.fit_checkpoint import Finished
from projected_kmeans.fit.reduction import open_problem
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Floats
from projected_kmeans.solvers.trimming import find_far_rows, run_trimmed, weigh

# Passes at the end, each of which reads the rows three times. Few rows change sides by then.
LAST_PASSES = 10


def weigh_near_rows(
    trim: float, recipe: Recipe, source: BlockSource, weights: Floats | None
) -> Floats | None:
    """Return the weights of rows with 0 for rows that seem far; unchanged without ``trim``.

    Parameters
    ----------
    trim : float
        The share of the rows, or of their weight, to set aside.
    recipe : Recipe
        The number of clusters, the key, the metric.
    source : BlockSource
        The rows.
    weights : ndarray of float64 (n,) or None
        Their weights.
    """
    if not trim:
        return weights
    problem = _open(recipe, source, weights)
    return weigh(problem, find_far_rows(problem, recipe.n_clusters, trim, recipe.key)).weights


def trim_partition(
    trim: float, recipe: Recipe, original: Problem, weights: Floats | None, found: Finished
) -> Finished:
    """Return the partition after passes that set far rows aside; unchanged without ``trim``.

    Parameters
    ----------
    trim : float
        The share of the rows, or of their weight, to set aside.
    recipe : Recipe
        The number of clusters, the key, the metric.
    original : Problem
        The rows, with weights of which some may be 0 because of `weigh_near_rows`.
    weights : ndarray of float64 (n,) or None
        The weights that the caller gave.
    found : Finished
        The partition that the other steps have found.
    """
    if not trim:
        return found
    whole = Problem(
        original.source, original.ranges, weights, original.n_threads, original.spherical
    )
    ended = run_trimmed(whole, found.polished.centers, trim, LAST_PASSES)
    far = np.flatnonzero(~ended.kept).astype(np.int64)
    return Finished(found.sketched, ended.found, None, far, ended.distance)


def _open(recipe: Recipe, source: BlockSource, weights: Floats | None) -> Problem:
    ranges = scan_columns(source, recipe.n_threads)
    spherical = recipe.metric == "cosine"
    return open_problem(source, ranges, weights, recipe.n_threads, spherical=spherical)

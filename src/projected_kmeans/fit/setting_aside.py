"""Set rows aside: rows with holes before all steps, far rows before and after them (``trim``).

Rows with holes (``on_missing="skip"``) are left out by `blocks.holes`, so that the steps see the
other rows only. Here the row indices that the caller gave, and those that the steps found, are
translated.

Far rows get the weight 0 before rows are reduced, because a few of them can take all principal
directions and all first centers. The steps then cluster the other rows. At the end, passes in the
original space choose anew which rows are far, and move the centers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.holes import Holes
from projected_kmeans.fit.fit_checkpoint import Finished
from projected_kmeans.fit.reduction import open_problem
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.planning.settings import Settings
from projected_kmeans.results import Floats
from projected_kmeans.solvers.trimming import find_far_rows, run_trimmed, weigh

# Passes at the end, each of which reads the rows three times. Few rows change sides by then.
LAST_PASSES = 10


def renumber_init(settings: Settings, holes: Holes) -> Settings:
    """Return settings whose ``init``, if it holds indices of rows, counts complete rows only."""
    init = settings.init
    if isinstance(init, str) or callable(init) or np.ndim(init) != 1 or not len(holes.rows):
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
    return replace(found, polished=ended.found, trimmed=far, trim_distance=ended.distance)


def _open(recipe: Recipe, source: BlockSource, weights: Floats | None) -> Problem:
    ranges = scan_columns(source, recipe.n_threads)
    spherical = recipe.metric == "cosine"
    return open_problem(source, ranges, weights, recipe.n_threads, spherical=spherical)

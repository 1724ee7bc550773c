"""SEED: the first centers of every restart, by a seeding's name, or as the caller gave them.

Knows all that ``init`` may be; how a seeding chooses rows is told by the modules of ``solvers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.checks import check_init
from projected_kmeans.fit.reduction import open_sketch, transform_rows
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.projections.map_protocol import RandomMap, fit_shape, sketch_rows
from projected_kmeans.projections.signs import SignProjection
from projected_kmeans.results import Floats
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.seeding import SEEDINGS, count_seeding_columns, seed_centers


@dataclass(frozen=True)
class FirstCenters:
    """Where restarts begin.

    Attributes
    ----------
    recipe : Recipe
        Its ``init`` says how: the name of a seeding, an array of centers or of row indices, or a
        callable that returns one of these arrays.
    original : Problem
        The rows as the caller gave them.
    sketch : Problem
        The sketch, or the subsample of it that restarts run on. Centers lie in its space.
    measured : Problem
        The same rows in the form that seedings measure: ``sketch`` itself, unless that is sparse.
    """

    recipe: Recipe
    original: Problem
    sketch: Problem
    measured: Problem

    def draw(self, restart: int, on_center: OnCenter) -> Floats:
        """Return the first centers of one restart; ``on_center`` is told of each that is chosen."""
        init, n_clusters = self.recipe.init, self.recipe.n_clusters
        stream = open_stream(self.recipe.key, SEEDING, restart)
        if callable(init):
            state = np.random.RandomState(int(stream.integers(2**32)))
            init = init(self.original.source.select(), n_clusters, random_state=state)
        if not isinstance(init, str):
            return self._take_given(init)
        if self.measured is self.sketch:
            return seed_centers(init, self.sketch, n_clusters, stream, on_center=on_center)
        rows = SEEDINGS[init](self.measured, n_clusters, stream, on_center)
        return self.sketch.source.take(rows)

    def _take_given(self, init: Any) -> Floats:
        """Return centers that the caller gave in the original space, in that of the sketch."""
        recipe = self.recipe
        given = check_init(init, recipe.n_clusters, self.original.source.shape)
        if given.ndim == 1:
            return self.sketch.source.take(given)
        if recipe.projection is None:
            return given
        if isinstance(recipe.projection, RandomMap):
            return sketch_rows(recipe.projection, ArrayBlocks(given))
        return transform_rows(recipe.projection, given).astype(np.float64)


def sketch_for_seeding(recipe: Recipe, sketch: Problem, monitor: Monitor) -> Problem:
    """Return the rows that seedings measure: those of the sketch, or few dense columns of them.

    Sparse rows, which are clustered without a map, are seeded on a sign sketch: a seeding measures
    rows against rows, which is slow where these are sparse.
    """
    if not sketch.source.sparse or not isinstance(recipe.init, str):
        return sketch
    width = count_seeding_columns(sketch.source.shape[1])
    monitor.note("seed: on a sign sketch of %d columns, because rows are sparse", width)
    signs = SignProjection(width, random_state=recipe.key, n_threads=recipe.n_threads or None)
    fit_shape(signs, *sketch.source.shape)
    signed = ArrayBlocks(sketch_rows(signs, sketch.source))
    return open_sketch(recipe, signed, sketch.weights)

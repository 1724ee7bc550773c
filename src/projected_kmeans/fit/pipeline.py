"""The steps in their order: reduce, seed, cluster, lift, polish.

Composes what the step modules do; every choice is made already and stands in the recipe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.checked_blocks import CheckedBlocks, CheckedRows
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.element_types import as_native, compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.checks import check_init
from projected_kmeans.fit.fit_checkpoint import keep_map, recall_map
from projected_kmeans.fit.storage import Storage
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.passes.assignment import share_work
from projected_kmeans.passes.candidate_search import CandidateSearch, list_candidates
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.projections.map_protocol import RandomMap, fill_sketch, fit_shape, sketch_rows
from projected_kmeans.projections.signs import SignProjection
from projected_kmeans.results import Clustering, Floats, Lifted
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.kmeans_plus_plus import OnCenter
from projected_kmeans.solvers.lifting import lift
from projected_kmeans.solvers.restarts import Effort, draw_subsample, first_of_lowest, run_restarts
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.seeding import SEEDINGS, seed_centers

# Dimensions of the sketch in which sparse rows are seeded where nothing is projected.
SEEDING_COMPONENTS = 64


class Reduced(NamedTuple):
    """The rows as they are, and in few dimensions; the same where nothing is projected."""

    original: Problem
    sketch: Problem


def reduce_rows(
    recipe: Recipe,
    source: BlockSource,
    weights: Floats | None,
    run: Run,
    storage: Storage | None = None,
) -> Reduced:
    """Look at every row, as all must be finite and sums need the columns' ranges, and reduce it.

    Rows in memory are looked at before all else. Where they are read from elsewhere, a map of this
    package reduces them in the same walk.
    """
    storage = storage or Storage()
    spherical = recipe.metric == "cosine"
    _check_solver(recipe, source)
    checked = CheckedBlocks(source, recipe.n_threads)
    n_rows, row_bytes = source.shape[0], source.stored_row_bytes
    if source.resident or not isinstance(recipe.projection, RandomMap):
        with run.monitor.step("check", n_rows, unit_bytes=row_bytes):
            _check(checked, run)
    sketch: Problem | None = None
    if recipe.projection is not None:
        with run.monitor.step("reduce", n_rows, unit_bytes=row_bytes):
            array = _sketch(recipe, checked, weights, run, storage)
            sketch = _open_sketch(recipe, storage.open_sketch(array), weights)
    original = open_problem(source, checked.ranges, weights, recipe.n_threads, spherical=spherical)
    return Reduced(original, sketch or original)


def _check(checked: CheckedBlocks, run: Run) -> None:
    """Look at all rows; of those that are stored, at the ones that no earlier run has seen."""
    stored = not checked.source.resident
    known = run.recall("check", CheckedRows) if stored else None

    def report(done: int) -> None:
        if stored:
            run.checkpoint.keep("check", CheckedRows(done, checked.ranges_so_far))
        run.monitor.report(done)

    if known is not None:
        checked.resume(known.ranges)
        run.monitor.skip(known.n_rows)
    checked.check(report, 0 if known is None else known.n_rows)


def _check_solver(recipe: Recipe, source: BlockSource) -> None:
    solver, spherical = recipe.approach.solver, recipe.metric == "cosine"
    if (source.sparse or spherical) and recipe.projection is None and solver != "lloyd":
        kind = "sparse rows" if source.sparse else "metric='cosine'"
        raise ValueError(
            f"solver={solver!r} needs a projection with {kind}, got none; "
            "use projection='sign' or solver='lloyd'"
        )


def _sketch(
    recipe: Recipe, checked: CheckedBlocks, weights: Floats | None, run: Run, storage: Storage
) -> Any:
    """Return the rows in few dimensions, where the storage has them."""
    rows = UnitRows(checked) if recipe.metric == "cosine" else checked
    projection = recipe.projection
    if not isinstance(projection, RandomMap):
        array = rows.select()
        return _transform(projection.fit(array), array)

    def report(done: int) -> None:
        storage.settle(done, checked)
        run.monitor.report(done)

    if not recall_map(run.checkpoint, projection):
        projection.learn(rows, weights)
        keep_map(run.checkpoint, projection)
        _native.release_memory()  # so that what directions took is not added to the sketch
    shape = rows.shape[0], projection.n_components_
    sketch = storage.new_sketch(shape, compute_type(rows.dtype))
    first = storage.resume_sketch(checked)
    run.monitor.skip(first)
    fill_sketch(projection, rows, sketch, report, first)
    return sketch


def open_problem(
    source: BlockSource,
    ranges: ColumnRanges,
    weights: Floats | None,
    n_threads: int,
    *,
    spherical: bool,
) -> Problem:
    """Return rows of known ranges as a problem, brought to length one where directions count."""
    if spherical:
        unit = UnitRows(source)
        return Problem(unit, unit.bound(ranges), weights, n_threads, spherical=True)
    return Problem(source, ranges, weights, n_threads)


def cluster_sketch(
    recipe: Recipe, original: Problem, sketch: Problem, run: Run
) -> list[Clustering]:
    """Run the solver from several first centers; return the partitions that came to the end."""
    approach = recipe.approach
    seeded = _sketch_for_seeding(recipe, sketch, run)
    tol = 0.0 if approach.solver == "hartigan" else recipe.tol * sketch.mean_variance
    effort = Effort(
        approach.solver,
        recipe.key,
        recipe.max_iter,
        tol,
        approach.inertia_tol,
        approach.min_breathing_gain,
    )
    sample = draw_subsample(sketch, approach.subsample_rows, recipe.key)

    def seed(restart: int, on_center: OnCenter) -> Floats:
        return _seed(recipe, original, sample or sketch, sample or seeded, restart, on_center)

    return run_restarts(sketch, recipe.n_clusters, approach.n_init, seed, effort, run, sample)


def lift_partition(
    original: Problem,
    sketch: Problem,
    finalists: Sequence[Clustering],
    run: Run,
) -> Lifted:
    """Return the finalist of least inertia in the original space, with its centers there."""
    if sketch is original:
        return _choose(finalists, finalists)
    if (known := run.recall("lifted", Lifted)) is not None:
        return known
    lifted = _choose(finalists, _lift(original, finalists, run.monitor))
    run.keep("lifted", lifted)
    return lifted


def _lift(original: Problem, finalists: Sequence[Clustering], monitor: Monitor) -> list[Clustering]:
    passes = len(finalists) if original.source.sparse else 1
    total = passes * original.source.shape[0]
    with monitor.step("lift", total, unit_bytes=original.source.stored_row_bytes):
        lifted = lift(original, finalists, lambda done: done < total and monitor.report(done))
        monitor.report(total, min(one.inertia for one in lifted))
        return lifted


def _choose(sketched: Sequence[Clustering], lifted: Sequence[Clustering]) -> Lifted:
    winner = first_of_lowest([one.inertia for one in lifted])
    return Lifted(sketched[winner], lifted[winner])


def polish_partition(
    recipe: Recipe,
    original: Problem,
    sketch: Problem,
    lifted: Lifted,
    run: Run,
) -> Clustering:
    """Run a few passes of Lloyd's method in the original space, over all or the nearest centers."""
    start = lifted.original
    limit = recipe.approach.polish_iter
    if limit == 0 or run.monitor.stopped:
        return start
    pass_bytes = original.source.stored_row_bytes * original.source.shape[0]
    with run.monitor.step("polish", limit, unit_bytes=pass_bytes):
        polish = partial(
            run_to_plateau,
            original,
            start.centers,
            run,
            "polish",
            max_iter=limit,
            inertia_tol=recipe.approach.inertia_tol,
            start=start,
        )
        n_candidates = recipe.approach.polish_candidates
        if not n_candidates:
            return polish()
        candidates = list_candidates(sketch, lifted.sketched, n_candidates)
        search = CandidateSearch(original, candidates)
        found = polish(search=search)
        n_rows, n_columns = original.source.shape
        run.monitor.note(
            "polish: %d distances in %d columns, %d in full passes; lists: %d in %d columns",
            search.n_distances,
            n_columns,
            search.n_distances // candidates.shape[1] * recipe.n_clusters,
            n_rows * recipe.n_clusters,
            sketch.source.shape[1],
        )
        return found


def _open_sketch(recipe: Recipe, sketch: BlockSource, weights: Floats | None) -> Problem:
    try:
        ranges = scan_columns(sketch, recipe.n_threads)
    except ValueError:  # the rows are finite, so it is the map that went too far
        own = isinstance(recipe.projection, RandomMap)
        raise ValueError(
            f"the sketch of X overflows {sketch.dtype}; divide X by a large constant"
            if own
            else f"projection={recipe.projection!r} made a number that is not finite; use another"
        ) from None
    work = math.prod(sketch.shape) * recipe.n_clusters
    return Problem(sketch, ranges, weights, share_work(recipe.n_threads, work))


def _sketch_for_seeding(recipe: Recipe, sketch: Problem, run: Run) -> Problem:
    """Return the rows that seedings by name measure: dense ones, of few columns if need be."""
    width = min(SEEDING_COMPONENTS, sketch.source.shape[1])
    if not sketch.source.sparse or not isinstance(recipe.init, str):
        return sketch
    run.monitor.note("seed: on a sign sketch of %d columns, as rows are sparse", width)
    signs = SignProjection(width, random_state=recipe.key, n_threads=recipe.n_threads or None)
    fit_shape(signs, *sketch.source.shape)
    signed = ArrayBlocks(sketch_rows(signs, sketch.source))
    return _open_sketch(recipe, signed, sketch.weights)


def _seed(
    recipe: Recipe,
    original: Problem,
    sketch: Problem,
    seeded: Problem,
    restart: int,
    on_center: OnCenter,
) -> Floats:
    """Return the first centers in the space of the sketch."""
    init = recipe.init
    stream = open_stream(recipe.key, SEEDING, restart)
    if callable(init):
        state = np.random.RandomState(int(stream.integers(2**32)))
        init = init(original.source.select(), recipe.n_clusters, random_state=state)
    if isinstance(init, str):
        if seeded is not sketch:
            rows = SEEDINGS[init](seeded, recipe.n_clusters, stream, on_center)
            return sketch.source.take(rows)
        return seed_centers(init, sketch, recipe.n_clusters, stream, on_center=on_center)
    given = check_init(init, recipe.n_clusters, original.source.shape)
    if given.ndim == 1:
        return sketch.source.take(given)
    if recipe.projection is None:
        return given
    if isinstance(recipe.projection, RandomMap):
        return sketch_rows(recipe.projection, ArrayBlocks(given))
    return _transform(recipe.projection, given).astype(np.float64)


def _transform(projection: Any, rows: Any) -> NDArray[Any]:
    """Return what a transformer that is not ours makes of the rows."""
    sketch, n_rows = np.asarray(projection.transform(rows)), rows.shape[0]
    if sketch.ndim != 2 or len(sketch) != n_rows:
        raise ValueError(
            f"projection={projection!r} made shape {sketch.shape} of {n_rows} rows; "
            "use a transformer that gives one row for each"
        )
    return np.ascontiguousarray(as_native(sketch))

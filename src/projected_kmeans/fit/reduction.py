"""READ, REDUCE: every row is checked, and mapped to few dimensions.

The recipe says which map; where the sketch lies is decided by the storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.checked_blocks import CheckedBlocks, CheckedRows
from projected_kmeans.blocks.column_scan import ColumnRanges, scan_columns
from projected_kmeans.blocks.element_types import as_native, compute_type
from projected_kmeans.blocks.tasks import Block, OnBlock, Task
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.fit.fit_checkpoint import keep_map, recall_map
from projected_kmeans.fit.storage import Storage
from projected_kmeans.passes.problem import Problem
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.projections.map_protocol import RandomMap, Transformer, fill_sketch
from projected_kmeans.results import Floats
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.own_solvers import check_weighted_solver, name_solver


class Reduced(NamedTuple):
    """The rows as they are, and in few dimensions; the same problem if nothing is projected."""

    original: Problem
    sketch: Problem


def reduce_rows(
    recipe: Recipe,
    source: BlockSource,
    weights: Floats | None,
    run: Run,
    storage: Storage | None = None,
) -> Reduced:
    """Check every row and map it to few dimensions.

    The check finds entries that are not finite, and the range of every column, which exact sums
    need. Rows in memory are checked first, because that costs no reading. Rows that are read from
    elsewhere are checked in the same walk that reduces them, if the map is one of this package.

    Parameters
    ----------
    recipe : Recipe
        The map, the metric and the number of threads.
    source : BlockSource
        The rows.
    weights : ndarray of float64 (n,) or None
        Their weights.
    run : Run
        Told of the rows that are done. Its checkpoint knows what an earlier run has done.
    storage : Storage, optional
        Where the sketch lies; by default in memory.
    """
    storage = storage or Storage()
    spherical = recipe.metric == "cosine"
    _check_solver(recipe, source, weights)
    checked = CheckedBlocks(source, recipe.n_threads)
    n_rows, row_bytes = source.shape[0], source.stored_row_bytes
    if source.resident or not isinstance(recipe.projection, RandomMap):
        with run.monitor.step("check", n_rows, unit_bytes=row_bytes):
            _check_rows(checked, run)
    sketch: Problem | None = None
    if recipe.projection is not None:
        with run.monitor.step("reduce", n_rows, unit_bytes=row_bytes):
            rows = UnitRows(checked) if spherical else checked
            array: NDArray[Any] | BlockSource
            if isinstance(recipe.projection, RandomMap):
                array = _sketch_rows(recipe.projection, rows, checked, weights, run, storage)
            else:
                selected = rows.select()
                with one_blas_thread():
                    fitted = recipe.projection.fit(selected)
                array = transform_rows(fitted, selected)
            sketch = open_sketch(recipe, storage.open_sketch(array), weights)
    original = open_problem(source, checked.ranges, weights, recipe.n_threads, spherical=spherical)
    return Reduced(original, sketch or original)


class ForgottenRows(BlockSource):
    """Rows of which only the shape and the type are left."""

    def __init__(self, source: BlockSource) -> None:
        self.shape, self.dtype = source.shape, source.dtype

    def __len__(self) -> int:
        """Return the number of blocks: none is left."""
        return 0

    def __iter__(self) -> Iterator[Block]:
        """Refuse, because the rows are gone."""
        raise RuntimeError("the rows of this sketch were forgotten; no step may need them")

    def walk(self, *tasks: Task, first: int = 0, on_block: OnBlock | None = None) -> None:
        """Refuse, because the rows are gone."""
        iter(self)

    def select(self, indices: NDArray[np.int64] | None = None) -> Any:
        """Refuse, because the rows are gone."""
        iter(self)


def forget_sketch(recipe: Recipe, reduced: Reduced, *, guaranteed: bool) -> Reduced:
    """Return the same without the rows of the sketch, if no further step needs them.

    That is so for clusters that were found in cells: polishing compares rows with the centers
    around their cluster. With very many clusters, sums in the original space need the memory.

    Parameters
    ----------
    recipe : Recipe
        What the fit does.
    reduced : Reduced
        The rows and their sketch.
    guaranteed : bool
        Whether the sketch may be clustered again, because a guarantee is asked for.
    """
    original, sketch = reduced
    in_cells = recipe.approach.solver == "cells" and recipe.approach.subsample_rows > 0
    if sketch is original or guaranteed or not in_cells or recipe.limits is not None:
        return reduced
    return Reduced(original, replace(sketch, source=ForgottenRows(sketch.source)))


def _check_solver(recipe: Recipe, source: BlockSource, weights: Floats | None) -> None:
    """Raise if the solver cannot work on the original rows, or takes no weights."""
    if recipe.own_solver is not None and weights is not None:
        check_weighted_solver(recipe.own_solver)
    solver, spherical = recipe.approach.solver, recipe.metric == "cosine"
    if (source.sparse or spherical) and recipe.projection is None and solver != "lloyd":
        kind = "sparse rows" if source.sparse else "metric='cosine'"
        name = solver if recipe.own_solver is None else name_solver(recipe.own_solver)
        raise ValueError(
            f"solver={name!r} needs a projection with {kind}, got none; "
            "use projection='sign' or solver='lloyd'"
        )


def _check_rows(checked: CheckedBlocks, run: Run) -> None:
    """Check all rows; skip stored rows that an earlier run has checked."""
    stored = not checked.source.resident
    known = run.recall("check", CheckedRows, partial(_fits_rows, checked.shape)) if stored else None

    def report(done: int) -> None:
        if stored:
            run.checkpoint.keep("check", CheckedRows(done, checked.ranges_so_far))
        run.monitor.report(done)

    if known is not None:
        checked.resume(known.ranges)
        run.monitor.skip(known.n_rows)
    checked.check(report, 0 if known is None else known.n_rows)


def _fits_rows(shape: tuple[int, int], found: CheckedRows) -> bool:
    """Return whether an earlier run can have found this in rows of that shape."""
    return 0 <= found.n_rows <= shape[0] and found.ranges.fits(shape[1])


def _sketch_rows(
    projection: RandomMap,
    rows: BlockSource,
    checked: CheckedBlocks,
    weights: Floats | None,
    run: Run,
    storage: Storage,
) -> NDArray[Any] | BlockSource:
    """Return the sketch of rows by a map of this package, in an array of the storage."""

    def report(done: int) -> None:
        storage.keep_rows(done, checked)
        run.monitor.report(done)

    if not recall_map(run.checkpoint, projection):
        projection.learn(rows, weights)
        keep_map(run.checkpoint, projection)
        _native.release_memory()  # give back what learning took before the sketch takes its own
    shape = rows.shape[0], projection.n_components_
    sketch = storage.new_sketch(shape, compute_type(rows.dtype))
    first = storage.resume_sketch(checked)
    run.monitor.skip(first)
    fill_sketch(projection, rows, sketch, report, first)
    return sketch


def transform_rows(projection: Transformer, rows: Any) -> NDArray[Any]:
    """Return the rows as a fitted transformer of the caller maps them."""
    with one_blas_thread():
        sketch, n_rows = np.asarray(projection.transform(rows)), rows.shape[0]
    if sketch.ndim != 2 or len(sketch) != n_rows:
        raise ValueError(
            f"projection={projection!r} made shape {sketch.shape} of {n_rows} rows; "
            "use a transformer that gives one row for each"
        )
    return np.ascontiguousarray(as_native(sketch))


def open_problem(
    source: BlockSource,
    ranges: ColumnRanges,
    weights: Floats | None,
    n_threads: int,
    *,
    spherical: bool,
) -> Problem:
    """Return rows with known column ranges as a problem.

    If ``spherical`` is true, rows are brought to length one as they are read.
    """
    if spherical:
        unit = UnitRows(source)
        return Problem(unit, unit.bound(ranges), weights, n_threads, spherical=True)
    return Problem(source, ranges, weights, n_threads)


def open_sketch(recipe: Recipe, sketch: BlockSource, weights: Floats | None) -> Problem:
    """Return the rows of a sketch as a problem; raise if the map made numbers that overflow."""
    try:
        ranges = scan_columns(sketch, recipe.n_threads)
    except ValueError:  # the rows were checked before, so the map made the bad number
        own = isinstance(recipe.projection, RandomMap)
        raise ValueError(
            f"the sketch of X overflows {sketch.dtype}; divide X by a large constant"
            if own
            else f"projection={recipe.projection!r} made a number that is not finite; use another"
        ) from None
    return Problem(sketch, ranges, weights, recipe.n_threads)

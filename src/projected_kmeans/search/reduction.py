"""READ, REDUCE: every row is checked, and mapped to few dimensions.

The recipe says which map; where the sketch lies is decided by the storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import (
    CheckedBlocks,
    CheckedRows,
    ColumnRanges,
    scan_columns,
)
from projected_kmeans.blocks.element_types import as_native, compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.tasks import OnBlock
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import MapTransformer, Transformer, fill_sketch
from projected_kmeans.results import Floats
from projected_kmeans.running.checkpoint import Checkpoint, Run
from projected_kmeans.running.part_files import Part
from projected_kmeans.search.memory_plan import MemoryPlan
from projected_kmeans.search.own_solvers import check_weighted_solver
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.storage import Storage

# The part of a checkpoint that holds what a map has learnt.
MAP = "map"


class Reduced(NamedTuple):
    """The rows as they are, and in few dimensions; the same problem if nothing is projected."""

    original: Problem
    sketch: Problem

    def forget(self) -> Reduced:
        """Return the same without the rows of the sketch, because no further step needs them."""
        if self.sketch is self.original:
            return self
        nothing = ArrayBlocks(np.empty((0, self.sketch.source.shape[1]), self.sketch.source.dtype))
        return Reduced(self.original, replace(self.sketch, source=nothing))


def reduce_rows(
    recipe: Recipe,
    source: BlockSource,
    weights: Floats | None,
    run: Run,
    storage: Storage | None = None,
) -> Reduced:
    """Check every row and map it to few dimensions; by default the sketch lies in memory.

    The check finds entries that are not finite, and the range of every column, which exact sums
    need. Rows in memory are checked first, because that costs no reading. Rows that are read from
    elsewhere are checked in the same walk that reduces them, if the map is one of this package.
    """
    projection, spherical = recipe.projection, recipe.metric == "cosine"
    if recipe.own_solver is not None and weights is not None:
        check_weighted_solver(recipe.own_solver)
    is_special = (source.sparse or spherical) and projection is None
    if is_special and recipe.solver_name not in ("auto", "lloyd", "sdp"):
        kind = "sparse rows" if source.sparse else "metric='cosine'"
        raise ValueError(
            f"solver={recipe.solver_name!r} needs a projection with {kind}, got none; "
            "use projection='sign' or solver='lloyd'"
        )
    checked = CheckedBlocks(source, recipe.n_threads)
    n_rows, row_bytes = source.shape[0], source.stored_row_bytes
    if source.resident or not isinstance(projection, MapTransformer):
        with run.monitor.step("check", n_rows, unit_bytes=row_bytes):
            if source.resident:
                checked.walk(on_block=run.monitor.report)
            else:
                _check_stored_rows(checked, run)
    sketch: Problem | None = None
    if projection is not None:
        storage = storage or Storage(source, MemoryPlan())
        with run.monitor.step("reduce", n_rows, unit_bytes=row_bytes):
            sketch = _sketch_rows(recipe, checked, weights, run, storage)
    original = open_problem(source, checked.ranges, weights, recipe.n_threads, spherical=spherical)
    return Reduced(original, sketch or original)


def _check_stored_rows(checked: CheckedBlocks, run: Run) -> None:
    """Check all rows but those that an earlier run has checked."""

    def report(done: int) -> None:
        run.checkpoint.keep("check", CheckedRows(done, checked.ranges_so_far))
        run.monitor.report(done)

    first, (n_rows, n_columns) = 0, checked.shape
    known = run.recall("check", CheckedRows, {"columns": n_columns})
    if known is not None and known.n_rows <= n_rows:
        first = known.n_rows
        checked.resume(known.ranges)
        run.monitor.skip(first)
    checked.walk(first=first, on_block=report)


def _sketch_rows(
    recipe: Recipe, checked: CheckedBlocks, weights: Floats | None, run: Run, storage: Storage
) -> Problem:
    """Return the sketch of the rows as a problem; raise if the map made numbers that overflow."""
    projection = recipe.projection
    rows = UnitRows(checked) if recipe.metric == "cosine" else checked
    if isinstance(projection, MapTransformer):
        sketch = storage.open_sketch(_fill_sketch(projection, rows, checked, weights, run, storage))
    else:
        assert projection is not None
        selected = rows.select()
        with one_blas_thread():
            fitted = projection.fit(selected)
        sketch = storage.open_sketch(transform_rows(fitted, selected))
    try:
        ranges = scan_columns(sketch, recipe.n_threads)
    except ValueError:  # the rows were checked before, so the map made the bad number
        advice = f"projection={projection!r} made a number that is not finite; use another"
        if isinstance(projection, MapTransformer):
            advice = f"the sketch of X overflows {sketch.dtype}; divide X by a large constant"
        raise ValueError(advice) from None
    return Problem(sketch, ranges, weights, recipe.n_threads)


def _fill_sketch(
    projection: MapTransformer,
    rows: BlockSource,
    checked: CheckedBlocks,
    weights: Floats | None,
    run: Run,
    storage: Storage,
) -> NDArray[Any] | BlockSource:
    """Return the sketch of rows by a map of this package, in an array of the storage."""

    def keep_and_report(done: int) -> None:
        storage.keep_rows(done, checked)
        run.monitor.report(done)

    stored, first = run.checkpoint.folder is not None, 0
    if not (stored and recall_map(run.checkpoint, projection)):
        projection.learn(rows, weights)
        if stored:
            keep_map(run.checkpoint, projection)
        _native.release_memory()  # give back what learning took before the sketch takes its own
    shape = rows.shape[0], projection.n_components_
    sketch = storage.new_sketch(shape, compute_type(rows.dtype))
    if stored:
        first = storage.resume_sketch(checked)
        run.monitor.skip(first)
    in_file = stored or isinstance(sketch, np.memmap)
    report: OnBlock = keep_and_report if in_file else run.monitor.report
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
    """Return rows with known column ranges as a problem; ``spherical`` reads them at length one."""
    if spherical:
        unit = UnitRows(source)
        return Problem(unit, unit.bound(ranges), weights, n_threads, spherical=True)
    return Problem(source, ranges, weights, n_threads)


def recall_map(checkpoint: Checkpoint, projection: MapTransformer | Transformer | None) -> bool:
    """Give a map back what it had learnt before; return whether that was stored."""
    if projection is None:
        return True
    part = None if checkpoint.folder is None else checkpoint.folder.read(MAP)
    if part is None:
        return False
    before = dict(vars(projection))
    vars(projection).update(part.document | part.arrays)
    if isinstance(projection, MapTransformer) and _can_project(projection, part, before):
        return True
    vars(projection).clear()
    vars(projection).update(before)
    checkpoint.refuse(MAP)
    return False


def _can_project(projection: MapTransformer, part: Part, before: Mapping[str, Any]) -> bool:
    """Return whether a map can use what was stored of it: tried with one row of zeros."""
    if {*part.document, *part.arrays} != set(projection.learnt):
        return False
    if not projection.learnt:
        return True
    plain = all(type(value) in (int, float) for value in part.document.values())
    plain = plain and all(array.dtype.kind in "fiu" for array in part.arrays.values())
    t, n_features = projection.n_components_, projection.n_features_in_
    if not plain or type(t) is not int or not 0 < t <= max(before["n_components_"], n_features):
        return False
    out = np.full((1, t), np.nan)
    try:
        projection.project_block(np.zeros((1, n_features)), out)
    except (AttributeError, IndexError, TypeError, ValueError):  # arrays of another shape or type
        return False
    return bool(np.isfinite(out).all())


def keep_map(checkpoint: Checkpoint, projection: MapTransformer) -> None:
    """Store what a map has learnt."""
    if checkpoint.folder is None:
        return
    learnt = {name: np.asarray(getattr(projection, name)) for name in projection.learnt}
    plain = {name: value.item() for name, value in learnt.items() if value.ndim == 0}
    arrays = {name: value for name, value in learnt.items() if value.ndim}
    checkpoint.write_when_due(MAP, partial(checkpoint.folder.write, MAP, Part(plain, arrays)))

"""The checkpoint of a fit: to which fit it belongs, its result, and what its map has learnt.

`running.checkpoint` knows how and when values are stored; the steps know what is worth storing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.array_hashes import hash_arrays
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.row_arrays import put_entries
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.documents import Seconds, from_document
from projected_kmeans.passes.stored_partitions import are_centers, is_partition
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.projections.map_protocol import RandomMap, Transformer
from projected_kmeans.results import Clustering, Floats, Labels
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.checkpoint_folder import (
    SUFFIX,
    open_checkpoint_folder,
    warn_of_damage,
)
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.part_files import Part
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.own_solvers import Clusterer

# Parameters of a `ProjectedKMeans` that do not change its result. The key of the recipe stands for
# `random_state`.
PARAMETERS_WITHOUT_EFFECT = {
    "callback",
    "checkpoint",
    "memory_limit",
    "n_threads",
    "random_state",
    "time_budget",
    "verbose",
}

# What a map knows before it looks at rows; what is stored must agree with it.
FIXED = {"n_features_in_", "n_components_", "key_"}

# The parts that stay when a fit is finished.
RESULT, MAP = "result", "map"


@dataclass(frozen=True)
class Finished:
    """What a fit ends with.

    Attributes
    ----------
    sketched : Clustering
        The partition that was found on the sketch.
    polished : Clustering
        The one that was polished in the original space: the result.
    certificate : Certificate or None
        What was proven of its inertia; None if no proof was asked for.
    trimmed : ndarray of int64 (m,)
        The rows that were set aside because they are far from all centers, ascending.
    trim_distance : float or None
        The largest distance of another row to its center; None if no rows were to be set aside.
    has_tails : bool
        Whether all rows were searched by swaps, because they have heavy tails.
    """

    sketched: Clustering
    polished: Clustering
    certificate: Certificate | None = None
    trimmed: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    trim_distance: float | None = None
    has_tails: bool = False

    @property
    def labels(self) -> Labels:
        """The cluster of every row; -1 for rows that were set aside."""
        found = self.polished.labels.copy()
        put_entries(found, self.trimmed, np.full(len(self.trimmed), -1))
        return found


@contextmanager
def open_run(
    parameters: Mapping[str, Any],
    recipe: Recipe,
    rows: BlockSource,
    weights: Floats | None,
    monitor: Monitor,
) -> Iterator[Run]:
    """Open the run of one fit, with the checkpoint that its parameters name.

    When the fit is stopped, also by Ctrl-C, everything that waits is written.

    Parameters
    ----------
    parameters : mapping
        Those of the `ProjectedKMeans`; its ``checkpoint`` is the folder, None stores nothing.
    recipe : Recipe
        What every "auto" stands for.
    rows : BlockSource
        The rows of the fit, by which a checkpoint is known.
    weights : ndarray of float64 (n,), optional
        Their weights.
    monitor : Monitor
        The monitor of the fit.
    """
    path = parameters["checkpoint"]
    if path is None:
        yield Run(monitor)
        return
    with open_checkpoint_folder(path, _describe_run(parameters, recipe, rows, weights)) as folder:
        run = Run(monitor, Checkpoint(folder))
        try:
            yield run
        except KeyboardInterrupt:
            run.checkpoint.drop_running()  # the state may stand in the middle of a pass
            run.checkpoint.flush()
            raise
        if monitor.stopped is not None:
            run.checkpoint.flush()


def finish_run(run: Run, finished: Finished) -> Finished:
    """Return the end of a fit; store it in place of all other parts, unless it was stopped."""
    if run.monitor.stopped is None:
        sketched = replace(finished.sketched, labels=np.empty(0, np.int32))
        small = replace(finished, sketched=sketched)
        run.checkpoint.conclude(RESULT, small, MAP, seconds=run.monitor.seconds)
    return finished


def recall_result(
    run: Run,
    projection: RandomMap | Transformer | None,
    shape: tuple[int, int],
    n_clusters: int,
) -> Finished | None:
    """Return the end of a fit that was finished before; its map gets back what it had learnt.

    Parameters
    ----------
    run : Run
        The run of the fit.
    projection : RandomMap, Transformer or None
        The map of the fit.
    shape : (int, int)
        The number of rows and of columns, which the result must have.
    n_clusters : int
        k.
    """
    checkpoint, monitor = run.checkpoint, run.monitor
    part = checkpoint.read(RESULT)
    if checkpoint.folder is None or part is None:
        return None
    finished = checkpoint.decode(RESULT, part, Finished, partial(_fits, shape, n_clusters))
    if finished is None or not recall_map(checkpoint, projection):
        return None
    checkpoint.folder.clear(RESULT, MAP)  # a process may have been killed before it did that
    monitor.note("checkpoint: the fit was finished")
    monitor.seconds.update(_read_seconds(part.document.get("seconds")))
    return finished


def _fits(shape: tuple[int, int], n_clusters: int, found: Finished) -> bool:
    """Return whether this can be the end of a fit to rows of that shape."""
    sketched, far = found.sketched, found.trimmed  # labels of the sketch were not stored
    rows_exist = far.ndim == 1 and (far.size == 0 or 0 <= far.min() <= far.max() < shape[0])
    return (
        bool(rows_exist)
        and is_partition(found.polished, shape, n_clusters)
        and (
            are_centers(sketched.mass, (n_clusters,))
            and are_centers(sketched.centers, sketched.centers.shape)
        )
    )


def _read_seconds(stored: Any) -> dict[str, float]:
    """Return the seconds of the steps; none if they are damaged, because no result needs them."""
    try:
        return from_document(dict[str, Seconds], stored, "the checkpoint")
    except ValueError:
        return {}


def recall_map(checkpoint: Checkpoint, projection: RandomMap | Transformer | None) -> bool:
    """Give a map back what it had learnt before; return whether that was stored."""
    if projection is None:
        return True
    part = checkpoint.read(MAP)
    if part is None or checkpoint.folder is None:
        return False
    before = dict(vars(projection))
    vars(projection).update(part.document | part.arrays)
    plain = all(isinstance(value, int | float) for value in part.document.values())
    plain = plain and all(array.dtype.kind in "fiu" for array in part.arrays.values())
    if plain and isinstance(projection, RandomMap) and _can_project(projection, before):
        return True
    vars(projection).clear()
    vars(projection).update(before)
    warn_of_damage(checkpoint.folder.path / f"{MAP}{SUFFIX}")
    return False


def _can_project(projection: RandomMap, before: Mapping[str, Any]) -> bool:
    """Return whether a map can use what was stored of it: tried with one row of zeros.

    It may only have gained fitted attributes, which end in an underscore.
    """
    after = vars(projection)
    gained = after.keys() - before.keys()
    if any(not np.array_equal(after[name], before[name]) for name in before.keys() & FIXED):
        return False
    if any(after[name] is not before[name] for name in before.keys() - FIXED):
        return False
    if not all(name.isidentifier() and name[0] != "_" and name[-1] == "_" for name in gained):
        return False
    if not gained:  # the map has only its shape and its key
        return True
    out = np.full((1, projection.n_components_), np.nan)
    try:
        projection.project_block(np.zeros((1, projection.n_features_in_)), out)
    except (AttributeError, IndexError, TypeError, ValueError):  # arrays of another shape or type
        return False
    return bool(np.isfinite(out).all())


def keep_map(checkpoint: Checkpoint, projection: RandomMap) -> None:
    """Store what a map has learnt: its fitted attributes."""
    if checkpoint.folder is None:
        return
    fitted = {name: value for name, value in vars(projection).items() if name.endswith("_")}
    arrays = {name: fitted.pop(name) for name in list(fitted) if np.ndim(fitted[name])}
    plain = {name: np.asarray(value).item() for name, value in fitted.items()}
    checkpoint.write_when_due(MAP, partial(checkpoint.folder.write, MAP, Part(plain, arrays)))


def _describe_run(
    parameters: Mapping[str, Any], recipe: Recipe, rows: BlockSource, weights: Floats | None
) -> dict[str, Any]:
    """Return everything that the result of a fit depends on, as values that JSON can hold.

    Large values are represented by their hashes.
    """
    if parameters["random_state"] is None:
        raise ValueError("random_state=None cannot be continued; use an integer with checkpoint")
    if not isinstance(parameters["projection"], str | None):
        raise ValueError(
            f"projection={parameters['projection']!r} cannot be stored; use the name of a map with "
            "checkpoint"
        )
    solver = parameters["solver"]
    named = isinstance(solver, FunctionType) and solver.__name__ != "<lambda>"
    if callable(solver) and not named:
        raise ValueError(
            f"solver={solver!r} has no name by which a checkpoint could recognize it; use a "
            "function that has one, with checkpoint"
        )
    described = {
        name: _describe_value(value)
        for name, value in sorted(parameters.items())
        if name not in PARAMETERS_WITHOUT_EFFECT
    }
    approach = {name: _describe_value(value) for name, value in asdict(recipe.approach).items()}
    return {
        "data": rows.identity(),
        "weights": None if weights is None else hash_arrays(weights),
        **described,
        "random_state": recipe.key,
        "package_version": version("projected_kmeans"),
        "instruction_set": _native.instruction_set(),
        "approach": approach,
    }


def _describe_value(value: Any) -> Any:
    """Return a parameter as a value that JSON can hold: the name of a callable, an array's hash."""
    if isinstance(value, Clusterer) and not isinstance(value, type):
        kind = type(value)
        return [f"{kind.__module__}.{kind.__qualname__}", repr(sorted(value.get_params().items()))]
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__name__)}"
    if not isinstance(value, str | None) and np.ndim(value):
        return hash_arrays(np.asarray(value))
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value

"""The checkpoint of a fit: to which fit it belongs, and its result.

`running.checkpoint` knows how and when values are stored; the steps know what is worth storing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from types import FunctionType
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.memory_blocks import hash_arrays
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.documents import NotNegative, Seconds, Shape
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import MapTransformer, Transformer
from projected_kmeans.results import Clustering, Floats
from projected_kmeans.running.checkpoint import Checkpoint, Run
from projected_kmeans.running.checkpoint_folder import open_checkpoint_folder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.own_solvers import Clusterer
from projected_kmeans.search.recipe import Recipe
from projected_kmeans.search.reduction import MAP, recall_map
from projected_kmeans.search.trimming import LAST_PASSES, run_trimmed

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

# The part that holds the end of a fit. It stays when the fit is finished, and that of the map.
RESULT = "result"


@dataclass(frozen=True)
class Finished:
    """What a fit ends with: the partition of the sketch, and the result in the original space."""

    # Of the sketch labels are not stored, and how many columns it has is known from here.
    sketched: Annotated[Clustering, {"rows": 0, "columns": None}]
    polished: Clustering
    certificate: Certificate | None = None  # None if no proof was asked for
    # Rows that were set aside because they are far, ascending; the largest distance of the others.
    trimmed: Annotated[NDArray[np.int64], Shape(("any",), below="rows")] = field(
        default_factory=partial[NDArray[np.int64]](np.empty, 0, np.int64)
    )
    trim_distance: NotNegative | None = None
    seconds: dict[str, Seconds] = field(default_factory=dict)  # spent in each step, once stored

    def trim(self, share: float, original: Problem, weights: Floats | None) -> Finished:
        """Return what passes over the original rows that set far rows aside make of the partition.

        ``weights`` are those of the caller; in the problem those of far rows are 0 already.
        """
        whole = replace(original, weights=weights)
        ended = run_trimmed(whole, self.polished.centers, share, LAST_PASSES)
        far = np.flatnonzero(~ended.kept).astype(np.int64)
        return replace(self, polished=ended.partition, trimmed=far, trim_distance=ended.distance)


@contextmanager
def open_run(
    parameters: Mapping[str, Any],
    recipe: Recipe,
    rows: BlockSource,
    weights: Floats | None,
    monitor: Monitor,
) -> Iterator[Run]:
    """Open the run of a fit, with the checkpoint that the estimator's parameters name.

    When the fit is stopped, also by Ctrl-C, everything that waits is written.
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


def finish_run(run: Run, finished: Finished) -> None:
    """Store the end of a fit in place of all other parts, unless it was stopped."""
    if run.monitor.stopped is None and run.checkpoint.folder is not None:
        sketched = replace(finished.sketched, labels=np.empty(0, np.int32))
        small = replace(finished, sketched=sketched, seconds=run.monitor.seconds)
        run.checkpoint.conclude(RESULT, small, MAP)


def recall_result(
    run: Run,
    projection: MapTransformer | Transformer | None,
    shape: tuple[int, int],
    n_clusters: int,
) -> Finished | None:
    """Return the end of a fit to rows of that shape, if it was finished before.

    Its map gets back what it had learnt.
    """
    checkpoint, monitor = run.checkpoint, run.monitor
    if checkpoint.folder is None:
        return None
    sizes = {"rows": shape[0], "columns": shape[1], "clusters": n_clusters}
    finished = checkpoint.recall(RESULT, Finished, sizes)
    if finished is None or not recall_map(checkpoint, projection):
        return None
    checkpoint.folder.clear(RESULT, MAP)  # a process may have been killed before it did that
    monitor.note("checkpoint: the fit was finished")
    monitor.seconds.update(finished.seconds)
    return finished


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
    return {
        "data": rows.identity(),
        "weights": None if weights is None else hash_arrays(weights),
        **described,
        "random_state": recipe.key,
        "package_version": version("projected_kmeans"),
        "instruction_set": _native.instruction_set(),
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

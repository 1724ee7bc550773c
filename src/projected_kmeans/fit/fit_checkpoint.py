"""What a fit stores of itself so that it can be continued, when, and of which fit it is.

Turns values into parts and back; the steps know what is worth storing, `checkpoints.py` how.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.array_hashes import hash_arrays
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.planning.recipe import Recipe
from projected_kmeans.results import Floats
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.checkpoint_folder import (
    open_checkpoint_folder,
)
from projected_kmeans.running.monitor import Monitor

# Parameters of a `ProjectedKMeans` on which its result does not depend, or that hold a key.
PARAMETERS_WITHOUT_EFFECT = {
    "callback",
    "checkpoint",
    "memory_limit",
    "n_threads",
    "random_state",
    "time_budget",
}
PARAMETERS_WITHOUT_EFFECT |= {"verbose"}


@contextmanager
def open_checkpoint(
    model: Any, recipe: Recipe, rows: BlockSource, weights: Floats | None, log: Monitor
) -> Iterator[Checkpoint]:
    """Open the checkpoint that a `ProjectedKMeans` names; without one, nothing is stored.

    At the end, also at Ctrl-C, all that waits is written.
    """
    if model.checkpoint is None:
        yield Checkpoint()
        return
    run = _describe_run(model, recipe, rows, weights)
    with open_checkpoint_folder(model.checkpoint, run) as folder:
        saved = Checkpoint(folder, log)
        try:
            yield saved
        except KeyboardInterrupt:
            saved.drop_running()  # it may stand in the middle of a pass
            saved.flush()
            raise
        if log.stopped is not None:
            saved.flush()


def _describe_run(
    model: Any, recipe: Recipe, rows: BlockSource, weights: Floats | None
) -> dict[str, Any]:
    """Return all that the result of a fit depends on, in words and hashes."""
    if model.random_state is None:
        raise ValueError("random_state=None cannot be continued; use an integer with checkpoint")
    if hasattr(model.projection, "transform"):
        raise ValueError(
            f"projection={model.projection!r} cannot be stored; use the name of a map with "
            "checkpoint"
        )
    parameters = {
        name: _describe_value(value)
        for name, value in sorted(model.get_params(deep=False).items())
        if name not in PARAMETERS_WITHOUT_EFFECT
    }
    approach = {name: _describe_value(value) for name, value in asdict(recipe.approach).items()}
    return {
        "data": rows.identity(),
        "weights": None if weights is None else hash_arrays(weights),
        **parameters,
        "random_state": recipe.key,
        "package_version": version("projected_kmeans"),
        "instruction_set": _native.instruction_set(),
        "approach": approach,
    }


def _describe_value(value: Any) -> Any:
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__name__)}"
    if not isinstance(value, str | None) and np.ndim(value):
        return hash_arrays(np.asarray(value))
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value

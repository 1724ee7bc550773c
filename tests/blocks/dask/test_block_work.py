"""What a worker gets is aligned, wherever Dask's messages put it."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.block_work import Slot, Work
from projected_kmeans.blocks.tasks import Block, Role


def note_alignment(
    center: NDArray[Any], block: Block, weights: NDArray[Any], labels: NDArray[Any]
) -> None:
    """Write whether the arrays are aligned into the labels."""
    labels[...] = center.flags.aligned and weights.flags.aligned and labels.flags.aligned


def shift(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that begins at an odd address."""
    moved = np.frombuffer(b" " + array.tobytes(), array.dtype, offset=1)
    assert not moved.flags.aligned
    return moved


def test_arrays_of_workers_are_aligned() -> None:
    """Arrays inside the work travel inside its pickle, and parts that arrive misaligned move."""
    slots = (
        Slot(Role.READ, (), np.dtype(np.float64), stays=False),
        Slot(Role.UPDATE, (), np.dtype(np.int32), stays=False),
    )
    center = np.arange(1000.0)
    work = Work(((partial(note_alignment, center), (0, 1)),), slots, partial(open_rows))
    beside: list[pickle.PickleBuffer] = []
    document = pickle.dumps(work, protocol=5, buffer_callback=beside.append)
    assert beside == []
    sent = [shift(np.ones(3)), shift(np.zeros(3, np.int32))]
    outcome = pickle.loads(document).run(np.ones((3, 2)), slice(0, 3), sent)
    assert [part.tolist() for part in outcome.rows] == [[1, 1, 1]]


def open_rows(rows: Any, span: slice) -> Block:
    """Make a block of rows."""
    return Block(span.start, rows)

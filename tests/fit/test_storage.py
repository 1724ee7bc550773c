"""Where the sketch lies during a fit, and what is left of it afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.fit.storage import Storage, open_storage
from projected_kmeans.planning.memory_plan import MemoryPlan
from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.sources.array_source import as_row_source

SHAPE, TYPE = (6, 2), np.dtype(np.float32)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which temporary files are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_sketch_in_memory() -> None:
    """By default a sketch is an array in memory."""
    storage = Storage()
    sketch = storage.new_sketch(SHAPE, TYPE)
    assert isinstance(sketch, np.ndarray)
    assert not isinstance(sketch, np.memmap)
    assert isinstance(storage.open_sketch(sketch), ArrayBlocks)


def test_a_sketch_in_a_temporary_file(temporary: Path) -> None:
    """A sketch that is too large lies in a file without a name, which no kill can leave behind."""
    with open_storage(MemoryPlan(sketch_in_memory=False)) as storage:
        sketch = storage.new_sketch(SHAPE, TYPE)
        assert isinstance(sketch, np.memmap)
        sketch[:] = np.arange(12).reshape(SHAPE)
        assert list(temporary.iterdir()) == []
        opened = storage.open_sketch(sketch)
        assert isinstance(opened, StoredBlocks)
        np.testing.assert_array_equal(opened.select(), np.arange(12).reshape(SHAPE))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_sketch_in_a_checkpoint(in_memory: bool, temporary: Path, tmp_path: Path) -> None:
    """With a checkpoint, the file of the sketch lies in its folder and nothing is temporary."""
    steps = tmp_path / "steps"
    steps.mkdir()
    run = Run(Monitor(), Checkpoint(CheckpointFolder(steps, {"data": "mine"})))
    with open_storage(MemoryPlan(sketch_in_memory=in_memory), run) as storage:
        sketch = storage.new_sketch(SHAPE, TYPE)
        assert isinstance(sketch, np.memmap) != in_memory
        assert list(temporary.iterdir()) == []
    assert (steps / "sketch.part.npy").exists() != in_memory


def test_blocks_are_as_large_as_the_plan_allows() -> None:
    """Stored rows are read in blocks of the planned size."""
    rows = StoredBlocks(as_row_source(np.zeros((100, 4))))
    with open_storage(MemoryPlan(block_bytes=10 * 4 * 8)) as storage:
        assert [len(block.rows) for block in storage.open_rows(rows)] == [10] * 10

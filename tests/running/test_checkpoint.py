"""The store of a run: when values are written, and what is found of them later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from projected_kmeans.running.checkpoint import (
    RUNNING,
    SECONDS_BETWEEN_WRITES,
    WORK_PER_WRITE,
    Checkpoint,
)
from projected_kmeans.running.checkpoint_folder import CheckpointFolder

RUN = {"data": "mine"}


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(
            "projected_kmeans.running.checkpoint.time.perf_counter", lambda: self.now
        )


def list_parts(folder: Path) -> set[str]:
    """Return the names of the parts in a folder, but for that of the run itself."""
    return {file.stem for file in folder.glob("*.part")} - {"run"}


def test_values_wait_until_a_write_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written for some seconds; then everything that waits is."""
    clock = Clock(monkeypatch)
    checkpoint = Checkpoint(CheckpointFolder(tmp_path, RUN))
    checkpoint.keep("one", 1)
    assert list_parts(tmp_path) == set()
    assert checkpoint.recall("one", int) is None
    clock.now = SECONDS_BETWEEN_WRITES
    checkpoint.keep("two", 2)
    assert list_parts(tmp_path) == {"one", "two"}
    checkpoint.keep("three", 3)
    assert list_parts(tmp_path) == {"one", "two"}


def test_slow_writes_are_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a write of 2 s the next one comes 40 s later."""
    clock = Clock(monkeypatch)
    checkpoint = Checkpoint(CheckpointFolder(tmp_path, RUN))
    checkpoint.write_when_due("slow", lambda: setattr(clock, "now", clock.now + 2.0))
    checkpoint.flush()
    assert clock.now == 2.0
    clock.now = 2.0 + 2.0 * WORK_PER_WRITE - 0.1
    checkpoint.keep("next", 1)
    assert list_parts(tmp_path) == set()
    clock.now += 0.1
    checkpoint.keep("last", 2)
    assert list_parts(tmp_path) == {"next", "last"}


def test_only_the_last_state_of_a_solver_is_kept(tmp_path: Path) -> None:
    """A state replaces the one before, belongs to its owner, and may be dropped before a write."""
    checkpoint = Checkpoint(CheckpointFolder(tmp_path, RUN))
    checkpoint.keep_running("restart-0", np.arange(3))
    checkpoint.keep_running("restart-1", np.arange(4))
    checkpoint.flush()
    assert checkpoint.recall(RUNNING, np.ndarray, owner="restart-0") is None
    found = checkpoint.recall(RUNNING, np.ndarray, owner="restart-1")
    np.testing.assert_array_equal(found, np.arange(4))
    checkpoint.keep_running("restart-1", np.arange(5))
    checkpoint.drop_running()
    checkpoint.flush()
    found = checkpoint.recall(RUNNING, np.ndarray, owner="restart-1")
    np.testing.assert_array_equal(found, np.arange(4))


def test_a_conclusion_replaces_all_other_parts(tmp_path: Path) -> None:
    """The last value is written at once; parts to keep are written first, others never."""
    checkpoint = Checkpoint(CheckpointFolder(tmp_path, RUN))
    checkpoint.keep("old", 1)
    checkpoint.flush()
    checkpoint.keep("waiting", 2)
    checkpoint.keep("map", 3)
    checkpoint.conclude("result", 4, "map")
    assert list_parts(tmp_path) == {"result", "map"}
    assert (checkpoint.recall("result", int), checkpoint.recall("map", int)) == (4, 3)


def test_without_a_folder_nothing_is_stored() -> None:
    """Every call is allowed and has no effect."""
    checkpoint = Checkpoint()
    checkpoint.keep("one", 1)
    checkpoint.keep_running("restart-0", 2)
    checkpoint.flush()
    checkpoint.conclude("result", 3)
    assert checkpoint.recall("one", int) is None
    assert checkpoint.recall(RUNNING, int, owner="restart-0") is None
    assert checkpoint.recall("result", int) is None

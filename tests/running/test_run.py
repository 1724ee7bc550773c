"""Monitor and checkpoint of one run, where one needs the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from projected_kmeans.running.checkpoint import Checkpoint, Run
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor


def open_run(folder: Path, monitor: Monitor | None = None) -> Run:
    """Return a run that stores its values in a folder."""
    return Run(monitor or Monitor(), Checkpoint(CheckpointFolder(folder, {"data": "mine"})))


def test_what_is_recalled_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log says which values come from the checkpoint, and only these."""
    run = open_run(tmp_path)
    run.keep("lifted", 7)
    run.checkpoint.flush()
    with caplog.at_level("DEBUG", logger="projected_kmeans"):
        assert open_run(tmp_path).recall("lifted", int) == 7
        assert open_run(tmp_path).recall("absent", int) is None
    assert caplog.messages == ["checkpoint: lifted is taken as it was stored"]


def test_a_stopped_run_keeps_no_values(tmp_path: Path) -> None:
    """A value that a stopped run made may be incomplete, so it is not stored."""
    run = open_run(tmp_path, Monitor(time_budget=0.0))
    run.monitor.report(1)
    run.keep("lifted", 7)
    run.checkpoint.flush()
    assert run.recall("lifted", int) is None


def test_a_run_needs_neither() -> None:
    """By default nobody watches and nothing is stored; runs do not share their monitors."""
    one, other = Run(), Run()
    one.monitor.report(1, 2.0)
    assert len(one.monitor.trace) == 1
    assert other.monitor.trace == []

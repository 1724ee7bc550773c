"""Killed Dask workers and schedulers: a short run of the campaign, and that it can fail."""

from __future__ import annotations

import threading

import kill_workers
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.dask.cluster_errors import ClusterError


def test_killed_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker and a scheduler are killed during small fits: the same bits, and one sentence."""
    monkeypatch.setattr(kill_workers, "ROWS", kill_workers.ROWS[:2000])
    monkeypatch.setattr(kill_workers, "MAPS", ("sign",))
    monkeypatch.setitem(kill_workers.MODEL, "max_iter", 3)
    found = kill_workers.run_campaign(kills=1, seed=1, per_scheduler=1)
    assert found["failures"] == []
    assert found["workers_killed"] == 1


def raise_error(error: BaseException) -> ProjectedKMeans:
    """Raise an error where a fit is expected."""
    raise error


@pytest.mark.parametrize(
    ("error", "end"), [(ClusterError("lost"), "sentence"), (KeyError("key"), "KeyError: 'key'")]
)
def test_other_ends_are_found(error: BaseException, end: str) -> None:
    """Errors other than one sentence are told."""
    killed = threading.Event()
    found = kill_workers.disturb(lambda: (killed.wait(), raise_error(error))[1], killed.set, 0.0)
    assert found == (end, None)


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that does not end is told, and the campaign goes on to say so."""
    monkeypatch.setattr(kill_workers, "LONGEST", 0.05)
    released = threading.Event()
    found = kill_workers.disturb(lambda: raise_error(KeyError(released.wait())), released.set, 60)
    released.set()
    assert found == (kill_workers.HANG, None)
    assert kill_workers.is_stuck([f"a killed worker: {kill_workers.HANG}"])

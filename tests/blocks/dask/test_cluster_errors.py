"""Clusters that lose all workers, their scheduler or the connection: one sentence, no waiting."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from projected_kmeans.blocks.dask import workers
from projected_kmeans.blocks.dask.cluster_errors import ClusterError, explain_cluster_error
from projected_kmeans.blocks.dask.clusters import PATIENCE
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.results import FitState
from projected_kmeans.sources.memory import MemoryShortage
from tests.support.commands import Call, check_refusal
from tests.support.dask_rows import ROWS, fit, open_cluster, start_scheduler

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are POSIX's")


def once(step: str, act: Callable[[], object]) -> Callable[[FitState], None]:
    """Return a callback of a fit that acts when a step is first reported."""
    done: list[bool] = []

    def hear(state: FitState) -> None:
        if state.step == step and not done:
            done.append(True)
            act()

    return hear


def kill_itself(rows: Any) -> Any:
    """End the process that holds these rows, as the system does if memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return rows


def test_a_lost_scheduler_is_one_sentence(
    call: Call, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler is killed in the middle of `fit`: exit code 2, one line, nothing written."""
    with start_scheduler() as (process, address):

        @contextmanager
        def kill(*, quiet: bool) -> Iterator[Callable[[FitState], None]]:
            yield once("cluster", process.kill)

        monkeypatch.setattr("projected_kmeans.commands.terminal.show_progress", kill)
        out = tmp_path / "out"
        run = call("fit", data, "-k", 3, "--scheduler", address, "--out", out)
        check_refusal(run, f"the connection to the Dask scheduler at {address} was lost", "again")
        assert not out.exists()
        assert process.wait() == -signal.SIGKILL


def test_a_closed_client_is_one_sentence() -> None:
    """A client that is closed in the middle of a fit ends it, at once or before its next walk."""
    X = da.from_array(ROWS, chunks=(2000, -1))
    with open_cluster(1) as client, pytest.raises(ClusterError, match=r"scheduler.* was lost"):
        fit(X, client=client, callback=once("cluster", client.close))


def test_a_lost_connection_is_noticed_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that loses its scheduler with no result in sight raises instead of waiting."""
    monkeypatch.setattr(workers, "CHECK_SECONDS", 0.05)
    with open_cluster(1) as client:
        never = client.submit(lambda: 1, resources={"none": 1})
        waiting = workers._arrivals(client, [never])
        client.status = "connecting"
        with pytest.raises(ClusterError, match="was lost, and with it the work"):
            next(waiting)
        client.status = "running"


def test_a_cluster_without_workers_is_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all workers leave and none comes back, a fit ends after the seconds that were set."""
    monkeypatch.setattr(workers, "CHECK_SECONDS", 0.05)
    X = da.from_array(ROWS, chunks=(2000, -1))
    with dask.config.set({PATIENCE: 0.3}), open_cluster(1) as client:

        def leave() -> None:
            client.cluster.scale(0)
            while client.scheduler_info()["workers"]:
                pass

        with pytest.raises(ClusterError, match=r"has had no worker for 0\.3 s; start workers"):
            fit(X, client=client, callback=once("cluster", leave))


def test_a_task_that_ends_workers_is_one_sentence() -> None:
    """Rows that end every worker that reads them end the fit, not in an endless loop."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        open_cluster(1, processes=True) as client,
    ):
        X = da.from_array(ROWS, chunks=(13_000, -1)).map_blocks(kill_itself, meta=ROWS[:0])
        with pytest.raises(ClusterError, match="one task has ended 1 Dask workers") as caught:
            fit(X, client=client)
        assert type(caught.value.__cause__).__name__ == "KilledWorker"


def test_errors_of_tasks_are_raised_as_they_are() -> None:
    """What a task raises is raised here; too little memory of a worker is said to be a worker's."""
    with open_cluster(1) as client:
        workers = Workers.find(client)
        with pytest.raises(ZeroDivisionError):
            workers.gather([dask.delayed(divmod)(1, 0)])
        with pytest.raises(MemoryShortage, match="a Dask worker has too little memory"):
            workers.gather([dask.delayed(np.empty)(2**50)])
        assert workers.gather([dask.delayed(divmod)(7, 2)]) == [(3, 1)]


def test_a_broken_pool_is_one_sentence(here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of Dask's own scheduler that has ended is told like a lost worker."""

    def fail(*wanted: object, **options: object) -> None:
        raise BrokenProcessPool

    monkeypatch.setattr(dask, "compute", fail)
    with pytest.raises(ClusterError, match="a process of Dask has ended"):
        Workers.find().gather([dask.delayed(divmod)(7, 2)])


def test_a_closed_client_has_no_address() -> None:
    """The sentence is whole also if the client does not know its scheduler any more."""
    client = SimpleNamespace(scheduler=None)
    told = explain_cluster_error(workers.CANCELLED[1](), client)
    assert str(told).startswith("the connection to the Dask scheduler was lost, ")

"""READ: who computes on Dask: a distributed cluster, or a scheduler on this machine."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import dask
from dask.delayed import Delayed, delayed

from projected_kmeans.blocks.dask.cluster_errors import (
    CANCELLED,
    explain_cluster_error,
    lost_scheduler,
    lost_workers,
)
from projected_kmeans.blocks.dask.clusters import PATIENCE

# While no result arrives, look at the cluster every second.
CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Workers:
    """Who computes: a distributed cluster, or one of Dask's schedulers on this machine."""

    client: Any = None  # the connection to the cluster; None if there is none
    scheduler: Any = None  # one of Dask's own; None for the default one

    @classmethod
    def find(cls, client: Any = None) -> Workers:
        """Return the workers of a client, or those that Dask would use at this moment."""
        scheduler = dask.base.get_scheduler(scheduler=client)
        owner = getattr(scheduler, "__self__", None)
        return cls(owner) if owner is not None else cls(None, scheduler)

    def gather(self, wanted: Sequence[Delayed]) -> list[Any]:
        """Compute some tasks and return their results, in the order of the tasks."""
        found: list[Any] = [None] * len(wanted)
        for place, result in self.results(wanted):
            found[place] = result
        return found

    def results(self, wanted: Sequence[Delayed]) -> Iterator[tuple[int, Any]]:
        """Compute some tasks and yield (index of the task, result) as each result arrives."""
        if self.client is not None:
            yield from self.results_of(self.submit(wanted))
            return
        try:
            found = dask.compute(*wanted, scheduler=self.scheduler)
        except BrokenProcessPool as error:
            raise explain_cluster_error(error, None) from error
        yield from enumerate(found)

    def submit(self, wanted: Sequence[Delayed]) -> list[Any]:
        """Let a cluster begin to compute some tasks; return its futures."""
        # Graphs are large because they hold what tasks read, so that a lost task can be run again.
        # Dask would warn of that.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            try:
                futures: list[Any] = self.client.compute(list(wanted))
            except (Exception, *CANCELLED) as error:
                if self.client.status == "running":
                    raise
                raise lost_scheduler(self.client) from error
        return futures

    def results_of(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (index of the future, result) as each result arrives."""
        places = {future.key: place for place, future in enumerate(futures)}
        for future, result in _arrivals(self.client, futures):
            yield places.pop(future.key), result
            future.release()


def _arrivals(client: Any, futures: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield (future, result) as each result arrives; raise if it cannot arrive any more.

    Dask itself waits for ever for workers to come back, and hands out the cancellation of a task as
    if it were its result.
    """
    from distributed import as_completed

    arrived: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
    waiting = as_completed(futures, loop=client.loop, with_results=True, raise_errors=False)

    async def pass_on() -> None:
        async for pair in waiting:
            arrived.put(pair)

    client.loop.add_callback(pass_on)
    try:
        for _ in futures:
            future, result = _wait(client, arrived)
            if isinstance(result, CANCELLED):
                raise lost_scheduler(client) from result
            if future.status == "error":
                _, error, traceback = result
                error = error.with_traceback(traceback)
                told = explain_cluster_error(error, client)
                if told is error:
                    raise error
                raise told from error
            yield future, result
    finally:
        waiting.clear()


def _wait(client: Any, arrived: queue.SimpleQueue[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return what arrives next; raise if the scheduler or all workers are lost."""
    alone_since: float | None = None
    while True:
        try:
            return arrived.get(timeout=CHECK_SECONDS)
        except queue.Empty:
            if client.status != "running":
                raise lost_scheduler(client) from None
        patience = dask.config.get(PATIENCE, None)
        if patience is None or _has_workers(client):
            alone_since = None
            continue
        alone_since = alone_since or time.monotonic()
        if time.monotonic() - alone_since >= patience:
            raise lost_workers(client, patience)


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.scheduler_info()["workers"])
    except (OSError, *CANCELLED) as error:
        raise lost_scheduler(client) from error


def hold(value: Any) -> Delayed:
    """Return a value as a Dask task of its own.

    Tasks that depend on it share one copy on each worker, and Dask can make it again if a worker
    is lost.
    """
    return delayed(_return, pure=False)(value)


def _return(value: Any) -> Any:
    return value

"""READ: results of a cluster as they arrive, and how the loss of the cluster is noticed.

Dask waits for ever for workers to come back, and hands out the cancellation of a task as if it were
its result. Here both are errors.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from typing import Any

import dask
from distributed import as_completed

from projected_kmeans.blocks.dask.cluster_errors import (
    CANCELLED,
    explain_cluster_error,
    lost_scheduler,
    lost_workers,
)
from projected_kmeans.blocks.dask.clusters import PATIENCE

# While no result arrives, look at the cluster every second.
CHECK_SECONDS = 1.0


def arrivals(client: Any, futures: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield (future, result) as each result arrives; raise if it cannot arrive any more.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    futures : sequence of Future
        The futures, each once.
    """
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

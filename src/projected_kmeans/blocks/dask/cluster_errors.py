"""READ: what Dask reports if workers or a scheduler are lost, as one sentence.

Imports dask only where an error of Dask is at hand, so that others can catch `ClusterError`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from projected_kmeans.messages import first_line
from projected_kmeans.sources.memory import MemoryShortage

# Dask cancels a task by the one or the other, depending on its version.
CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


class ClusterError(RuntimeError):
    """Workers or their scheduler are lost; the message says what happened and what to do."""


def explain_cluster_error(error: BaseException, client: Any) -> BaseException:
    """Return a `ClusterError` if workers or the scheduler are lost; most other errors themselves.

    If a worker had too little memory, that is a `MemoryShortage`.
    """
    if isinstance(error, BrokenProcessPool):
        return ClusterError(
            "a process of Dask has ended while it worked, perhaps because its memory was too "
            "small; give Dask more memory, or smaller blocks"
        )
    if client is None:
        return error
    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    if isinstance(error, MemoryError):
        details = first_line(error) if str(error) else "it does not say for what"
        return MemoryShortage(
            f"a Dask worker has too little memory ({details}); give workers more memory, or "
            "smaller blocks"
        )
    if isinstance(error, KilledWorker):
        return ClusterError(
            f"one task has ended {error.args[2] + 1} Dask workers, perhaps because their memory is "
            "too small; give workers more memory, or smaller blocks"
        )
    if isinstance(error, (*CANCELLED, CommClosedError)):
        return lost_scheduler(client)
    return error


def lost_scheduler(client: Any) -> ClusterError:
    """Return the error to raise if the scheduler does not answer any more."""
    return ClusterError(
        f"the connection to the Dask scheduler{_place(client)} was lost, and with it the work that "
        "it had; check that the scheduler runs, and run the fit again"
    )


def lost_workers(client: Any, seconds: float) -> ClusterError:
    """Return the error to raise if a scheduler has had no worker for some seconds."""
    return ClusterError(
        f"the Dask scheduler{_place(client)} has had no worker for {seconds:g} s; start workers, "
        "and run the fit again"
    )


def _place(client: Any) -> str:
    """Return where the scheduler of a client is; nothing if the client has closed."""
    return "" if client.scheduler is None else f" at {client.scheduler.address}"

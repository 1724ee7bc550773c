"""READ: who computes on Dask: a distributed cluster, or a scheduler on this machine."""

from __future__ import annotations

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
)


@dataclass(frozen=True)
class Workers:
    """Who computes: a distributed cluster, or one of Dask's schedulers on this machine.

    Attributes
    ----------
    client : distributed.Client or None
        The connection to the cluster; None if there is none.
    scheduler : callable or None
        One of Dask's own schedulers; None for the default one.
    """

    client: Any = None
    scheduler: Any = None

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
        from projected_kmeans.blocks.dask.arrivals import arrivals

        places = {future.key: place for place, future in enumerate(futures)}
        for future, result in arrivals(self.client, futures):
            yield places.pop(future.key), result
            future.release()


def hold(value: Any) -> Delayed:
    """Return a value as a Dask task of its own.

    Tasks that depend on it share one copy on each worker, and Dask can make it again if a worker
    is lost.
    """
    return delayed(_return, pure=False)(value)


def _return(value: Any) -> Any:
    return value

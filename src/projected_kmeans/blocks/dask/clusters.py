"""READ: clusters of Dask workers as the command line names them: one that runs, or one of its own.

Connects and cleans up; what clusters compute is said elsewhere.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from projected_kmeans.checks import check_count
from projected_kmeans.optional_packages import load_extra

# Seconds in which a scheduler has to answer, and to have a worker.
PATIENCE = 10

ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+:\d{1,5}")


@contextmanager
def open_client(scheduler: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Yield the client of a cluster; None where none is asked for.

    At the end the connection is closed, and a cluster of its own with all its processes.

    Parameters
    ----------
    scheduler : str, optional
        The address of a scheduler that runs, such as "tcp://scheduler:8786".
    n_workers : int, optional
        How many processes a cluster on this machine gets, of one thread each.
    """
    if scheduler is None and n_workers is None:
        yield None
        return
    if scheduler is not None and n_workers is not None:
        raise ValueError(
            f"both a scheduler, {scheduler!r}, and {n_workers} workers are given; give one of them"
        )
    if scheduler is not None and not ADDRESS.fullmatch(scheduler):
        raise ValueError(
            f"{scheduler!r} is not the address of a scheduler; give one such as tcp://scheduler:8786"
        )
    if n_workers is not None:
        check_count("dask_workers", n_workers)
    distributed = load_extra("distributed", "dask", "a cluster of Dask workers")
    opened = _connect(distributed, scheduler) if scheduler else _start(distributed, n_workers)
    with opened as client:
        yield client


@contextmanager
def _connect(distributed: Any, scheduler: str) -> Iterator[Any]:
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no scheduler answers at {scheduler} within {PATIENCE} s "
            f"({type(error).__name__}); start one with dask scheduler, or check the address"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ValueError(
                f"the scheduler at {scheduler} has no worker; start one with "
                f"dask worker {scheduler}"
            ) from error
        yield client


@contextmanager
def _start(distributed: Any, n_workers: int | None) -> Iterator[Any]:
    with _ignored_interrupts():
        cluster = distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, which is for this one to answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

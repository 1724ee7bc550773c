"""READ: clusters as the command line names them: one that runs already, or a new one.

`open_client` connects and cleans up; what is computed on a cluster is not known here.
"""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from ssl import SSLError
from typing import Any, NamedTuple

from projected_kmeans.checks import check_count
from projected_kmeans.messages import one_line
from projected_kmeans.optional_packages import load_extra

# A scheduler must answer within this many seconds, and have a worker within as many again.
TIMEOUT = 10
# The entry of Dask's configuration that says how long a cluster may be without workers; None for
# ever, as for clusters that start workers when there is work.
PATIENCE = "projected-kmeans.seconds-without-workers"
# A fit ends with an error if all workers are lost and none comes within this many seconds.
NO_WORKERS_SECONDS = 60

# Dask closes a worker that ended for good if a new process does not take its place in time: by
# default within 15 s, but on a busy machine a process takes longer to start.
SLOW_STARTS = {"distributed.deploy.lost-worker-timeout": "10 minutes"}

# Schedulers and workers do what anybody asks who can reach them.
LOOPBACK = "127.0.0.1"

# Dask opens web servers whether or not there is a dashboard. These have no pages.
NO_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}

ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://[^\s/]+:\d{1,5}")


class TlsFiles(NamedTuple):
    """The files of an encrypted connection, each None if it was not given."""

    tls_ca: str | None = None  # the authority that the scheduler and the workers are signed by
    tls_cert: str | None = None  # the certificate that is shown to them
    tls_key: str | None = None  # its key; None if it is in the same file

    @classmethod
    def take(cls, options: dict[str, Any]) -> TlsFiles:
        """Remove from the options of a command those that this value holds."""
        return cls(*(options.pop(name) for name in cls._fields))

    def check(self, scheduler: str | None) -> None:
        """Raise unless the files are there, belong together and are of use."""
        given = {
            f"--{name.replace('_', '-')}": path for name, path in self._asdict().items() if path
        }
        if not given:
            return
        if self.tls_ca is None or self.tls_cert is None:
            raise ValueError(
                f"{' and '.join(given)} alone cannot open an encrypted connection; give both "
                "--tls-ca and --tls-cert"
            )
        if scheduler is None or not scheduler.startswith("tls://"):
            raise ValueError(
                f"{next(iter(given))} is for a scheduler at a tls:// address, got {scheduler!r}; "
                "give --scheduler tls://scheduler:8786, or leave it out"
            )
        for option, path in given.items():
            if not Path(path).is_file():
                raise ValueError(f"{option} names {path!r}, which is not a file; check the path")

    def open(self, distributed: Any) -> Any:
        """Return Dask's form of these files; None if Dask's own configuration is to count."""
        if self.tls_ca is None:
            return None
        return distributed.Security(
            tls_ca_file=self.tls_ca,
            tls_client_cert=self.tls_cert,
            tls_client_key=self.tls_key,
            require_encryption=True,
        )


@contextmanager
def open_client(
    scheduler: str | None = None,
    n_workers: int | None = None,
    tls: TlsFiles | None = None,
    *,
    timeout: float = TIMEOUT,
) -> Iterator[Any]:
    """Yield the client of a cluster, or None if neither a scheduler nor workers are given.

    A scheduler is an address such as "tcp://scheduler:8786"; a "tls://" address asks for the files
    of ``tls``, by default those that Dask is configured with. It must answer within ``timeout``
    seconds, and have a worker within as many again. Otherwise a new cluster on this machine has
    that many worker processes of one thread each, and is closed at the end.
    """
    tls = tls or TlsFiles()
    tls.check(scheduler)
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
    if scheduler:
        opened = _connect(distributed, scheduler, tls, timeout)
    else:
        opened = _start(distributed, n_workers)
    config = load_extra("dask.config", "dask", "a cluster of Dask workers")
    with config.set({PATIENCE: NO_WORKERS_SECONDS}), _quiet_logs(), opened as client:
        yield client


@contextmanager
def _connect(distributed: Any, scheduler: str, tls: TlsFiles, timeout: float) -> Iterator[Any]:
    try:
        client = distributed.Client(scheduler, timeout=timeout, security=tls.open(distributed))
    except SSLError as error:
        raise ValueError(
            f"the files of the encrypted connection to {scheduler} cannot be used "
            f"({one_line(str(error))}); give --tls-ca, --tls-cert and --tls-key of one authority"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"no scheduler answers at {scheduler} within {timeout} s "
            f"({type(error).__name__}); start one with dask scheduler, or check the address"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            raise ValueError(
                f"the scheduler at {scheduler} has no worker; start one with "
                f"dask worker {scheduler}"
            ) from error
        yield client


@contextmanager
def _start(distributed: Any, n_workers: int | None) -> Iterator[Any]:
    config = load_extra("dask.config", "dask", "a cluster of Dask workers")
    with _ignored_interrupts(), config.set(NO_PAGES):
        cluster = distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            worker_class=partial(_start_nanny, distributed),
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
    with config.set(SLOW_STARTS), cluster, distributed.Client(cluster) as client:
        yield client


def _start_nanny(distributed: Any, *arguments: Any, **options: Any) -> Any:
    """Return the keeper of a worker, whose web server is for this machine only.

    `LocalCluster` gives workers an address for it only together with pages. Without an address,
    Dask 2024.1 listens on all interfaces of the machine.
    """
    return distributed.Nanny(*arguments, **options | {"dashboard_address": f"{LOOPBACK}:0"})


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Let Dask log nothing below critical.

    It logs tracebacks if a connection ends, also because the program is ending, as after Ctrl-C.
    What goes wrong with the work is raised, so nothing else is lost.
    """
    # Dask gives some of its loggers levels of their own, so that their parent's does not count.
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    levels = {one: one.level for one in loggers if one.name.partition(".")[0] == "distributed"}
    for logger in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C while worker processes start, so that they ignore it for good.

    Ctrl-C reaches all processes of a terminal, but this process alone has to answer it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""Clusters as the command line names them: found or started, the same result, nothing left over."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

from projected_kmeans.blocks.dask.clusters import PATIENCE, open_client
from tests.support.commands import COMMAND, ROWS, Call, check_refusal
from tests.support.dask_rows import open_cluster


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a scheduler with a worker of its own process."""
    with open_cluster(1, processes=True) as client:
        yield client.scheduler.address


def test_a_cluster_of_its_own_is_for_this_machine_only() -> None:
    """Scheduler, workers and nannies listen on the loopback address, and no web page is there."""
    psutil = pytest.importorskip("psutil")
    before = listening(psutil.Process())
    with open_client(None, 1):
        places = listening(psutil.Process()) - before
        assert len(places) >= 4
        assert {place.ip for place in places} == {"127.0.0.1"}
        pages = {ask(place.port, path) for place in places for path in ("/status", "/metrics")}
    assert pages == {404, None}


def test_a_cluster_of_its_own_waits_for_slow_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ended has 10 minutes to come back, as on a busy machine it takes long."""
    found = []
    cluster = nullcontext()
    monkeypatch.setattr("distributed.LocalCluster", lambda **options: cluster)
    monkeypatch.setattr("distributed.Client", lambda cluster: cluster)
    with open_client(None, 1):
        found.append(dask.config.get("distributed.deploy.lost-worker-timeout"))
    assert found == ["10 minutes"]


def test_a_fit_does_not_wait_for_ever_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside the block a cluster may be without workers for a minute; afterwards nothing is set."""
    cluster = nullcontext()
    monkeypatch.setattr("distributed.LocalCluster", lambda **options: cluster)
    monkeypatch.setattr("distributed.Client", lambda cluster: cluster)
    with open_client(None, 1):
        inside = dask.config.get(PATIENCE)
    assert (inside, dask.config.get(PATIENCE, None)) == (60, None)


def listening(parent: Any) -> set[Any]:
    """Return the addresses on which a process and those that it started wait for connections."""
    sockets = [
        one
        for process in (parent, *parent.children(recursive=True))
        for one in process.net_connections("inet")
    ]
    return {one.laddr for one in sockets if one.status == "LISTEN"}


def ask(port: int, path: str) -> int | None:
    """Return the status of a web page on this machine; None if no web server is there."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (HTTPException, OSError):
        return None
    finally:
        connection.close()


def children() -> set[int]:
    """Return the processes that this one has started and that still run."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )
    return {int(line) for line in listed.stdout.split()}


def results(run: Any) -> dict[str, Any]:
    """Return the numbers that a run printed."""
    assert run.code == 0, run
    found: dict[str, Any] = json.loads(run.out)["results"]
    return found


def test_a_scheduler_that_runs_gives_the_same_result(call: Call, data: Path, address: str) -> None:
    """Workers of a running cluster read the file; the result is that of a fit in this process."""
    options = ("-k", 3, "--projection", "sign", "--components", 4, "--json")
    on_cluster = results(call("fit", data, *options, "--scheduler", address))
    assert on_cluster == results(call("fit", data, *options))


def test_a_cluster_of_its_own_leaves_nothing(call: Call, data: Path, tmp_path: Path) -> None:
    """Processes end with the fit, also where it fails; labels are written as always."""
    before = children()
    out = tmp_path / "model"
    run = call("fit", data, "-k", 3, "--dask-workers", 1, "--out", out)
    assert run.code == 0, run
    assert len(np.load(out / "labels.npy")) == len(ROWS)
    rows = ROWS.copy()
    rows[17, 4] = np.nan
    np.save(data, rows)
    bad = call("fit", data, "-k", 3, "--dask-workers", 1, "--out", tmp_path / "other")
    check_refusal(bad, "X contains NaN at row 17, column 4")
    assert not (tmp_path / "other").exists()
    time.sleep(0.5)
    assert {pid for pid in children() - before if "spawn_main" in command_of(pid)} == set()


def command_of(pid: int) -> str:
    """Return the command of a process, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--scheduler", "nonsense"], ["'nonsense' is not the address of a scheduler", "tcp://"]),
        (["--scheduler", "tcp://127.0.0.1"], ["is not the address of a scheduler"]),
        (["--scheduler", "foo://127.0.0.1:8786"], ["is not the address of a scheduler"]),
        (["--dask-workers", "0"], ["dask_workers=0 is too small"]),
        (["--scheduler", "tcp://127.0.0.1:1", "--dask-workers", "2"], ["give one of them"]),
    ],
)
def test_bad_clusters_are_one_sentence(
    options: list[str], parts: list[str], call: Call, data: Path
) -> None:
    """Addresses that cannot be meant, no workers, and two clusters at once are refused."""
    check_refusal(call("fit", data, "-k", 3, *options), *parts)


def test_an_address_where_nobody_answers_is_one_sentence() -> None:
    """After the timeout the address is named, with what to do."""
    with (
        pytest.raises(ValueError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1 within 1 s"),
        open_client("tcp://127.0.0.1:1", timeout=1),
    ):
        pass


def test_a_scheduler_without_workers_is_one_sentence() -> None:
    """After the timeout a scheduler without workers is reported; nobody waits for ever."""
    with (
        open_cluster(0, processes=True) as client,
        pytest.raises(ValueError, match="has no worker; start one with dask worker"),
        open_client(client.scheduler.address, timeout=1),
    ):
        pass


def test_absent_dask_is_a_sentence(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the command that installs it is named."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    check_refusal(
        call("fit", data, "-k", 3, "--dask-workers", 2),
        "pip install 'dask[array,dataframe,distributed]",
    )


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX's")
def test_an_interrupt_ends_all_processes(data: Path) -> None:
    """A Ctrl-C, which all processes of a terminal get, ends the program and its workers."""
    np.save(data, np.random.default_rng(0).normal(size=(200_000, 64)).astype(np.float32))
    process = subprocess.Popen(
        [*COMMAND, "fit", str(data), "-k", "400", "--dask-workers", "1", "--projection", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        while not (workers := workers_of(process.pid)) and process.poll() is None:
            time.sleep(0.1)
        while ignores_interrupts(process.pid) and process.poll() is None:
            time.sleep(0.1)
        time.sleep(3)  # until the fit is under way
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    deadline = time.monotonic() + 20
    while any(command_of(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(command_of(pid) for pid in workers)


def ignores_interrupts(pid: int) -> bool:
    """Return whether a process ignores Ctrl-C, as it does until all its workers have started."""
    status = Path(f"/proc/{pid}/status").read_text()
    (ignored,) = re.findall(r"^SigIgn:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)


def workers_of(pid: int) -> set[int]:
    """Return the worker processes that a program has started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    found = {int(line) for line in listed.stdout.split()}
    return {one for one in found if "spawn_main" in command_of(one)}

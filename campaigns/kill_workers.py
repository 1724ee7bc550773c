"""Kill Dask workers and schedulers at random moments of fits.

A fit whose worker is killed must have the bits of a fit that nobody disturbed. A fit whose
scheduler is killed must end in a `ClusterError`. Neither may take longer than `LONGEST` seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import dask.array as da
import numpy as np
from distributed import Client
from recording import store_campaign

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.dask.cluster_errors import ClusterError
from projected_kmeans.blocks.dask.clusters import open_client

# A fit of these rows takes about a second on two workers.
ROWS = np.random.default_rng(0).normal(size=(20_000, 64)).astype(np.float32)
MODEL = {"n_clusters": 20, "solver": "lloyd", "n_init": 1, "max_iter": 30, "random_state": 0}
MAPS: tuple[str | None, ...] = (None, "sign", "svd")

# A fit takes seconds. One that takes this long has been given up by nobody.
LONGEST = 300.0

HANG = "hangs"

# Starts a scheduler with a worker of its own process, and prints where it is.
SCHEDULER = """
from distributed import LocalCluster
cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
print(cluster.scheduler_address, flush=True)
input()
"""


def fit(client: Any, projection: str | None) -> ProjectedKMeans:
    """Return a fit on a cluster, or in this process if there is none."""
    X = ROWS if client is None else da.from_array(ROWS, chunks=(len(ROWS) // 5, -1))
    components = None if projection is None else 16
    model = ProjectedKMeans(**MODEL, projection=projection, n_components=components or "auto")
    return model.fit(X) if client is None else model.fit(X, client=client)


def bits_of(model: ProjectedKMeans) -> bytes:
    """Return the result of a fit as bytes."""
    labels = np.asarray(model.labels_)
    return labels.tobytes() + model.cluster_centers_.tobytes() + str(model.inertia_).encode()


def disturb(
    work: Callable[[], ProjectedKMeans], kill: Callable[[], object], delay: float
) -> tuple[str, ProjectedKMeans | None]:
    """Kill something some seconds after a fit has begun; return how the fit ended, and the fit."""
    ends: list[tuple[str, ProjectedKMeans | None]] = []
    timer = threading.Timer(delay, kill)

    def run() -> None:
        try:
            ends.append(("result", work()))
        except ClusterError:
            ends.append(("sentence", None))
        except BaseException as error:  # whatever it is, it breaks a promise
            ends.append((f"{type(error).__name__}: {error}", None))

    running = threading.Thread(target=run, daemon=True)
    timer.start()
    running.start()
    running.join(LONGEST)
    early = timer.is_alive()
    timer.cancel()
    timer.join()
    if not ends:
        return HANG, None
    ended, model = ends[0]
    return ("before the kill" if early and model is not None else ended), model


def kill_a_worker(client: Any, draw: random.Random, expected: dict[str | None, Any]) -> str:
    """Kill one of the workers during a fit; return how that ended."""
    client.wait_for_workers(2, timeout=LONGEST)
    pids = sorted(client.run(os.getpid).values())
    name = draw.choice(MAPS)
    seconds, bits = expected[name]
    pid = draw.choice(pids)
    ended, model = disturb(
        lambda: fit(client, name), lambda: os.kill(pid, signal.SIGKILL), draw.uniform(0, seconds)
    )
    if model is not None and bits_of(model) != bits:
        return "other bits"
    return ended


def kill_a_scheduler(draw: random.Random, expected: dict[str | None, Any]) -> str:
    """Kill the scheduler during a fit; return how that ended."""
    name = draw.choice(MAPS)
    seconds, bits = expected[name]
    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with open_client(address) as client:
            ended, model = disturb(
                lambda: fit(client, name), process.kill, draw.uniform(0, seconds)
            )
        process.kill()
    return "other bits" if model is not None and bits_of(model) != bits else ended


def measure(client: Any) -> dict[str | None, Any]:
    """Return for each map the seconds of a fit on the cluster, and the bits of one in memory."""
    found = {}
    for name in MAPS:
        fit(client, name)
        begin = time.monotonic()
        fit(client, name)
        found[name] = (time.monotonic() - begin, bits_of(fit(None, name)))
    return found


def is_stuck(failures: list[str]) -> bool:
    """Return whether a fit hangs, after which the cluster cannot be used."""
    return any(failure.endswith(HANG) for failure in failures)


def run_campaign(kills: int, seed: int, per_scheduler: int = 10) -> dict[str, Any]:
    """Kill so many workers, and a scheduler after every ``per_scheduler`` of them."""
    draw = random.Random(seed)
    ends: Counter[str] = Counter()
    failures: list[str] = []
    with open_client(None, 2) as client:
        assert isinstance(client, Client)
        expected = measure(client)
        while ends["worker: result"] < kills and len(failures) < 20 and not is_stuck(failures):
            ended = kill_a_worker(client, draw, expected)
            ends[f"worker: {ended}"] += 1
            if ended not in ("result", "before the kill"):
                failures.append(f"a killed worker: {ended}")
            if sum(ends.values()) % per_scheduler == 0:
                ended = kill_a_scheduler(draw, expected)
                ends[f"scheduler: {ended}"] += 1
                if ended not in ("sentence", "before the kill"):
                    failures.append(f"a killed scheduler: {ended}")
    return {
        "workers_killed": ends["worker: result"],
        "schedulers_killed": ends["scheduler: sentence"],
        "fits_before_a_kill": sum(
            n for name, n in ends.items() if name.endswith("before the kill")
        ),
        "failures": failures,
    }


def main() -> None:
    """Run the campaign and store what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="workers to kill (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    parser.add_argument("--out", type=Path, help="folder of the result (default: results)")
    given = parser.parse_args()
    counts = run_campaign(given.kills, given.seed)
    command = f"python campaigns/kill_workers.py --kills {given.kills} --seed {given.seed}"
    path = store_campaign("kill_workers", command, counts, given.out)
    sys.stdout.write(f"{counts}\n{path}\n")
    sys.exit(1 if counts["failures"] else 0)


if __name__ == "__main__":
    main()

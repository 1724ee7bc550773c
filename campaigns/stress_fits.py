"""Fits in many Python threads beside processes that burn time: every one has the same bits.

Each kind of work (a fit, a certificate, a comparison of numbers of clusters, a stream) is first
done alone, on one thread. Then many of them run at once in Python threads, each with its own number
of threads, while other processes keep the cores busy. A result whose bits differ from those of the
first one is a failure, and so is a number of BLAS threads that is not the same afterwards.

Run ``python campaigns/stress_fits.py --minutes 10``.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from recording import store_campaign
from threadpoolctl import ThreadpoolController, threadpool_limits

from projected_kmeans import ProjectedKMeans, choose_n_clusters, kmeans_lower_bound

# BLAS may use this many threads, so that a call that forgets its limit shows.
BLAS_THREADS = 4
# Each piece of work takes one of these numbers of threads.
N_THREADS = (1, 2, 3)

# Returns the bits of a result, computed on some number of threads.
Work = Callable[[int], str]


def list_work(seed: int = 0) -> dict[str, Work]:
    """Return all kinds of work by name; the rows follow from the seed."""
    stream = np.random.default_rng(seed)
    means = stream.normal(size=(9, 300))
    wide = (means[stream.integers(9, size=1000)] + 2 * stream.normal(size=(1000, 300))) / 5
    few, many = wide[:300, :60], wide[:, :40]
    sparse = scipy.sparse.csr_array(np.where(np.abs(wide) > 0.9, wide, 0.0))
    fits: dict[str, tuple[Any, dict[str, Any]]] = {
        "svd": (wide, {"projection": "svd"}),
        "svd float32": (wide.astype(np.float32), {"projection": "svd", "n_components": 20}),
        "svd exact": (few, {"projection": "svd"}),
        "svd CSR": (sparse, {"projection": "svd"}),
        "cosine": (wide, {"metric": "cosine"}),
        "cosine CSR": (sparse, {"metric": "cosine", "projection": "svd"}),
        "sign": (wide, {"projection": "sign"}),
        "sign CSR": (sparse, {"projection": "sign"}),
        "gaussian": (wide, {"projection": "gaussian"}),
        "gaussian CSR": (sparse, {"projection": "gaussian"}),
        "columns": (wide, {"projection": "columns"}),
        "hadamard": (wide, {"projection": "hadamard"}),
        "no projection": (many, {"projection": None, "max_iter": 3}),
        "hartigan": (few, {"projection": "sign", "solver": "hartigan"}),
        "certified": (few, {"certificate": "auto"}),
        "certified CSR": (sparse[:200], {"certificate": "auto", "projection": "sign"}),
    }
    work: dict[str, Work] = {
        f"fit: {name}": partial(_fit, rows, options) for name, (rows, options) in fits.items()
    }
    work["bound: spectral"] = partial(_bound, many, {"method": "spectral"})
    work["bound: neighbour"] = partial(_bound, wide[:400], {"method": "neighbour"})
    work["bound: weights"] = partial(_bound, few, {"sample_weight": np.arange(1.0, 301)})
    work["numbers of clusters"] = partial(_choose, few)
    work["stream"] = partial(_stream, many)
    return work


def _fit(rows: Any, options: dict[str, Any], n_threads: int) -> str:
    model = ProjectedKMeans(9, random_state=1, n_threads=n_threads, **options).fit(rows)
    return _digest(model, rows)


def _stream(rows: Any, n_threads: int) -> str:
    model = ProjectedKMeans(9, random_state=1, n_threads=n_threads)
    for start in range(0, len(rows), 400 * n_threads):
        model.partial_fit(rows[start : start + 400 * n_threads])
    return _digest(model, rows)


def _digest(model: ProjectedKMeans, rows: Any) -> str:
    """Return a hash of everything that a model has found and can compute."""
    proof = model.certificate_
    return hash_values(
        model.predict(rows) if model.has_pending_rows_ else vars(model).get("labels_"),
        model.cluster_centers_,
        model.inertia_,
        model.normalized_inertia_,
        model.history_,
        None if proof is None else proof.lower_bound,
        model.predict(rows),
        model.transform(rows),
        model.score(rows),
    )


def _bound(rows: Any, options: dict[str, Any], n_threads: int) -> str:
    # OpenMP's limit is that of this thread only. A plain threadpool_limits would restore the limits
    # of BLAS as well, as they were when it began, inside the guard of another thread.
    with ThreadpoolController().select(user_api="openmp").limit(limits=n_threads):
        found = kmeans_lower_bound(rows, 9, random_state=1, **options)
    return hash_values(found.value, sorted(found.values.items()))


def _choose(rows: Any, n_threads: int) -> str:
    found = choose_n_clusters(rows, [2, 4, 6], random_state=1, n_threads=n_threads)
    return hash_values(found.inertia, found.silhouette, found.gap)


def hash_values(*values: Any) -> str:
    """Return a hash of the bits of some arrays and numbers."""
    whole = hashlib.sha256()
    for value in values:
        exact = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        whole.update(exact + b"|")
    return whole.hexdigest()


@contextmanager
def burn(n_processes: int) -> Iterator[None]:
    """Keep some processes busy meanwhile."""
    command = [sys.executable, "-c", "while True: pass"]
    burners = [subprocess.Popen(command) for _ in range(n_processes)]
    try:
        yield
    finally:
        for process in burners:
            process.kill()
            process.wait()


def count_blas_threads() -> list[int]:
    """Return the limit of every BLAS library of the process."""
    return [pool["num_threads"] for pool in ThreadpoolController().select(user_api="blas").info()]


def run_campaign(
    work: dict[str, Work], *, n_fits: int, n_threads: int, n_burners: int, minutes: float, seed: int
) -> dict[str, Any]:
    """Do all work alone, then rounds of it at once until the time is over; return the counts.

    Parameters
    ----------
    work : dict
        What `list_work` returned.
    n_fits : int
        Pieces of work in a round; at least one round is made.
    n_threads : int
        Python threads that work at once.
    n_burners : int
        Processes that burn time meanwhile.
    minutes : float
        No round begins after this time.
    seed : int
        Fixes the order of the work and its numbers of threads.
    """
    stream, names = np.random.default_rng(seed), sorted(work)
    failures: list[dict[str, Any]] = []
    n_done = 0
    with threadpool_limits(limits=BLAS_THREADS, user_api="blas"):
        before = count_blas_threads()
        alone = {name: work[name](1) for name in names}
        end = time.monotonic() + 60 * minutes

        def compare(name: str, threads: int) -> None:
            if work[name](threads) != alone[name]:
                failures.append({"work": name, "threads": threads, "what": "other bits"})

        with burn(n_burners), ThreadPoolExecutor(n_threads) as pool:
            while not n_done or time.monotonic() < end:
                order = stream.permutation(np.arange(n_fits) % len(names))
                threads = stream.choice(N_THREADS, n_fits).tolist()
                n_done += len(list(pool.map(compare, [names[i] for i in order], threads)))
        if count_blas_threads() != before:
            failures.append({"what": f"BLAS threads were {before}, are {count_blas_threads()}"})
    return {
        "fits": n_done,
        "kinds_of_work": len(names),
        "python_threads": n_threads,
        "busy_processes": n_burners,
        "minutes": round(minutes, 2),
        "seed": seed,
        "failures": failures,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign as the command line asks, and store what it found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--fits", type=int, default=200, help="fits in a round (default: 200)")
    parser.add_argument("--threads", type=int, default=8, help="Python threads (default: 8)")
    parser.add_argument("--burners", type=int, default=2, help="busy processes (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="order of the work (default: 0)")
    parser.add_argument("--folder", type=Path, help="where the result is stored")
    given = parser.parse_args(arguments)
    counts = run_campaign(
        list_work(),
        n_fits=given.fits,
        n_threads=given.threads,
        n_burners=given.burners,
        minutes=given.minutes,
        seed=given.seed,
    )
    command = f"python campaigns/stress_fits.py --minutes {given.minutes:g} --seed {given.seed}"
    path = store_campaign("stress_fits", command, counts, given.folder)
    print(f"{counts['fits']} fits, {len(counts['failures'])} failures: {path}")
    return 1 if counts["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())

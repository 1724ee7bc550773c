"""Threads of kernels: they survive forks, and a number that the system cannot start is no crash."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from projected_kmeans import _native

# Warnings are errors: from Python 3.12 on, one warns of forks in a process that has threads.
FIT = """
import hashlib, os, resource, signal, sys, threading, warnings
warnings.simplefilter("error")
import numpy as np
from projected_kmeans import ProjectedKMeans

X = np.random.default_rng(0).normal(size=(3000, 60)).astype(np.float32)
OPTIONS = {"n_components": 16, "solver": "lloyd", "n_init": 1, "max_iter": 5, "random_state": 0}

def fit(n_threads=2):
    model = ProjectedKMeans(20, n_threads=n_threads, **OPTIONS).fit(X)
    bits = model.labels_.tobytes() + model.cluster_centers_.tobytes()
    return model.inertia_.hex() + hashlib.sha256(bits).hexdigest()

def count_threads():
    return len(os.listdir("/proc/self/task"))

def run_in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # a child that hangs is killed
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

FORK = """
before = fit()
print("child", run_in_child(lambda: fit() == before and count_threads() == 2))
print("grandchild", run_in_child(lambda: run_in_child(lambda: fit() == before) == 0))
print("parent", int(fit() != before))
"""

FORK_FROM_A_THREAD = """
found = []
def work():
    fit()
    found.append(run_in_child(lambda: fit() == before))
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("thread", *found)
"""

POOL = """
import multiprocessing
def job(index):
    signal.alarm(120)
    return fit()
fit()
with multiprocessing.get_context("fork").Pool(4) as pool:
    print("pool", int(pool.map(job, range(4)) != [before] * 4))
"""

LOKY = """
import joblib
before = ProjectedKMeans(3, n_threads=2, random_state=0).fit(X[:500]).inertia_
model = ProjectedKMeans(3, n_threads=2, random_state=0)
found = joblib.Parallel(2)(joblib.delayed(model.fit)(X[:500]) for _ in range(2))
print(int([other.inertia_ for other in found] != [before] * 2))
"""

# The stacks of 64 threads take eight megabytes each.
NO_ROOM = """
before = fit(1)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 200_000_000,) * 2)
print(int(fit(64) != before), int(count_threads() > 24))
"""


def run(script: str, **environment: str) -> list[str]:
    """Run a script with the fits above in a process of its own; return the words it prints."""
    command = [sys.executable, "-c", FIT + script]
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment  # threads of kernels only
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env=variables, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")


@linux_only
def test_fits_in_forked_children_give_the_same_bits() -> None:
    """After a fit, whoever forks, children fit on as many threads, and so does the parent.

    That is: a child, a child of a child, the parent itself, the child of a thread that fitted while
    OpenMP serves another thread, and the workers of a forked pool.
    """
    told = run(FORK + FORK_FROM_A_THREAD + POOL)
    assert told == ["child", "0", "grandchild", "0", "parent", "0", "thread", "0", "pool", "0"]


def test_workers_of_joblib_fit_after_a_fit() -> None:
    """Workers of joblib give what the parent gave."""
    assert run(LOKY) == ["0"]


def test_a_huge_number_of_threads_is_capped() -> None:
    """OMP_NUM_THREADS=100000 or 200,000 threads in a fit end in no crash, and give equal bits."""
    script = "print(int(fit(None) != fit(1)), int(fit(200_000) != fit(1)))"
    assert run(script, OMP_NUM_THREADS="100000") == ["0", "0"]


@linux_only
def test_threads_that_cannot_start_are_left_out() -> None:
    """Where the address space has no room for all stacks, a fit uses fewer threads."""
    assert run(NO_ROOM) == ["0", "0"]


@pytest.mark.parametrize("n_threads", [1, 2, 64])
def test_small_numbers_of_threads_are_taken(n_threads: int) -> None:
    """Up to 64 threads are used on any machine, also if it has fewer processors."""
    assert _native.max_threads(n_threads) == n_threads


def test_numbers_of_threads_have_a_cap() -> None:
    """The cap is 64, or four threads for each processor if that is more."""
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    assert _native.max_threads(10**6) == max(64, 4 * processors)


def test_a_negative_number_of_threads_is_refused() -> None:
    """A kernel takes 0 for all threads, and no negative number."""
    with pytest.raises(ValueError, match="n_threads is at least 1, or 0"):
        _native.max_threads(-1)

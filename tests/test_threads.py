"""Threads: limits are respected, the GIL is free in kernels, fits may run side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from projected_kmeans import (
    GaussianProjection,
    ProjectedKMeans,
    SignProjection,
    _native,
)
from projected_kmeans.blocks.column_scan import scan_columns
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.problems import make_problem

COUNT = """
import os
import numpy as np
from threadpoolctl import threadpool_limits
from projected_kmeans import ProjectedKMeans

X = np.random.default_rng(0).normal(size=(3000, 200)).astype(np.float32)
before = len(os.listdir("/proc/self/task"))
with threadpool_limits(limits=1, user_api="openmp"):
    for solver in ("lloyd", "hartigan"):
        ProjectedKMeans(40, n_components=20, solver=solver, random_state=0).fit(X)
inside = len(os.listdir("/proc/self/task"))
ProjectedKMeans(40, n_components=20, n_threads=3, random_state=0).fit(X)
print(inside - before, len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads by /proc")
def test_openmp_limits_are_respected() -> None:
    """Under threadpool_limits no kernel starts a thread; asked for three it starts two more."""
    command = [sys.executable, "-c", COUNT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "2"]


LITTLE_AND_MUCH = """
import os
import numpy as np
from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks

X = np.random.default_rng(0).normal(size=(2000, 64))
before = len(os.listdir("/proc/self/task"))
ProjectedKMeans(10, random_state=0).fit(X)
little = len(os.listdir("/proc/self/task"))
scan_columns(ArrayBlocks(np.zeros((20_000, 1000), np.float32), 20_000))
print(little - before, len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads by /proc")
def test_little_work_stays_on_one_thread() -> None:
    """By default a small fit starts no thread; a scan of 2e7 entries starts two, as allowed."""
    command = [sys.executable, "-c", LITTLE_AND_MUCH]
    variables = os.environ | {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.split() == ["0", "2"]


LOAD = """
import os
from projected_kmeans import _native
print(os.environ.get("OMP_WAIT_POLICY"))
"""


@pytest.mark.parametrize(("chosen", "policy"), [(None, "PASSIVE"), ("active", "ACTIVE")])
def test_waiting_threads_sleep_unless_the_user_chose(chosen: str | None, policy: str) -> None:
    """OpenMP is loaded with threads that sleep while they wait; the environment stays as it was."""
    variables = {name: value for name, value in os.environ.items() if "OMP_" not in name}
    variables |= {"OMP_DISPLAY_ENV": "true"} | ({"OMP_WAIT_POLICY": chosen} if chosen else {})
    command = [sys.executable, "-c", LOAD]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.strip() == str(chosen)
    assert re.search(rf"OMP_WAIT_POLICY ?= ?'{policy}'", done.stderr)  # GCC's runtime and LLVM's


def test_limits_of_the_pool_are_seen() -> None:
    """The number of threads that a kernel takes by default is the pool's limit."""
    for limit in (1, 2):
        with threadpool_limits(limits=limit, user_api="openmp"):
            assert _native.max_threads() == limit


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_gaussian_sketches_do_not_depend_on_threads_or_blocks(dtype: Any) -> None:
    """The Gaussian sketch of a row has the same bits for any threads and in any block."""
    X = np.random.default_rng(0).integers(0, 200, size=(2000, 300)).astype(dtype)
    sketches = [
        GaussianProjection(40, random_state=0, n_threads=n).fit_transform(X) for n in (1, 2, 7)
    ]
    assert len({sketch.tobytes() for sketch in sketches}) == 1
    part = GaussianProjection(40, random_state=0).fit(X).transform(X[123:456])
    np.testing.assert_array_equal(part, sketches[0][123:456])


@pytest.fixture
def greedy_interpreter() -> Iterator[None]:
    """Let a Python thread keep the GIL until it gives it up itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


def kernels() -> dict[str, Callable[[], object]]:
    """Return calls of kernels that take a while."""
    X = np.random.default_rng(0).normal(size=(20000, 64)).astype(np.float32)
    problem = make_problem(X)
    labels = np.zeros(len(X), dtype=np.int32)
    centers = X[:100].astype(np.float64)
    projection = SignProjection(64, random_state=0, n_threads=1).fit(X)
    return {
        "assign": lambda: problem.assign(centers, labels, keep_ties=False),
        "sum": lambda: problem.sum(labels, centers),
        "scan": lambda: scan_columns(problem.source),
        "sketch": lambda: projection.transform(X),
    }


@pytest.mark.usefixtures("greedy_interpreter")
@pytest.mark.parametrize("name", sorted(kernels()))
def test_python_goes_on_during_a_kernel(name: str) -> None:
    """A thread in a kernel does not hold the GIL: another one runs before the kernel is done."""
    kernel = kernels()[name]

    def runs_beside() -> bool:
        done = threading.Event()
        thread = threading.Thread(target=lambda: (kernel(), done.set()))
        thread.start()  # with a kernel that kept the GIL this thread would next run when it ends
        beside = not done.is_set()
        thread.join()
        return beside

    # Starting a thread hands over the GIL once before it runs. With a kernel that frees the GIL,
    # not all of 50 tries find the kernel finished before this thread runs again.
    assert any(runs_beside() for _ in range(50))


def test_fits_side_by_side() -> None:
    """Fits in several Python threads give what they give one after the other."""
    X, _ = draw_blobs(gap=0.2)

    def fit(seed: int) -> ProjectedKMeans:
        return ProjectedKMeans(5, random_state=seed, n_threads=2).fit(X)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, range(4)))
    for seed, model in enumerate(together):
        assert_same_fit(model, fit(seed))

"""Threads: limits are respected, the GIL is free in kernels, fits may run side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from projected_kmeans import GaussianProjection, ProjectedKMeans, SignProjection, _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem
from tests.support.blobs import assert_same_fit, draw_blobs

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


def test_limits_of_the_pool_are_seen() -> None:
    """The number of threads that a kernel takes by default is the pool's limit."""
    for limit in (1, 2):
        with threadpool_limits(limits=limit, user_api="openmp"):
            assert _native.max_threads() == limit


def test_blas_and_kernels_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Gaussian map calls BLAS outside of our threads, and within the estimator's n_threads."""
    X, _ = draw_blobs(d=50)
    seen: list[int] = []

    class Spy(np.ndarray[Any, Any]):
        """An array that tells how many threads BLAS may take when it is multiplied."""

        def __matmul__(self, other: Any) -> Any:
            """Multiply."""
            pools = ThreadpoolController().select(user_api="blas").info()
            seen.extend(pool["num_threads"] for pool in pools)
            return np.asarray(self) @ np.asarray(other)

    projection = GaussianProjection(5, random_state=0, n_threads=1).fit(X)
    out = np.empty((len(X), 5))
    projection.project_block(X.view(Spy), out)
    np.testing.assert_array_equal(out, projection.transform(X))
    assert set(seen) <= {1}


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
    source = ArrayBlocks(X)
    problem = Problem(source, scan_columns(source), n_threads=1)
    labels = np.zeros(len(X), dtype=np.int32)
    centers = X[:100].astype(np.float64)
    projection = SignProjection(64, random_state=0, n_threads=1).fit(X)
    return {
        "assign": lambda: problem.assign(centers, labels, keep_ties=False),
        "sum": lambda: problem.sum(labels, centers),
        "scan": lambda: scan_columns(source),
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

    # Starting a thread hands over the GIL once before it runs; so many tries cannot all be late.
    assert any(runs_beside() for _ in range(50))


def test_fits_side_by_side() -> None:
    """Fits in several Python threads give what they give one after the other."""
    X, _ = draw_blobs(gap=0.2)

    def fit(seed: int) -> ProjectedKMeans:
        return ProjectedKMeans(5, random_state=seed, n_threads=2).fit(X)

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, range(8)))
    for seed, model in enumerate(together):
        assert_same_fit(model, fit(seed))

"""Threads: limits are respected, the GIL is free in kernels, fits may run side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import partial
from time import sleep
from typing import Any

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from projected_kmeans import GaussianProjection, ProjectedKMeans, SignProjection, _native
from projected_kmeans.blas_threads import multiply_rows, one_blas_thread
from projected_kmeans.blocks.column_scan import scan_columns
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.problems import make_problem

BLAS = ThreadpoolController().select(user_api="blas")

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


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """Give BLAS two threads, also on a machine with one core, so that a limit of one shows."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def count_blas_threads() -> set[int]:
    """Return the numbers of threads that the BLAS libraries of this process may use now.

    Libraries on OpenMP, such as the one that FAISS brings along, are left out: OpenMP keeps a limit
    for each thread by itself, so that other threads do not see it. NumPy and SciPy use others.
    """
    return {pool["num_threads"] for pool in BLAS.info() if pool["threading_layer"] != "openmp"}


def overlap(guard: Callable[[], AbstractContextManager[object]]) -> list[set[int]]:
    """Let a second user enter before the first leaves; return what is seen after each step."""
    first, second = guard(), guard()
    seen = []
    for step in (
        first.__enter__,
        second.__enter__,
        lambda: first.__exit__(None, None, None),
        lambda: second.__exit__(None, None, None),
    ):
        step()
        seen.append(count_blas_threads())
    return seen


@pytest.mark.usefixtures("two_blas_threads")
def test_overlapping_users_keep_one_blas_thread() -> None:
    """BLAS has one thread until the last user leaves, and then as many as before."""
    assert overlap(one_blas_thread) == [{1}, {1}, {1}, {2}]


@pytest.mark.usefixtures("two_blas_threads")
def test_plain_limits_would_disturb_overlapping_users() -> None:
    """Why there is a guard: plain limits end early for the second user, and then stay for good."""
    plain = partial(threadpool_limits, limits=1, user_api="blas")
    assert overlap(plain) == [{1}, {1}, {2}, {1}]


@pytest.mark.usefixtures("two_blas_threads")
def test_users_in_many_threads_see_one_blas_thread() -> None:
    """Users that come and go in several threads, some with an error, never see another limit."""
    n_users, n_times = 6, 30
    together = threading.Barrier(n_users)

    def use(user: int) -> set[int]:
        seen, stream = set(), np.random.default_rng(user)
        together.wait()
        for time in range(n_times):
            with suppress(ZeroDivisionError), one_blas_thread():
                seen |= count_blas_threads()
                sleep(stream.uniform(0, 0.001))
                seen |= count_blas_threads()
                1 / (time % 3)  # raises at every third time
        return seen

    with ThreadPoolExecutor(n_users) as pool:
        assert set.union(*pool.map(use, range(n_users))) == {1}
    assert count_blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_the_last_user_restores_the_limit_from_another_thread() -> None:
    """The thread that leaves last need not be the one that entered first, which may live on."""
    entered, left = threading.Event(), threading.Event()

    def first() -> None:
        with one_blas_thread():
            entered.set()
            assert left.wait(10)

    def second() -> set[int]:
        entered.wait(10)
        with one_blas_thread():
            left.set()
            early.result()
            return count_blas_threads()

    with ThreadPoolExecutor(2) as pool:
        early = pool.submit(first)  # bound before the second thread asks for it
        late = pool.submit(second)
        assert late.result() == {1}
        assert count_blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_an_error_restores_the_number_of_blas_threads() -> None:
    """After an error BLAS has its former number of threads, also if guards are nested."""
    with pytest.raises(ZeroDivisionError), one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
    assert count_blas_threads() == {2}


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", [(0, 5, 3), (1, 300, 40), (700, 60, 50), (4001, 30, 9)])
def test_rows_multiplied_in_threads(shape: tuple[int, int, int], n_threads: int) -> None:
    """Products of small integers, which are exact, equal NumPy's for any number of threads."""
    n_rows, n_columns, width = shape
    stream = np.random.default_rng(0)
    rows = stream.integers(-9, 9, size=(n_rows, n_columns)).astype(np.float32)
    matrix = stream.integers(-9, 9, size=(n_columns, width)).astype(np.float32)
    found = multiply_rows(rows, matrix, n_threads)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows @ matrix)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_multiplied_with_one_blas_thread(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a Gaussian sketch is computed on several threads, each calls BLAS with one thread."""
    X = np.random.default_rng(0).normal(size=(3000, 100))
    seen: list[set[int]] = []
    plain = np.matmul

    def matmul(*arguments: Any, **options: Any) -> Any:
        seen.append(count_blas_threads())
        return plain(*arguments, **options)

    projection = GaussianProjection(12, random_state=0, n_threads=n_threads).fit(X)
    monkeypatch.setattr(np, "matmul", matmul)
    projection.transform(X)
    assert seen == [{1}] * n_threads
    assert count_blas_threads() == {2}


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

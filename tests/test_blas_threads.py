"""BLAS on one thread: counted users, other code that changes limits, forks, and the same bits."""

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
import scipy.linalg
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController, threadpool_limits

from projected_kmeans import ProjectedKMeans, _native, blas_threads
from projected_kmeans.blas_threads import (
    Libraries,
    _let_any_thread_set_limits,
    multiply,
    multiply_by_transpose,
    multiply_rows,
    one_blas_thread,
    strictly,
)

BLAS = ThreadpoolController().select(user_api="blas")


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


@pytest.mark.usefixtures("two_blas_threads")
def test_work_is_repeated_if_other_code_changes_the_limit() -> None:
    """A result that was computed while BLAS had more threads is thrown away, in every thread."""
    disturbed, tries = threading.Barrier(2), [0, 0]

    def work(user: int) -> int:
        tries[user] += 1
        if tries[user] == 1:
            disturbed.wait(10)
            if user == 0:
                _set_blas_threads(3)
            disturbed.wait(10)
        return tries[user]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda user: strictly(partial(work, user)), range(2))) == [2, 2]
    assert count_blas_threads() == {3}  # what the other code had set


@pytest.mark.usefixtures("two_blas_threads")
def test_a_limit_that_other_code_sets_at_the_end_is_kept() -> None:
    """The guard restores its own limit only: what others set meanwhile stays."""
    with one_blas_thread():
        _set_blas_threads(3)
    assert count_blas_threads() == {3}


@pytest.mark.usefixtures("two_blas_threads")
def test_a_limit_of_other_code_may_end_inside_the_guard() -> None:
    """Another limit of one that ends first, as in scikit-learn's KMeans, leaves no trace."""
    other = threadpool_limits(limits=1, user_api="blas")
    with one_blas_thread():
        _let_any_thread_set_limits()
        other.restore_original_limits()
    assert count_blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_disturbances_without_end_are_an_error() -> None:
    """Code that changes the limit again and again gets a sentence, and no endless loop."""
    with pytest.raises(RuntimeError, match="changed the number of BLAS threads during each of"):
        strictly(partial(_set_blas_threads, 2))
    assert count_blas_threads() == {2}


class BlasOnOpenMP:
    """A BLAS library that keeps its limit for each thread, as those on OpenMP do."""

    threading_layer = "openmp"

    def __init__(self) -> None:
        self._own = threading.local()

    def get_num_threads(self) -> int:
        """Return the limit of the calling thread."""
        return int(getattr(self._own, "limit", 4))

    def set_num_threads(self, number: int) -> None:
        """Set the limit of the calling thread."""
        self._own.limit = number


@pytest.mark.parametrize("shape", [(3000, 60), (300, 400)])
def test_every_thread_limits_a_blas_on_openmp(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of one holds in every thread that calls BLAS, and nowhere afterwards."""
    library, seen = BlasOnOpenMP(), set()
    monkeypatch.setattr(blas_threads, "_libraries", lambda: Libraries([], [library]))
    X = np.random.default_rng(0).normal(size=shape)

    def see_before(function: Callable[..., Any]) -> Callable[..., Any]:
        def seen_function(*arguments: Any, **options: Any) -> Any:
            seen.add(library.get_num_threads())
            return function(*arguments, **options)

        return seen_function

    for module, name in ((np, "matmul"), (_native, "sign_product")):
        monkeypatch.setattr(module, name, see_before(getattr(module, name)))
    multiply_rows(X, X.T[:, :50], 3)
    multiply_by_transpose(X, 3)
    ProjectedKMeans(5, projection="svd", n_threads=3, random_state=0).fit(X)
    assert seen == {1}
    assert library.get_num_threads() == 4
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(library.get_num_threads).result() == 4


FORK = """
import os, sys, threading
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_limits
from projected_kmeans.blas_threads import multiply, one_blas_thread

BLAS = ThreadpoolController().select(user_api="blas")
threadpool_limits(limits=2, user_api="blas")
entered, leave = threading.Event(), threading.Event()

def stay():
    with one_blas_thread():
        entered.set()
        leave.wait()

def fork_and_count():
    child = os.fork()
    if child == 0:
        before = {pool["num_threads"] for pool in BLAS.info()}
        assert multiply(np.ones(3), np.ones(3)) == 3
        after = {pool["num_threads"] for pool in BLAS.info()}
        os._exit(0 if (before, after) == ({EXPECTED}, {EXPECTED}) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

if EXPECTED == 2:  # another thread is inside the guard
    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    code = fork_and_count()
    leave.set()
    thread.join()
else:  # this thread is
    with one_blas_thread(), one_blas_thread():
        code = fork_and_count()
assert {pool["num_threads"] for pool in BLAS.info()} == {2}
sys.exit(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("expected", [1, 2])
def test_a_forked_child_can_use_the_guard(expected: int) -> None:
    """A child of a fork has the limit of its own thread, not that of threads which it lost."""
    program = f"EXPECTED = {expected}\n{FORK}"
    done = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)
    assert done.returncode == 0


def _set_blas_threads(number: int) -> None:
    """Set the limit as other code does, which does not know the guard."""
    _let_any_thread_set_limits()
    for library in BLAS.lib_controllers:
        library.set_num_threads(number)
    _let_any_thread_set_limits()


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
    np.testing.assert_array_equal(multiply_by_transpose(rows, n_threads), rows @ rows.T)


def shift(array: NDArray[Any], n_bytes: int) -> NDArray[Any]:
    """Return a copy whose first entry lies some bytes after an address divisible by 64."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + n_bytes
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def test_bits_do_not_depend_on_addresses() -> None:
    """Products and decompositions have the same bits wherever their factors lie in memory."""
    stream = np.random.default_rng(0)
    found: dict[str, set[bytes]] = {}
    wide, square = stream.normal(size=(301, 203)), stream.normal(size=(150, 150))
    for n_bytes in (0, 8, 16, 24, 40, 56):
        rows, matrix = shift(wide, n_bytes), shift(square + square.T, 64 - n_bytes)
        with one_blas_thread():
            results = {
                "product": multiply_rows(rows, rows.T, 2),
                "transpose": multiply_by_transpose(rows.T, 2),
                "vector": multiply(rows, rows[0]),
                "dot": multiply(rows[:, 1], rows[:, 2]),
                "sum": multiply(rows[:, 0], rows),
                "eigenvalues": np.linalg.eigvalsh(matrix),
                "eigenvectors": scipy.linalg.eigh(matrix)[1],
                "basis": scipy.linalg.qr(rows, mode="economic")[0],
                "singular": scipy.linalg.svd(rows, full_matrices=False)[0],
                "einsum": np.einsum("ij,ij->i", rows, rows),
                "squares": np.sum(rows * rows, axis=1),
            }
        for name, result in results.items():
            found.setdefault(name, set()).add(np.asarray(result).tobytes())
    assert {name: len(bits) for name, bits in found.items()} == dict.fromkeys(found, 1)

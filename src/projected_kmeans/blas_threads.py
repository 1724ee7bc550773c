"""BLAS and LAPACK on one thread, so that results have the same bits every time.

The rounding of a product or a decomposition depends on how many threads BLAS uses. All that the
package computes with BLAS or LAPACK is computed here or inside `one_blas_thread`, and
``tests/test_strict_algebra.py`` looks for calls that are not. Large products are cut into parts by
their shape, and several threads compute the parts with one BLAS thread each.

The number of BLAS threads is a setting of the whole process. If every fit set and restored it by
itself, one fit could give BLAS its threads back in the middle of another fit's decomposition, and
two overlapping fits could leave BLAS at one thread for good. So all users share one counter: the
first to enter sets the limit, the last to leave restores what was there before.

Other programs in the process, such as scikit-learn's KMeans in another Python thread, set and
restore the limit, too. `strictly` looks at the limit after the work, and repeats the work if
somebody else has changed the limit meanwhile. A limit that somebody else has changed is not
restored to an earlier value.

A BLAS that runs on OpenMP (conda's, for example) keeps the limit for each thread by itself. So
every thread that enters sets it for itself as well.

From version 3.8 on, threadpoolctl obeys only the first thread that sets a limit for OpenBLAS and
silently ignores all others while that thread lives. So the guard takes that control away before it
sets a limit, and gives it up afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from projected_kmeans.thread_pool import ThreadPool

# A part of a product has at least this many multiplications; fewer are not worth a thread.
MIN_MULTIPLICATIONS = 2**20
# The most parts of a product. More parts would share the work better among many threads, but each
# part prepares the whole right factor anew.
MAX_PARTS = 16

# `strictly` gives up after this many disturbances in a row.
MAX_TRIES = 100

Found = TypeVar("Found")


class Libraries(NamedTuple):
    """The BLAS libraries of the process, as threadpoolctl controls them."""

    shared: list[Any]  # have one limit for the whole process
    of_threads: list[Any]  # run on OpenMP and keep a limit for each thread


class Limits(threading.local):
    """What a thread has set for itself: how often it has entered, and the limits before."""

    depth = 0
    before: tuple[int, ...] = ()


_lock = threading.Lock()
_own = Limits()
_n_users = 0
_n_disturbances = 0
_before: dict[int, int] = {}  # from the index of a shared library to its limit before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS at one thread until the last of all overlapping users has left.

    As a decorator it does so in each thread that calls the function.
    """
    global _n_users
    with _lock:
        if _n_users == 0:
            _limit_shared()
        _n_users += 1
    of_threads = _libraries().of_threads
    if _own.depth == 0:
        _own.before = tuple(library.get_num_threads() for library in of_threads)
        _set_limits(of_threads, [1] * len(of_threads))
    _own.depth += 1
    try:
        yield
    finally:
        _own.depth -= 1
        if _own.depth == 0:
            _set_limits(of_threads, _own.before)
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _restore_shared()


def strictly(compute: Callable[[], Found]) -> Found:
    """Return what a function computes on one BLAS thread, whatever other code sets meanwhile.

    It is called again if other code changed the limit while it ran, which counts as a disturbance.
    """
    global _n_disturbances
    with one_blas_thread():
        for _ in range(MAX_TRIES):
            seen = _n_disturbances
            found = compute()
            with _lock:
                if _limit_shared():
                    _n_disturbances += 1
            if seen == _n_disturbances:
                return found
    raise RuntimeError(
        f"other code changed the number of BLAS threads during each of {MAX_TRIES} tries; set it "
        "once and not again and again"
    )


def multiply(left: NDArray[Any], right: NDArray[Any]) -> Any:
    """Return ``left @ right`` for small arrays, computed on one thread."""
    return strictly(lambda: left @ right)


def multiply_rows(rows: NDArray[Any], matrix: NDArray[Any], n_threads: int) -> NDArray[Any]:
    """Return ``rows @ matrix``, the same bits for any number of threads.

    The rows are cut into parts whose number follows from the shapes.
    """
    out = np.empty((rows.shape[0], matrix.shape[1]), np.result_type(rows, matrix))

    @one_blas_thread()
    def multiply_part(span: slice) -> None:
        np.matmul(rows[span], matrix, out=out[span])

    _share(multiply_part, rows.shape[0], rows.shape[0] * matrix.size, n_threads)
    return out


def multiply_by_transpose(rows: NDArray[Any], n_threads: int) -> NDArray[Any]:
    """Return ``rows @ rows.T``, of which only the upper half is computed, as `multiply_rows`."""
    n_rows = rows.shape[0]
    out = np.empty((n_rows, n_rows), rows.dtype)

    @one_blas_thread()
    def multiply_part(span: slice) -> None:
        np.matmul(rows[span], rows[span.start :].T, out=out[span, span.start :])
        out[span.stop :, span] = out[span, span.stop :].T

    _share(multiply_part, n_rows, n_rows * rows.size, n_threads)
    return out


def _share(
    compute: Callable[[slice], None], n_rows: int, n_multiplications: int, n_threads: int
) -> None:
    """Compute parts of a product in some threads; the parts follow from the size alone."""
    n_parts = max(1, min(MAX_PARTS, n_rows, n_multiplications // MIN_MULTIPLICATIONS))
    bounds = np.linspace(0, n_rows, n_parts + 1).astype(int).tolist()
    spans = [slice(first, last) for first, last in pairwise(bounds)]
    n_workers = min(n_threads, n_parts)

    def compute_all() -> None:
        if n_workers <= 1:
            for span in spans:
                compute(span)
            return
        with ThreadPool(n_workers) as pool:
            list(pool.map(compute, spans))

    strictly(compute_all)


def _limit_shared() -> bool:
    """Limit the shared libraries to one thread; return whether any had more. Needs the lock."""
    shared = _libraries().shared
    now = {index: library.get_num_threads() for index, library in enumerate(shared)}
    found = {index: number for index, number in now.items() if number != 1}
    _before.update(found)
    _set_limits([shared[index] for index in found], [1] * len(found))
    return bool(found)


def _restore_shared() -> None:
    """Give the shared libraries what they had, unless other code changed it. Needs the lock."""
    shared = _libraries().shared
    left = {
        index: before for index, before in _before.items() if shared[index].get_num_threads() == 1
    }
    _before.clear()
    _set_limits([shared[index] for index in left], left.values())


def _set_limits(libraries: list[Any], numbers: Any) -> None:
    if not libraries:
        return
    _let_any_thread_set_limits()
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
    _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Take the control over OpenBLAS away from the thread that has it, if any has."""
    owned: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(owned, "clear_controlling_thread"):  # from threadpoolctl 3.8 on
        owned.clear_controlling_thread(force=True)


@cache
def _libraries() -> Libraries:
    """Return the libraries that NumPy and SciPy call, and others that are loaded by now."""
    import scipy.linalg  # noqa: F401, because it loads SciPy's BLAS

    found = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    of_threads = [one for one in found if getattr(one, "threading_layer", None) == "openmp"]
    return Libraries([one for one in found if one not in of_threads], of_threads)


def _forget_other_threads() -> None:
    """Make the guard usable in a forked child, where only the thread that forked lives on."""
    global _lock, _n_users
    _lock = threading.Lock()
    held, _n_users = _n_users > 0, _own.depth
    if held and _n_users == 0:
        _restore_shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)

"""One BLAS thread while results must have the same bits every time, also while other fits run.

The number of BLAS threads is a setting of the whole process. If every fit set and restored it by
itself, one fit could give BLAS its threads back in the middle of another fit's decomposition,
whose last bits would then differ, and two overlapping fits could leave BLAS at one thread for
good. So all users share one counter: the first to enter sets the limit, the last to leave
restores what was there before.

These two may be different Python threads. From version 3.8 on, threadpoolctl obeys only the first
thread that sets a limit for OpenBLAS and silently ignores all others while that thread lives. So
the guard takes that control away before it sets or restores the limit, and gives it up afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

# multiply_rows gives a thread at least this many multiplications; fewer are not worth a thread.
MIN_MULTIPLICATIONS = 2**20

_lock = threading.Lock()
_n_users = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS at one thread until the last of all overlapping users has left.

    Examples
    --------
    >>> from threadpoolctl import ThreadpoolController
    >>> with one_blas_thread(), one_blas_thread():
    ...     pools = ThreadpoolController().select(user_api="blas").info()
    >>> {pool["num_threads"] for pool in pools} <= {1}
    True
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _n_users, _limits
    with _lock:
        if _n_users == 0:
            _let_any_thread_set_limits()
            _limits = threadpoolctl.threadpool_limits(limits=1, user_api="blas")
        _n_users += 1


def _leave() -> None:
    global _n_users, _limits
    with _lock:
        _n_users -= 1
        if _n_users == 0:
            _let_any_thread_set_limits()
            _limits.restore_original_limits()
            _limits = None
            _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Take the control over OpenBLAS away from the thread that has it, if any has."""
    owned: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(owned, "clear_controlling_thread"):  # from threadpoolctl 3.8 on
        owned.clear_controlling_thread(force=True)


def multiply_rows(rows: NDArray[Any], matrix: NDArray[Any], n_threads: int) -> NDArray[Any]:
    """Return ``rows @ matrix``, computed by several threads that each call BLAS with one thread.

    Parameters
    ----------
    rows : ndarray (n, d)
        The rows, which are cut into one contiguous part for each thread.
    matrix : ndarray (d, t)
        The matrix that they are multiplied by.
    n_threads : int
        The maximum number of threads. Small products use fewer.
    """
    size = rows.shape[0] * matrix.size
    n_parts = max(1, min(n_threads, rows.shape[0], size // MIN_MULTIPLICATIONS))
    out = np.empty((rows.shape[0], matrix.shape[1]), np.result_type(rows, matrix))
    bounds = np.linspace(0, rows.shape[0], n_parts + 1).astype(int)
    with one_blas_thread():
        if n_parts == 1:
            np.matmul(rows, matrix, out=out)
            return out
        with ThreadPoolExecutor(n_parts) as pool:
            spans = [slice(first, last) for first, last in pairwise(bounds)]
            list(pool.map(lambda span: np.matmul(rows[span], matrix, out=out[span]), spans))
    return out

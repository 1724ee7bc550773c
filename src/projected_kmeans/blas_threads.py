"""One BLAS thread for whoever needs the same bits every time, also while other fits run.

The number of BLAS threads is a setting of the whole process. If every fit set and restored it by
itself, one fit could give BLAS its threads back in the middle of another fit's decomposition,
whose last bits would then differ, and two overlapping fits could leave BLAS at one thread for
good. So all users share one counter: the first to enter sets the limit, the last to leave
restores what was there before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

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
            _limits = threadpool_limits(limits=1, user_api="blas")
        _n_users += 1


def _leave() -> None:
    global _n_users, _limits
    with _lock:
        _n_users -= 1
        if _n_users == 0:
            _limits.restore_original_limits()
            _limits = None


def multiply_rows(rows: NDArray[Any], matrix: NDArray[Any], n_threads: int) -> NDArray[Any]:
    """Return ``rows @ matrix``, the rows shared among threads that each call BLAS on one thread.

    Parameters
    ----------
    rows : ndarray (n, d)
        Cut into one contiguous part a thread.
    matrix : ndarray (d, t)
        Read by all threads.
    n_threads : int
        Threads; 1 makes one plain call.
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

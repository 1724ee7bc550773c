"""Work on parts of a proof side by side, each on one thread with one BLAS thread.

The guard of `blas_threads` holds no lock while it computes, so that parts do not wait for each
other. What a part proves depends on its own rows and labels alone, unless a time limit cuts it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from typing import TypeVar

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.running.deadlines import Deadline
from projected_kmeans.thread_pool import ThreadPool

Item = TypeVar("Item")
Proven = TypeVar("Proven")


def work_side_by_side(
    items: Sequence[Item],
    work: Callable[[Item, Deadline], Proven],
    *,
    n_threads: int,
    deadline: Deadline,
    on_item: Callable[[Proven], object] | None = None,
) -> list[Proven | None]:
    """Return what a function makes of each item; None for items that were not begun.

    Each item has a deadline of its own: its share of the time that is left, if there is a limit.
    ``on_item`` is called with each result, in the thread of the caller; a true answer stops the
    work.
    """
    is_stopped = threading.Event()
    results: list[Proven | None] = [None] * len(items)
    n_threads = max(1, min(n_threads, len(items)))
    shares = _Shares(deadline, len(items), n_threads)

    def is_over() -> bool:
        return is_stopped.is_set() or deadline.is_over

    def run(item: Item) -> Proven | None:
        return None if is_over() else work(item, Deadline(shares.take(), is_over))

    with one_blas_thread(), ThreadPool(n_threads) as pool:
        try:
            futures = {pool.submit(run, item): index for index, item in enumerate(items)}
            for future in as_completed(futures):
                result = results[futures[future]] = future.result()
                if result is not None and on_item is not None and on_item(result):
                    is_stopped.set()
        except BaseException:  # threads that run end after their present step
            is_stopped.set()
            raise
    return results


class _Shares:
    """Divides the time that is left among the items that are left."""

    def __init__(self, deadline: Deadline, n_items: int, n_threads: int) -> None:
        self._deadline, self._n_left, self._n_threads = deadline, n_items, n_threads
        self._lock = threading.Lock()

    def take(self) -> float | None:
        """Return the seconds that the next item may take; None if there is no limit."""
        seconds = self._deadline.seconds_left
        with self._lock:
            n_left, self._n_left = self._n_left, self._n_left - 1
        return None if math.isinf(seconds) else seconds * min(1.0, self._n_threads / n_left)

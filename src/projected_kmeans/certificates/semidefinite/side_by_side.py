"""Prove parts side by side, each on one thread with one BLAS thread.

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
from projected_kmeans.certificates.semidefinite.instance import Indices, Instance
from projected_kmeans.certificates.semidefinite.part import prove_part
from projected_kmeans.certificates.semidefinite.part_results import PartEffort, PartProof
from projected_kmeans.running.deadlines import Deadline
from projected_kmeans.thread_pool import ThreadPool

Found = TypeVar("Found")

# What is done for a part, within a deadline of its own.
ForPart = Callable[[Instance, Deadline], Found]


def prove_side_by_side(
    instance: Instance,
    parts: Sequence[Indices],
    effort: PartEffort,
    *,
    n_threads: int,
    deadline: Deadline,
    on_part: Callable[[PartProof], bool],
) -> list[PartProof | None]:
    """Return what was proven for each part; None for parts that were not begun.

    Parameters
    ----------
    instance : Instance
        All rows.
    parts : sequence of ndarray of int64
        The rows of each part.
    effort : PartEffort
        The work for each part.
    n_threads : int
        Parts that are worked on at a time.
    deadline : Deadline
        When to stop. If it has a limit, each part gets its share of the time that is left.
    on_part : callable
        Called with what was found for a part, after every part, in the thread of the caller; a true
        answer stops the work.
    """

    def prove(part: Instance, own: Deadline) -> PartProof:
        return prove_part(
            part.rows,
            part.n_clusters,
            part.labels,
            weights=part.weights,
            effort=effort,
            deadline=own,
        )

    return work_side_by_side(
        instance, parts, prove, n_threads=n_threads, deadline=deadline, on_part=on_part
    )


def work_side_by_side(
    instance: Instance,
    parts: Sequence[Indices],
    work: ForPart[Found],
    *,
    n_threads: int,
    deadline: Deadline,
    on_part: Callable[[Found], bool],
) -> list[Found | None]:
    """Return what a function finds for each part; None for parts that were not begun.

    Parameters
    ----------
    instance, parts, n_threads, deadline, on_part
        As in `prove_side_by_side`.
    work : callable
        Called with the rows of a part and its own deadline, in several threads.
    """
    is_stopped = threading.Event()
    found: list[Found | None] = [None] * len(parts)
    n_threads = max(1, min(n_threads, len(parts)))
    shares = _Shares(deadline, len(parts), n_threads)

    def is_over() -> bool:
        return is_stopped.is_set() or deadline.is_over

    def run(part: Indices) -> Found | None:
        if is_over():
            return None
        return work(instance.take(part), Deadline(shares.take(), is_over))

    with one_blas_thread(), ThreadPool(n_threads) as pool:
        try:
            futures = {pool.submit(run, part): index for index, part in enumerate(parts)}
            for future in as_completed(futures):
                one = found[futures[future]] = future.result()
                if one is not None and on_part(one):
                    is_stopped.set()
        except BaseException:  # threads that run end after their present step
            is_stopped.set()
            raise
    return found


class _Shares:
    """Divides the time that is left among the parts that are left."""

    def __init__(self, deadline: Deadline, n_parts: int, n_threads: int) -> None:
        self._deadline, self._n_left, self._n_threads = deadline, n_parts, n_threads
        self._lock = threading.Lock()

    def take(self) -> float | None:
        """Return the seconds that the next part may take; None if there is no limit."""
        seconds = self._deadline.seconds_left
        with self._lock:
            n_left, self._n_left = self._n_left, self._n_left - 1
        return None if math.isinf(seconds) else seconds * min(1.0, self._n_threads / n_left)

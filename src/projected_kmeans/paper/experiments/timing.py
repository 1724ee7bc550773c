"""Seconds of a piece of work, repeated until they mean something.

Measures time only; results of the work are thrown away.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def time_work(work: Callable[[], object], *, least_seconds: float = 0.0, repeats: int = 3) -> float:
    """Return the median seconds of a call.

    Parameters
    ----------
    work : callable
        Called once before the clock starts, so that caches and threads are warm.
    least_seconds : float, default=0.0
        Calls go on until they took so long in all.
    repeats : int, default=3
        Calls at least.

    Examples
    --------
    >>> time_work(lambda: None) < 1
    True
    """
    work()
    seconds: list[float] = []
    while len(seconds) < repeats or sum(seconds) < least_seconds:
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)

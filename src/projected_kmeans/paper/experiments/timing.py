"""The median seconds of a call, repeated for a minimum time.

Measures time only; the results of the calls are dropped.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def time_work(work: Callable[[], object], *, min_seconds: float = 0.0, repeats: int = 3) -> float:
    """Return the median seconds of a call.

    Parameters
    ----------
    work : callable
        Called once before the clock starts, so that caches and threads are warm.
    min_seconds : float, default=0.0
        Minimum time of all timed calls together.
    repeats : int, default=3
        Minimum number of timed calls.

    Examples
    --------
    >>> time_work(lambda: None) < 1
    True
    """
    work()
    seconds: list[float] = []
    while len(seconds) < repeats or sum(seconds) < min_seconds:
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)

"""How long work may take, asked between its blocks: a deadline, and the way out when it is over.

Knows clocks; what was done until then, and what of it counts, is the work's own business.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class OutOfTime(Exception):
    """Leaves work in the middle; what was proven before is as true as ever."""


class Deadline:
    """A moment after which no further block of work is begun.

    Parameters
    ----------
    limit : float or None
        Seconds from now; None for no limit.
    is_stopped : callable, optional
        Asked as often as the clock: whether somebody else wants the work to end.

    Examples
    --------
    >>> Deadline(None).is_over, Deadline(0.0).is_over
    (False, True)
    >>> Deadline(0.0).check()
    Traceback (most recent call last):
    ...
    projected_kmeans.running.deadlines.OutOfTime
    """

    def __init__(
        self, limit: float | None = None, is_stopped: Callable[[], bool] | None = None
    ) -> None:
        self._end = math.inf if limit is None else time.perf_counter() + limit
        self._is_stopped = is_stopped

    @property
    def seconds_left(self) -> float:
        """Until the end by the clock, 0 after it; infinity where there is no limit."""
        return max(0.0, self._end - time.perf_counter())

    @property
    def is_over(self) -> bool:
        """Whether the moment has come, by the clock or by somebody's wish."""
        return self.seconds_left <= 0 or (self._is_stopped is not None and self._is_stopped())

    def check(self) -> None:
        """Raise `OutOfTime` where it is over."""
        if self.is_over:
            raise OutOfTime

"""A deadline for work that is done block by block, and the exception that ends it.

Knows the clock only. The work decides which of its results count when it is cut short.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class OutOfTime(Exception):
    """Raised to leave work in the middle; results that are complete stay valid."""


class Deadline:
    """A moment, some seconds from now, after which no further block of work begins.

    ``is_stopped`` is called whenever the clock is read; a true answer ends the work, too.
    """

    def __init__(
        self, limit: float | None = None, is_stopped: Callable[[], bool] | None = None
    ) -> None:
        self._end = math.inf if limit is None else time.perf_counter() + limit
        self._is_stopped = is_stopped

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, 0 after it; infinity if there is no limit."""
        return max(0.0, self._end - time.perf_counter())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed, or ``is_stopped`` has returned true."""
        return self.seconds_left <= 0 or (self._is_stopped is not None and self._is_stopped())

    def check(self) -> None:
        """Raise `OutOfTime` if the deadline has passed."""
        if self.is_over:
            raise OutOfTime

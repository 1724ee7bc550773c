"""What a fit tells while it runs: its clock, its log and the caller's callback.

Observes; it changes nothing but whether the fit goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from projected_kmeans.results import FitState

logger = logging.getLogger("projected_kmeans")


class Journal:
    """The record of one fit.

    Parameters
    ----------
    callback : callable or None
        Called with a `FitState` after every unit of work; a true answer asks to stop.
    verbose : int
        0 logs at level DEBUG, more at level INFO, to the logger "projected_kmeans".

    Attributes
    ----------
    seconds : dict
        From step to the time spent in it.
    stopped : bool
        Whether the callback asked to stop.
    """

    def __init__(self, callback: Callable[[FitState], object] | None, verbose: int) -> None:
        self.seconds: dict[str, float] = {}
        self.stopped = False
        self._callback = callback
        self._level = logging.INFO if verbose else logging.DEBUG
        self._start = time.perf_counter()
        self._step = ""
        self._total = 0
        self._restart = 0

    @contextmanager
    def step(self, name: str, total: int, restart: int = 0) -> Iterator[None]:
        """Clock what happens inside as one step of at most ``total`` units."""
        self._step, self._total, self._restart = name, total, restart
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - begin
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def report(self, done: int, inertia: float | None = None) -> bool:
        """Tell that ``done`` units of the step are done; return whether to stop."""
        state = FitState(
            self._step,
            self._restart,
            done,
            self._total,
            inertia,
            time.perf_counter() - self._start,
        )
        logger.log(
            self._level,
            "%s %d/%d, restart %d, inertia %s, %.3f s",
            state.step,
            state.iteration,
            state.total,
            state.restart,
            state.inertia,
            state.seconds,
        )
        if self._callback is not None and self._callback(state):
            self.stopped = True
        return self.stopped

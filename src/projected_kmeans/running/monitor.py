"""Progress of a fit while it runs, and who may stop it: callback, time budget or Ctrl-C.

Observes; the only thing it decides is whether the fit goes on.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from projected_kmeans.results import FitState, OnPass
from projected_kmeans.running.progress_lines import ProgressLines, wants_lines

logger = logging.getLogger("projected_kmeans")


class Stopped(Exception):
    """Raised to leave a unit of work whose result is not needed any more."""


class Monitor:
    """The clock, the log and the callback of one fit.

    Work is counted in units: rows, centers or passes, depending on the step. After each unit the
    step calls `report`, which tells the callback and returns whether the fit was asked to stop.

    The fit stops if the callback returns true, or after ``time_budget`` seconds. ``verbose=0`` logs
    at level DEBUG, anything above at level INFO, to the logger "projected_kmeans". If the program
    has set up no logging that shows level INFO, anything above 0 prints lines.
    """

    def __init__(
        self,
        callback: Callable[[FitState], object] | None = None,
        verbose: int = 0,
        time_budget: float | None = None,
    ) -> None:
        self.seconds: dict[str, float] = {}  # spent in each step
        # Who asked first to stop: "callback", "time" or "interrupted"; None while nobody has.
        self.stopped: str | None = None
        self.trace: list[FitState] = []  # after every unit of work that has an inertia
        self._callback = callback
        self._level = logging.INFO if verbose else logging.DEBUG
        self._lines = ProgressLines() if verbose and wants_lines(logger, verbose) else None
        self._budget = math.inf if time_budget is None else time_budget
        self._start = time.perf_counter()
        self._has_result = False
        self._interrupted = False
        self._step, self._total, self._restart = "", 0, 0
        self._begin, self._skipped, self._unit_bytes = self._start, 0, 0.0

    @contextmanager
    def step(
        self, name: str, total: int, restart: int = 0, *, unit_bytes: float = 0.0
    ) -> Iterator[None]:
        """Measure the time of what happens inside, as one step.

        It has at most ``total`` units of work, each of which reads ``unit_bytes`` of stored rows.
        """
        self._step, self._total, self._restart = name, total, restart
        self._begin, self._skipped, self._unit_bytes = time.perf_counter(), 0, unit_bytes
        try:
            yield
        finally:
            spent = time.perf_counter() - self._begin
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def skip(self, done: int) -> None:
        """Leave ``done`` units out of the rate, because an earlier run has done them."""
        self._skipped = done

    def report(self, done: int, inertia: float | None = None) -> bool:
        """Note that ``done`` units of the step are done; return whether to stop."""
        now = time.perf_counter()
        units = done - self._skipped
        rate = units / max(now - self._begin, 1e-9) if units > 0 else None
        state = FitState(
            self._step,
            self._restart,
            done,
            self._total,
            inertia,
            now - self._start,
            rate,
            None if rate is None else max(0, self._total - done) / rate,
            None if rate is None or not self._unit_bytes else rate * self._unit_bytes,
        )
        self._has_result |= state.step == "cluster"
        if inertia is not None:
            self.trace.append(state)
        if logger.isEnabledFor(self._level):
            self.note(
                "%s %d/%d, restart %d, inertia %s, %.3f s, %.3g/s, at most %.3g s left",
                state.step,
                done,
                state.total,
                state.restart,
                inertia,
                state.seconds,
                math.nan if rate is None else rate,
                math.nan if state.remaining is None else state.remaining,
            )
        if self._lines is not None:
            self._lines.follow(state)
        if self._callback is not None and self._callback(state):
            self._stop("callback")
        return self.is_over()

    def finish(self) -> None:
        """Print the line of the last step, if lines are printed."""
        if self._lines is not None:
            self._lines.finish()

    def is_over(self) -> bool:
        """Return whether to stop; may be asked at any time, also in the middle of a unit."""
        if time.perf_counter() - self._start >= self._budget:
            self._stop("time")
        return self.stopped is not None

    @property
    def seconds_left(self) -> float:
        """Seconds of the time budget that are left; infinity without one."""
        return max(0.0, self._start + self._budget - time.perf_counter())

    def report_or_leave(self, done: int) -> None:
        """Note the same, and raise `Stopped` if the fit is to stop.

        For work that is only needed if the fit goes on, such as the seeding of a second restart.
        """
        if self.report(done):
            raise Stopped

    def interrupt(self) -> None:
        """Ask to stop because of a Ctrl-C.

        Raises KeyboardInterrupt at the second Ctrl-C, and before there is a result to keep.
        """
        if self._interrupted or not self._has_result:
            raise KeyboardInterrupt
        self._interrupted = True
        self._stop("interrupted")

    def note(self, message: str, *values: object) -> None:
        """Log a sentence at the level of progress."""
        logger.log(self._level, message, *values)

    def _stop(self, reason: str) -> None:
        if self.stopped is None:
            self.stopped = reason
            self.note("asked to stop in step %s: %s", self._step, reason)


class Plateau:
    """An `OnPass` that also stops when a pass lowers the inertia by too small a share.

    The share is of the inertia before the pass, and 0 never stops. ``before`` is the inertia before
    the first pass. ``reached`` tells whether the last pass gained too little.
    """

    def __init__(self, on_pass: OnPass, share: float, before: float = math.inf) -> None:
        self.reached = False
        self._on_pass = on_pass
        self._share = share
        self._before = before

    def __call__(self, done: int, inertia: float) -> bool:
        """Note a pass; return whether to stop."""
        stop = self._on_pass(done, inertia)
        self.follow([inertia])
        return stop or self.reached

    def follow(self, history: Iterable[float]) -> None:
        """Note passes that were reported before: by an earlier run, or by the caller."""
        for inertia in history:
            self.reached = self._before - inertia < self._share * self._before
            self._before = inertia

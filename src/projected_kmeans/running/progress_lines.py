"""What ``verbose=1`` prints: a line for each step, and one every few seconds in a long step.

Prints only if the program has not set up logging that shows the progress anyway.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from projected_kmeans.results import FitState

# What each step counts.
UNITS = {
    "check": "rows",
    "reduce": "rows",
    "seed": "centers",
    "cluster": "passes",
    "lift": "rows",
    "polish": "passes",
    "predict": "rows",
    "choose": "clusterings",
}

# Restarts seed and cluster in turn; they share one line.
JOINED = {"seed": "cluster"}

# A step that takes longer prints how far it is, at most this often.
SECONDS_BETWEEN_LINES = 5.0


def wants_lines(logger: logging.Logger, verbose: int) -> bool:
    """Return whether progress is to be printed: asked for, and shown by no logging of the program.

    A program that gave the logger a level of its own has decided what it wants to see.
    """
    if not verbose or logger.level != logging.NOTSET:
        return False
    return not (logger.hasHandlers() and logger.isEnabledFor(logging.INFO))


class ProgressLines:
    """The lines of one fit, by default on the standard error stream."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or (lambda line: sys.stderr.write(f"{line}\n"))
        self._step = ""
        self._latest: FitState | None = None
        self._done: dict[int, int] = {}  # passes of each restart
        self._inertia: float | None = None
        self._printed = 0.0

    def follow(self, state: FitState) -> None:
        """Note a unit of work; print the step before if a new one begins."""
        step = JOINED.get(state.step, state.step)
        if step != self._step:
            self.finish()
            self._step, self._done, self._inertia = step, {}, None
        if state.step == step:
            self._done[state.restart] = max(state.iteration, self._done.get(state.restart, 0))
        if state.inertia is not None:
            known = self._inertia
            self._inertia = state.inertia if known is None else min(known, state.inertia)
        self._latest = state
        if state.seconds - self._printed >= SECONDS_BETWEEN_LINES:
            self._print(state, " so far")

    def finish(self) -> None:
        """Print the line of the last step."""
        if self._latest is not None:
            self._print(self._latest, "")
            self._latest = None

    def _print(self, state: FitState, end: str) -> None:
        done = sum(self._done.values())
        words = [f"{done:,} {UNITS.get(self._step, 'steps')}"]
        if end and self._step == state.step and state.total > done and not state.restart:
            words = [f"{done:,} of {state.total:,} {UNITS.get(self._step, 'steps')}"]
        if len(self._done) > 1:
            words.insert(0, f"{len(self._done)} restarts")
        if self._inertia is not None:
            words.append(f"lowest inertia {self._inertia:.6g}")
        self._write(f"{self._step:<8} {', '.join(words)}, {state.seconds:.2f} s{end}")
        self._printed = state.seconds

"""One run: its monitor and its checkpoint, which travel together through all steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from projected_kmeans.running.checkpoint import Checkpoint
from projected_kmeans.running.monitor import Monitor

Value = TypeVar("Value")


@dataclass(frozen=True)
class Run:
    """What every step of a run may ask: who watches it, and what is stored of it.

    Attributes
    ----------
    monitor : Monitor
        Told of every unit of work; knows whether the run was asked to stop.
    checkpoint : Checkpoint
        Stores what took long; by default it stores nothing.

    Examples
    --------
    >>> run = Run()
    >>> run.keep("answer", 42)
    >>> run.recall("answer", int) is None  # there is no folder
    True
    """

    monitor: Monitor = field(default_factory=Monitor)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    def recall(
        self, name: str, kind: type[Value], fits: Callable[[Value], bool] | None = None
    ) -> Value | None:
        """Return a value that an earlier run stored, and log that; None if there is none.

        A value that ``fits`` refuses counts as not stored.
        """
        found = self.checkpoint.recall(name, kind, fits)
        if found is not None:
            self.monitor.note("checkpoint: %s is taken as it was stored", name)
        return found

    def keep(self, name: str, value: Any) -> None:
        """Store a value, unless the run was stopped: then the value may be incomplete."""
        if self.monitor.stopped is None:
            self.checkpoint.keep(name, value)

"""The store of a run: which values wait, when they are written, and how they are read again.

`Run` is what all steps of a run get: its monitor and its checkpoint.

It does not know what the values mean. `checkpoint_folder` knows files, `documents` types.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from projected_kmeans.documents import Sizes
from projected_kmeans.running.checkpoint_folder import CheckpointFolder
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.part_files import Part

Value = TypeVar("Value")

# Write at most every 5 s, and only after 20 times as long as the last write took.
SECONDS_BETWEEN_WRITES = 5.0
WORK_PER_WRITE = 20.0

# The part that holds the state of the solver under way. Each state replaces the one before.
RUNNING = "running"


class Checkpoint:
    """Stores values of one run in a folder; without a folder it stores nothing.

    Values wait in memory until it is time to write, and are then written together.
    """

    def __init__(self, folder: CheckpointFolder | None = None) -> None:
        self.folder = folder
        self._waiting: dict[str, Callable[[], None]] = {}
        self._last_write = time.perf_counter()
        self._seconds_to_wait = SECONDS_BETWEEN_WRITES

    def recall(
        self,
        name: str,
        kind: type[Value],
        sizes: Sizes | None = None,
        *,
        owner: str | None = None,
    ) -> Value | None:
        """Return a value that was stored; None if it was not, or has another owner.

        A value that is not of its type, with arrays of these sizes, counts as not stored: a warning
        says so, and the caller computes it again.
        """
        part = None if self.folder is None else self.folder.read(name)
        if part is None or part.document.get("owner") != owner:
            return None
        try:
            return part.value(kind, sizes)
        except ValueError:
            self.refuse(name)
            return None

    def keep(self, name: str, value: Any) -> None:
        """Store a value that does not change any more, when the next write is due."""
        self.write_when_due(name, partial(self.write_now, name, value))

    def refuse(self, name: str) -> None:
        """Warn that a part is ignored, because what it says cannot be."""
        assert self.folder is not None
        self.folder.warn_of_damage(name)

    def keep_running(self, owner: str, state: Any) -> None:
        """Store the state of a solver, in place of any other, if a write is due.

        If none is due, the state waits: it is written if the fit is stopped before the next state
        comes. Until then it must stay true.
        """
        self.write_when_due(RUNNING, partial(self.write_now, RUNNING, state, owner=owner))

    def drop_running(self) -> None:
        """Forget a state that waits, because the solver has gone beyond it."""
        self._waiting.pop(RUNNING, None)

    def write_when_due(self, name: str, write: Callable[[], None]) -> None:
        """Call ``write``, which stores the part of that name, as soon as a write is due."""
        if self.folder is None:
            return
        self._waiting[name] = write
        if time.perf_counter() - self._last_write >= self._seconds_to_wait:
            self.flush()

    def write_now(self, name: str, value: Any, owner: str | None = None) -> None:
        """Store a value at once."""
        assert self.folder is not None
        self.folder.write(name, Part.of(value, owner))

    def flush(self) -> None:
        """Write everything that waits."""
        begin = time.perf_counter()
        while self._waiting:
            name = next(iter(self._waiting))
            self._waiting[name]()
            del self._waiting[name]
        self._last_write = time.perf_counter()
        self._seconds_to_wait = max(
            SECONDS_BETWEEN_WRITES, WORK_PER_WRITE * (self._last_write - begin)
        )

    def conclude(self, name: str, value: Any, *kept: str) -> None:
        """Store the last value of a run; remove all other parts but those named in ``kept``."""
        if self.folder is None:
            return
        self._waiting = {part: self._waiting[part] for part in kept if part in self._waiting}
        self.flush()
        self.write_now(name, value)
        self.folder.clear(name, *kept)


@dataclass(frozen=True)
class Run:
    """What every step of a run may ask: who watches it, and what is stored of it.

    By default nothing is stored, and steps need not ask whether there is a folder.
    """

    monitor: Monitor = field(default_factory=Monitor)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    def recall(self, name: str, kind: type[Value], sizes: Sizes | None = None) -> Value | None:
        """Return a value that an earlier run stored, and log that; None if there is none."""
        if self.checkpoint.folder is None:
            return None
        value = self.checkpoint.recall(name, kind, sizes)
        if value is not None:
            self.monitor.note("checkpoint: %s is taken as it was stored", name)
        return value

    def keep(self, name: str, value: Any) -> None:
        """Store a value, unless the run was stopped: then the value may be incomplete."""
        if self.monitor.stopped is None and self.checkpoint.folder is not None:
            self.checkpoint.keep(name, value)

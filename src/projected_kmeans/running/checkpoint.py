"""What a fit stores of itself, and when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.results import Clustering
from projected_kmeans.running.checkpoint_folder import (
    CheckpointFolder,
    Part,
)
from projected_kmeans.running.monitor import Monitor

Value = TypeVar("Value")


# Work that may be lost, and how many times longer than a write the work between two must be.
SECONDS_AT_RISK = 5.0


LEAST_WORK = 20.0


# The parts that stay when a fit is finished, and the one that is replaced as a solver goes on.
RESULT, MAP, RUNNING = "result", "map", "running"


@dataclass(frozen=True)
class Finished:
    """What a fit ends with: the partition on the sketch, the one it has found, what is proven."""

    sketched: Clustering
    polished: Clustering
    certificate: Certificate | None


class Checkpoint:
    """What is stored of one fit, or nothing where there is no folder.

    Values wait until enough work would be lost, and are then written together.

    Parameters
    ----------
    folder : CheckpointFolder, optional
        Where parts lie.
    log : Monitor, optional
        Told where a fit goes on; asked whether it was stopped.
    """

    def __init__(self, folder: CheckpointFolder | None = None, log: Monitor | None = None) -> None:
        self.folder = folder
        self._log = log
        self._waiting: dict[str, Callable[[], None]] = {}
        self._begin, self._patience = time.perf_counter(), SECONDS_AT_RISK

    def load_or_compute(self, name: str, kind: type[Value], make: Callable[[], Value]) -> Value:
        """Return a value as it was stored, or make it and store it, unless the fit was stopped."""
        found = self.recall(name, kind)
        if found is None:
            found = make()
            if self._log is None or self._log.stopped is None:
                self.keep(name, found)
        return found

    def recall(self, name: str, kind: type[Value]) -> Value | None:
        """Return a value as it was stored; None where it was not."""
        part = None if self.folder is None else self.folder.read(name)
        if part is None:
            return None
        self.note("checkpoint: %s is taken as it was stored", name)
        found: Value = _decode(kind, part, "")
        return found

    def keep(self, name: str, value: Any) -> None:
        """Store a value that does not change any more, soon."""
        self.write_when_due(name, partial(self.write_now, name, value))

    def recall_running(self, owner: str, kind: type[Value]) -> Value | None:
        """Return the last state of a solver, if it is this owner's."""
        part = None if self.folder is None else self.folder.read(RUNNING)
        if part is None or part.document.get("owner") != owner:
            return None
        found: Value = _decode(kind, part, "")
        return found

    def keep_running(self, owner: str, state: Any) -> None:
        """Store the state of a solver in the place of any other, if it is time.

        Where not, it is stored if the fit is stopped before there is another: it must be true
        until then.
        """
        self.write_when_due(RUNNING, partial(self.write_now, RUNNING, state, owner=owner))

    def drop_running(self) -> None:
        """Forget a state that waits, as the solver has gone beyond it."""
        self._waiting.pop(RUNNING, None)

    def write_when_due(self, name: str, write: Callable[[], None]) -> None:
        """Call a function that stores something, together with others that wait, if it is time."""
        if self.folder is None:
            return
        self._waiting[name] = write
        if time.perf_counter() - self._begin >= self._patience:
            self.flush()

    def write_now(self, name: str, value: Any, **document: Any) -> None:
        """Store a value at once; what calls it has asked whether it is time."""
        assert self.folder is not None
        part = Part(document)
        _encode(value, part, "")
        self.folder.write(name, part)

    def flush(self) -> None:
        """Write all that waits."""
        begin = time.perf_counter()
        while self._waiting:
            name = next(iter(self._waiting))
            self._waiting[name]()
            del self._waiting[name]
        self._begin = time.perf_counter()
        self._patience = max(SECONDS_AT_RISK, LEAST_WORK * (self._begin - begin))

    def finish(
        self, sketched: Clustering, polished: Clustering, certificate: Certificate | None
    ) -> Finished:
        """Return the end of a fit; store it, unless it was stopped, in the place of all else."""
        finished = Finished(sketched, polished, certificate)
        if self.folder is None or self._log is None or self._log.stopped is not None:
            return finished
        self._waiting = {name: self._waiting[name] for name in (MAP,) if name in self._waiting}
        self.flush()
        small = replace(finished, sketched=replace(sketched, labels=sketched.labels[:0]))
        self.write_now(RESULT, small, seconds=self._log.seconds)
        self.folder.clear(RESULT, MAP)
        return finished

    def recall_result(self, projection: Any) -> Finished | None:
        """Return the end of a fit that was finished before, and let its map know what it learnt."""
        part = None if self.folder is None else self.folder.read(RESULT)
        if self.folder is None or part is None or self._log is None:
            return None
        if not self.recall_map(projection):
            return None
        self.folder.clear(RESULT, MAP)  # a process may have been killed before it did
        self._log.note("checkpoint: the fit was finished")
        self._log.seconds.update(part.document["seconds"])
        finished: Finished = _decode(Finished, part, "")
        return finished

    def note(self, message: str, *values: object) -> None:
        """Log a sentence."""
        if self._log is not None:
            self._log.note(message, *values)

    def recall_map(self, projection: Any) -> bool:
        """Let a map know what it has learnt before; return whether that was stored."""
        if projection is None:
            return True
        part = None if self.folder is None else self.folder.read(MAP)
        if part is None:
            return False
        for name, value in (part.document | part.arrays).items():
            setattr(projection, name, value)
        return True

    def keep_map(self, projection: Any) -> None:
        """Store what a map has learnt: its fitted attributes."""
        fitted = {name: value for name, value in vars(projection).items() if name.endswith("_")}
        arrays = {name: fitted.pop(name) for name in list(fitted) if np.ndim(fitted[name])}
        plain = {name: np.asarray(value).item() for name, value in fitted.items()}
        if self.folder is not None:
            self.write_when_due(MAP, partial(self.folder.write, MAP, Part(plain, arrays)))


def _encode(value: Any, part: Part, path: str) -> None:
    """Write a value into a part: arrays by their path, dataclasses field by field, the rest."""
    if isinstance(value, np.ndarray):
        part.arrays[path] = value
    elif is_dataclass(value):
        for each in fields(value):
            _encode(getattr(value, each.name), part, f"{path}/{each.name}")
    else:
        part.document[path] = value.item() if isinstance(value, np.generic) else value


def _decode(kind: Any, part: Part, path: str) -> Any:
    """Return the value of a type that was written into a part."""
    if path in part.arrays:
        return part.arrays[path]
    if path in part.document:
        value = part.document[path]
        return tuple(value) if isinstance(value, list) else value
    kind = next(one for one in (kind, *get_args(kind)) if is_dataclass(one))  # X | None has both
    values = {
        name: _decode(hint, part, f"{path}/{name}") for name, hint in get_type_hints(kind).items()
    }
    return kind(**values)

"""Fits that something stops: what they fit, what stops them and when, and what must come of it.

Also a script: it reads the name of a fit, a folder, a unit of work and a signal as JSON from each
line, makes the fit in a process that sends itself the signal at that unit, and answers with how the
process left. It forks before any number is computed, so that a process costs no imports.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import projected_kmeans
from projected_kmeans import FitState, ProjectedKMeans, open_rows
from projected_kmeans.running import checkpoint, monitor

PACKAGE = str(Path(projected_kmeans.__file__).parent)

# What can stop a fit, and the `stopped_` of the model that it then returns, if it returns one.
REASONS = {
    "callback": "callback",
    "Ctrl-C": "interrupted",
    "two Ctrl-C": None,
    "SIGTERM": None,
    "SIGKILL": None,
    "time": "time",
}

# The steps whose units of work are passes. The units of other steps are rows or centers.
PASSES = ("cluster", "polish")

# Seconds that a fit may take, on a clock that stands still until the budget is spent.
BUDGET = 1.0

# What a call logs that finds a finished fit in its folder.
FINISHED = "checkpoint: the fit was finished"


# --- fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """The size of rows around means that overlap, and the parameters of a fit of them."""

    n_rows: int
    n_columns: int
    n_means: int
    parameters: dict[str, Any] = field(default_factory=dict)
    gap: float = 0.4

    def draw(self) -> NDArray[np.float32]:
        """Return the rows."""
        stream = np.random.default_rng(0)
        means = self.gap * stream.normal(size=(self.n_means, self.n_columns))
        homes = stream.integers(self.n_means, size=self.n_rows)
        rows = means[homes] + stream.normal(size=(self.n_rows, self.n_columns))
        return rows.astype(np.float32)


# Fits of all kinds of rows, each short enough to be made often.
SHAPES = {
    "few rows": Shape(1_000, 80, 8, {"n_clusters": 6}),
    "lloyd": Shape(600, 60, 6, {"n_clusters": 5, "solver": "lloyd", "n_init": 2}, gap=0.5),
    "hartigan": Shape(600, 60, 6, {"n_clusters": 5, "solver": "hartigan", "n_init": 2}, gap=0.5),
    "several levels": Shape(20_000, 100, 25, {"n_clusters": 20}, gap=0.5),
    "directions": Shape(20_000, 80, 14, {"n_clusters": 12, "projection": "svd"}, gap=0.6),
    "signs": Shape(16_000, 80, 12, {"n_clusters": 10, "projection": "sign"}, gap=0.7),
    "no map": Shape(5_000, 24, 8, {"n_clusters": 6, "projection": None}),
    "sparse": Shape(2_500, 100, 8, {"n_clusters": 6}),
    "cosine": Shape(5_000, 48, 8, {"n_clusters": 6, "metric": "cosine"}),
    "file": Shape(5_000, 64, 8, {"n_clusters": 6}),
    "weights": Shape(5_000, 64, 8, {"n_clusters": 6}),
    "limits": Shape(600, 40, 4, {"n_clusters": 4, "max_cluster_size": 155}, gap=1.0),
    "trimmed": Shape(800, 60, 6, {"n_clusters": 5, "trim": 0.02}),
    "many clusters": Shape(6_000, 80, 300, {"n_clusters": 600}),
}


@dataclass(frozen=True)
class Call:
    """One call of `fit`, which can be repeated.

    Attributes
    ----------
    rows : ndarray of float32 (n, d)
        The rows.
    given : array, sparse array or row source
        The same rows as `fit` gets them.
    parameters : dict
        Those of the `ProjectedKMeans`.
    weights : ndarray of float64 (n,) or None
        The weights of the rows.
    """

    rows: NDArray[np.float32]
    given: Any
    parameters: dict[str, Any]
    weights: NDArray[np.float64] | None = None

    def fit(self, folder: Path | None = None, **more: Any) -> ProjectedKMeans:
        """Return a new model, with its checkpoint in the folder and with further parameters."""
        model = ProjectedKMeans(**self.parameters, random_state=3, checkpoint=folder, **more)
        return model.fit(self.given, sample_weight=self.weights)

    def fit_and_list_units(self) -> tuple[ProjectedKMeans, list[FitState]]:
        """Return the model of a fit that nothing stops, and the state after each unit of work."""
        states: list[FitState] = []
        return self.fit(callback=states.append), states


def open_call(name: str, folder: Path) -> Call:
    """Return a call by its name; rows that are read from a file lie in the folder."""
    shape = SHAPES[name]
    rows = shape.draw()
    if name == "sparse":
        rows[np.abs(rows) < 1.5] = 0
        return Call(rows, scipy.sparse.csr_array(rows), shape.parameters)
    if name == "file":
        path = folder / "rows.npy"
        if not path.exists():
            np.save(path, rows)
        return Call(rows, open_rows(path), shape.parameters)
    weights = np.linspace(0, 3, len(rows)) if name == "weights" else None
    return Call(rows, rows, shape.parameters, weights)


# --- stops ---------------------------------------------------------------------------------------


class Terminated(BaseException):
    """Raised by the handler that a program has for SIGTERM."""


def terminate(number: int, frame: FrameType | None) -> None:
    """Leave the program by an exception, as a handler for SIGTERM."""
    raise Terminated


class Clock:
    """Stands in for the module `time` in the monitor; it moves when the budget is to be spent."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        """Return the seconds."""
        return self.now


@dataclass(frozen=True)
class Stop:
    """Stops a fit in one of the ways, at the moment at which it is called."""

    way: str
    folder: Path
    clock: Clock = field(default_factory=Clock)

    def __call__(self) -> bool:
        """Stop the fit, or ask it to stop; return what its callback is to return."""
        if self.way in ("Ctrl-C", "two Ctrl-C"):
            for _ in range(self.way.startswith("two") + 1):
                signal.raise_signal(signal.SIGINT)
        elif self.way == "SIGTERM":
            signal.raise_signal(signal.SIGTERM)
        elif self.way == "SIGKILL":
            if self.folder.exists():
                shutil.copytree(self.folder, self.left)
            raise Terminated
        elif self.way == "time":
            self.clock.now = 2 * BUDGET
        return self.way == "callback"

    @property
    def left(self) -> Path:
        """Where the files are that a killed process leaves: those that lie there at the moment."""
        return self.folder.with_name(f"{self.folder.name}-left")


@dataclass(frozen=True)
class Moment:
    """When a fit is stopped: at a unit of work, at a pass, or where a function is called.

    Attributes
    ----------
    kind : {"unit", "pass", "call"}
        What is counted: units of work, passes among them, or calls of functions of the package.
    number : int
        Which of them it is, from 1.
    """

    kind: str
    number: int


class Counter:
    """Counts units, passes and calls during a fit, and calls a function at one moment."""

    def __init__(self, act: Callable[[], bool], moment: Moment) -> None:
        self.counts = {"unit": 0, "pass": 0, "call": 0}
        self._act, self._moment = act, moment

    @property
    def has_come(self) -> bool:
        """Whether the moment has come."""
        return self.counts[self._moment.kind] >= self._moment.number

    def count(self, kind: str) -> bool:
        """Count one more; return what the function returns, if it was called."""
        self.counts[kind] += 1
        return (kind, self.counts[kind]) == (self._moment.kind, self._moment.number) and self._act()

    def on_unit(self, state: FitState) -> bool:
        """Count a unit of work, as the callback of a fit."""
        is_pass = state.step in PASSES
        return any([self.count("unit"), is_pass and self.count("pass")])

    @contextmanager
    def watch_calls(self) -> Iterator[None]:
        """Count the calls of functions of the package inside the block."""

        def follow(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
                self.count("call")

        sys.setprofile(follow)
        try:
            yield
        finally:
            sys.setprofile(None)


def count_calls(call: Call, folder: Path) -> int:
    """Return how many functions of the package a fit calls that nothing stops."""
    counter = Counter(lambda: False, Moment("call", 0))
    with counter.watch_calls():
        call.fit(folder, callback=counter.on_unit)
    return counter.counts["call"]


def fit_stopped(
    call: Call, folder: Path, way: str, moment: Moment
) -> tuple[ProjectedKMeans | None, bool]:
    """Make a fit that is stopped, if the moment comes.

    Returns the model, if the fit returns one, and whether the moment has come.
    """
    stop = Stop(way, folder)
    counter = Counter(stop, moment)
    budget = BUDGET if way == "time" else None
    try:
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr(monitor, "time", stop.clock)
            warnings.simplefilter("ignore", ConvergenceWarning)
            with counter.watch_calls() if moment.kind == "call" else nullcontext():
                model = call.fit(folder, callback=counter.on_unit, time_budget=budget)
        return model, counter.has_come
    except (KeyboardInterrupt, Terminated):
        return None, True
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if way == "SIGKILL" and counter.has_come:
            shutil.rmtree(folder, ignore_errors=True)
            if stop.left.exists():
                stop.left.rename(folder)


def fit_again(call: Call, folder: Path) -> tuple[ProjectedKMeans, list[str]]:
    """Repeat a call, so that it goes on from its folder; return its model and what it tells.

    It tells of warnings, and of a fit that was finished, as which no stopped fit may count.
    """
    with hear_log() as logged, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = call.fit(folder)
    told = [FINISHED] if FINISHED in logged else []
    return model, told + [f"a warning: {one.message}" for one in warned]


@contextmanager
def hear_log() -> Iterator[list[str]]:
    """Yield a list that gets what the package logs inside the block, and keep it from others."""
    logger, heard = logging.getLogger("projected_kmeans"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield heard
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def write_every_value(wanted: bool = True) -> Iterator[None]:
    """Let checkpoints write every value as soon as they get it, instead of every 5 seconds."""
    with pytest.MonkeyPatch.context() as patch:
        if wanted:
            patch.setattr(checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
            patch.setattr(checkpoint, "WORK_PER_WRITE", 0.0)
        yield


def list_units(states: Sequence[FitState], n_passes: int, n_others: int) -> list[int]:
    """Return the numbers of units, from 1: so many passes, and so many units of each other step."""
    numbers: list[int] = []
    for step in dict.fromkeys(state.step for state in states):
        units = [number for number, state in enumerate(states, 1) if state.step == step]
        numbers += spread_evenly(units, n_passes if step in PASSES else n_others)
    return sorted(numbers)


def spread_evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many of the values, the first and the last among them.

    Examples
    --------
    >>> spread_evenly([2, 3, 5, 7, 11], 3), spread_evenly([2, 3], 3)
    ([2, 5, 11], [2, 3])
    """
    if len(values) <= most:
        return list(values)
    return [values[round(place)] for place in np.linspace(0, len(values) - 1, most)]


# --- what must come of it ------------------------------------------------------------------------


def describe_difference(model: ProjectedKMeans, whole: ProjectedKMeans) -> str:
    """Return which fitted attributes differ in a bit, and by how much the inertia does."""
    names = ("labels_", "cluster_centers_", "inertia_", "n_iter_", "history_", "stopped_")
    pairs = {name: [np.asarray(getattr(one, name)) for one in (model, whole)] for name in names}
    different = [
        name
        for name, (one, other) in pairs.items()
        if one.dtype != other.dtype or one.tobytes() != other.tobytes()
    ]
    more = 100 * (model.inertia_ / whole.inertia_ - 1)
    return f"other {', '.join(different)} (inertia {more:+.3f} %)" if different else ""


def find_flaw(call: Call, model: ProjectedKMeans) -> str:
    """Return why labels, centers and inertia of a model do not belong together, or nothing."""
    rows = call.rows.astype(np.float64)
    if call.parameters.get("metric") == "cosine":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = np.ones(len(rows)) if call.weights is None else call.weights
    n_trimmed = int(call.parameters.get("trim", 0) * len(rows))
    kept = np.delete(np.arange(len(rows)), model.trimmed_rows_)
    labels = model.labels_[kept]
    if len(model.labels_) != len(rows) or len(kept) != len(rows) - n_trimmed or labels.min() < 0:
        return "the labels are not one cluster for each row that is kept"
    sizes = np.bincount(labels, minlength=call.parameters["n_clusters"])
    if len(sizes) > call.parameters["n_clusters"] or sizes.min() == 0:
        return f"there are {np.count_nonzero(sizes)} clusters with rows"
    if sizes.max() > call.parameters.get("max_cluster_size", math.inf):
        return f"a cluster has {sizes.max()} rows"
    squares = np.sum((rows[kept] - model.cluster_centers_[labels]) ** 2, axis=1)
    inertia = float(weights[kept] @ squares)
    if not math.isclose(inertia, model.inertia_, rel_tol=1e-5):
        return f"the inertia is {model.inertia_}, and that of the labels is {inertia}"
    return ""


def judge_stopped(
    call: Call, way: str, model: ProjectedKMeans | None, states: Sequence[FitState]
) -> str:
    """Return what is wrong with what a fit returns that is stopped after these units, or nothing.

    After a Ctrl-C there is a model if there was a pass.
    """
    if model is None:
        has_pass = any(state.step in PASSES for state in states)
        needed = way in ("callback", "time") or (way == "Ctrl-C" and has_pass)
        return "there is no model" if needed else ""
    if REASONS[way] is None:
        return "there is a model"
    if model.stopped_ != REASONS[way]:
        return f"stopped_ is {model.stopped_!r}"
    return find_flaw(call, model)


# --- processes -----------------------------------------------------------------------------------


def kill_self(number: int) -> bool:
    """Send a signal to this process."""
    os.kill(os.getpid(), number)
    return False


def die_at_unit(name: str, folder: Path, unit: int, number: int) -> int:
    """Make a fit in a process that sends itself a signal at a unit of work, from 1.

    Returns its exit code, which is negative if the signal ended the process.
    """
    child = os.fork()
    if child != 0:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        counter = Counter(partial(kill_self, number), Moment("unit", unit))
        with write_every_value():
            open_call(name, folder).fit(folder / "steps", callback=counter.on_unit)
    finally:
        os._exit(99)  # the process outlived its signal


if __name__ == "__main__":
    for line in sys.stdin:
        asked, place, at, which = json.loads(line)
        print(json.dumps(die_at_unit(asked, Path(place), at, which)), flush=True)

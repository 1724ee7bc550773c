"""A fit with a checkpoint that is stopped and called again ends with the bits of a whole fit.

It is stopped at every pass of every step: by a callback, by Ctrl-C, by SIGTERM, by SIGKILL and by
its time budget. The units of work at which it stops are those that the callback of an undisturbed
fit saw, so that the tests follow whatever the search does.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from projected_kmeans import FitState
from tests.support import stopped_fits
from tests.support.stopped_fits import (
    FINISHED,
    PASSES,
    REASONS,
    SHAPES,
    Moment,
    count_calls,
    describe_difference,
    find_flaw,
    fit_again,
    fit_stopped,
    judge_stopped,
    list_units,
    open_call,
    spread_evenly,
    terminate,
    write_every_value,
)

# What stops a fit, with a checkpoint that writes every value, or one that writes every 5 seconds.
WAYS = list(product(REASONS, (True, False)))

# Fits that are so short that each pass is stopped in each way.
SHORT = ["few rows", "lloyd"]

# Each pass is tried, or so many, spread evenly, if there are more; and units of each other step.
MOST_PASSES, MOST_OTHERS = 60, 3

# Moments inside units of work, and units at which a process ends itself.
N_MOMENTS, N_DEATHS = 6, 4


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a new folder, in memory if the system has one there: checkpoints write very often."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as path:
        yield Path(path)


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    """Handle SIGTERM as a program that leaves by an exception."""
    before = signal.signal(signal.SIGTERM, terminate)
    yield
    signal.signal(signal.SIGTERM, before)


def describe(state: FitState) -> str:
    """Return a unit of work in words."""
    return f"{state.step} {state.iteration}/{state.total} of restart {state.restart}"


def check_stops(
    name: str, folder: Path, choose: Callable[[list[int]], Iterable[tuple[int, str, bool]]]
) -> None:
    """Stop fits, each in a new folder, and compare the same call after each with a whole fit.

    ``choose`` gets the numbers of units, and returns at which of them a fit is stopped, by what,
    and whether its checkpoint writes every value.
    """
    call = open_call(name, folder)
    whole, states = call.fit_and_list_units()
    assert find_flaw(call, whole) == ""
    steps, wrong = folder / "steps", list[str]()
    for number, way, every_value in choose(list_units(states, MOST_PASSES, MOST_OTHERS)):
        shutil.rmtree(steps, ignore_errors=True)
        with write_every_value(every_value):
            model, has_come = fit_stopped(call, steps, way, Moment("unit", number))
            assert has_come
            flaw = judge_stopped(call, way, model, states[:number])
            again, told = fit_again(call, steps)
        found = [f"when it stopped, {flaw}"] if flaw else []
        found += told
        found += filter(None, [describe_difference(again, whole)])
        what = f"{describe(states[number - 1])}, {way}{', every value' if every_value else ''}"
        wrong += [f"{what}: {one}" for one in found]
    assert not wrong, "\n".join([f"{len(wrong)} things are wrong:", *wrong])


@pytest.mark.parametrize(("way", "every_value"), WAYS)
@pytest.mark.parametrize("name", SHORT)
def test_every_pass_in_every_way(name: str, way: str, every_value: bool, folder: Path) -> None:
    """Whatever stops a fit, and at whichever pass, the same call then gives the same bits."""
    check_stops(name, folder, lambda numbers: [(one, way, every_value) for one in numbers])


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in SHORT])
def test_every_pass_of_all_kinds_of_rows(name: str, folder: Path) -> None:
    """The same holds for all kinds of rows. The ways to stop a fit take turns."""
    first = list(SHAPES).index(name)
    turns = cycle(WAYS[first:] + WAYS[:first])
    check_stops(name, folder, lambda numbers: [(one, *next(turns)) for one in numbers])


@pytest.mark.parametrize(
    ("name", "every_value"),
    [*product(SHAPES, [True]), *product(["lloyd", "several levels"], [False])],
)
def test_stopped_again_and_again(name: str, every_value: bool, folder: Path) -> None:
    """A fit is whole after calls that end after one pass, after two, and so on, in all ways."""
    call = open_call(name, folder)
    whole, states = call.fit_and_list_units()
    most = sum(state.step in PASSES for state in states)
    steps, ways = folder / "steps", cycle(REASONS)
    with write_every_value(every_value):
        for number in range(1, most + 2):
            model, has_come = fit_stopped(call, steps, next(ways), Moment("pass", number))
            if not has_come:
                break
        assert model is not None
        assert not has_come
        assert describe_difference(model, whole) == ""
        assert fit_again(call, steps)[1] == [FINISHED]


@pytest.mark.parametrize(
    "name", ["few rows", "several levels", "directions", "file", "limits", "many clusters"]
)
def test_stopped_inside_a_unit(name: str, folder: Path) -> None:
    """Nor does a stop change a bit where any function of the package is called."""
    call = open_call(name, folder)
    whole, _ = call.fit_and_list_units()
    ways, wrong = cycle(way for way in REASONS if way != "callback"), list[str]()
    with write_every_value():
        calls = range(1, count_calls(call, folder / "whole") + 1)
        for number in spread_evenly(calls, N_MOMENTS + 2)[1:-1]:
            way, steps = next(ways), folder / f"steps-{number}"
            fit_stopped(call, steps, way, Moment("call", number))
            again, told = fit_again(call, steps)
            found = [*told, *filter(None, [describe_difference(again, whole)])]
            wrong += [f"call {number} of {len(calls)}, {way}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def test_a_fit_that_goes_on_does_not_begin_again(folder: Path) -> None:
    """After a stop at the last pass in the sketch, the same call makes few passes."""
    call = open_call("several levels", folder)
    _, states = call.fit_and_list_units()
    passes = [state.step for state in states if state.step in PASSES]
    last = Moment("pass", passes.count("cluster"))
    fit_stopped(call, folder / "steps", "callback", last)
    later: list[FitState] = []
    call.fit(folder / "steps", callback=later.append)
    assert sum(state.step in PASSES for state in later) <= len(passes) // 2


Die = Callable[[str, Path, int, int], int]


@pytest.fixture(scope="module")
def die_at_unit() -> Iterator[Die]:
    """Return the function of this name, which then works in a process that has no threads."""
    with subprocess.Popen(
        [sys.executable, "-m", stopped_fits.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as driver:

        def die(name: str, folder: Path, unit: int, number: int) -> int:
            assert driver.stdin is not None
            assert driver.stdout is not None
            driver.stdin.write(json.dumps([name, str(folder), unit, number]) + "\n")
            driver.stdin.flush()
            return int(json.loads(driver.stdout.readline()))

        yield die


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("name", ["few rows", "several levels", "file"])
def test_a_process_that_a_signal_ends(
    name: str, number: int, folder: Path, die_at_unit: Die
) -> None:
    """The next process ends with the bits of a fit whose process was left alone."""
    call = open_call(name, folder)
    whole, states = call.fit_and_list_units()
    wrong: list[str] = []
    for unit in spread_evenly(range(1, len(states) + 1), N_DEATHS):
        shutil.rmtree(folder / "steps", ignore_errors=True)
        assert die_at_unit(name, folder, unit, number) == -number
        again, told = fit_again(call, folder / "steps")
        found = [*told, *filter(None, [describe_difference(again, whole)])]
        wrong += [f"{describe(states[unit - 1])}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)

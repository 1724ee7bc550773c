"""Run a command again and again in processes that are killed, until one comes to its end.

A script: it reads the arguments of `chain` as JSON from each line, and answers with how processes
left, or with what went wrong. It forks before any number is computed, so that a process costs no
imports.
"""

from __future__ import annotations

import json
import logging
import math
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import projected_kmeans.commands.data
import projected_kmeans.commands.fit_outputs  # noqa: F401 - imported once, before the processes are
from projected_kmeans.commands.main import main
from projected_kmeans.running import checkpoint


def run(
    arguments: list[str],
    notes: Path,
    arm: Callable[[], object] = int,
    moment: float = math.inf,
) -> int:
    """Run the command in a process of its own; return its exit code, negative if it was killed.

    The process is armed before it begins, and killed at a moment, in seconds, if it still runs.
    """
    child = os.fork()
    if child == 0:
        handler = logging.FileHandler(notes)
        logging.getLogger("projected_kmeans").addHandler(handler)
        logging.getLogger("projected_kmeans").setLevel(logging.DEBUG)
        os.dup2(os.open(notes.with_suffix(".out"), os.O_WRONLY | os.O_CREAT), 1)
        # All that can be stored is stored at once, so that kills meet as many states as there are.
        checkpoint.SECONDS_BETWEEN_WRITES = checkpoint.WORK_PER_WRITE = 0.0
        arm()
        try:
            main(arguments)
        except SystemExit as left:
            os._exit(int(left.code or 0))
        os._exit(99)
    end = time.perf_counter() + moment
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.perf_counter() >= end:
            os.kill(child, signal.SIGKILL)
            end = math.inf
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(found[1])


def die_at_call(number: int, before: bool) -> None:
    """Let the process kill itself at one of the calls that make files last."""
    calls = 0

    def lethal(plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number and before:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = plain(*arguments, **keywords)
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call

    os.fsync, os.replace = lethal(os.fsync), lethal(os.replace)
    np.memmap.flush = lethal(np.memmap.flush)  # type: ignore[method-assign]


def chain(kind: str, key: int, n_kills: int, folder: Path, arguments: list[str]) -> list[int]:
    """Kill a command until it comes to its end, and again from the start until kills are enough.

    Returns how each process left; the result of each chain is in a folder of its own.
    """
    stream = random.Random(key)
    begin = time.perf_counter()
    assert run([*arguments, "--out", str(folder / "whole")], folder / "whole.log") == 0
    whole = time.perf_counter() - begin
    codes: list[int] = []
    n_chains = 0
    while not codes or codes[-1] != 0 or codes.count(-signal.SIGKILL) < n_kills:
        n_chains += not codes or codes[-1] == 0
        places = ("--checkpoint", folder / f"steps-{n_chains}", "--out", folder / f"out-{n_chains}")
        number, before, share = stream.randint(1, 12), stream.random() < 0.5, stream.random()
        arm: Callable[[], object] = partial(die_at_call, number, before)
        moment = math.inf
        if kind == "moments":
            arm, moment = int, share * whole
        notes = folder / f"run-{len(codes)}.log"
        codes.append(run([*arguments, *map(str, places)], notes, arm, moment))
        assert codes[-1] in (0, -signal.SIGKILL), codes
    return codes


def answer(request: str) -> dict[str, Any]:
    """Return how the processes of a chain left, or the error."""
    kind, key, n_kills, folder, *arguments = json.loads(request)
    try:
        return {"codes": chain(kind, key, n_kills, Path(folder), arguments)}
    except Exception:
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)

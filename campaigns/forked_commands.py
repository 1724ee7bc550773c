"""Run commands in forked processes that are interrupted: by a signal, or by a call that fails.

A driver process imports the package once and computes nothing. It forks for each run, so that 500
runs cost no imports, and OpenMP starts afresh in each of them. This module is both: the driver, if
it is run as a script, and the class by which a campaign talks to it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SHIM = Path(__file__).with_name("fault_shim.c")
SECONDS_TO_END = 60.0
READY = b"ready"
IMPORTED = (
    "bokeh.embed",
    "projected_kmeans.commands.main",
    "projected_kmeans.choosing_k.choose_n_clusters",
    "projected_kmeans.commands.data",
    "projected_kmeans.commands.fit_outputs",
)


@dataclass(frozen=True)
class Fault:
    """What happens at a call that writes.

    Attributes
    ----------
    at : int
        Which call, from 1; 0 only counts the calls.
    error : int
        The errno of the call.
    forever : bool
        Whether all later calls fail, too.
    signal : int
        A signal to raise at the call instead of an error, or 0.
    """

    at: int = 0
    error: int = 0
    forever: bool = False
    signal: int = 0


@dataclass(frozen=True)
class Request:
    """One run: the words after the program's name, and what interrupts it."""

    words: tuple[str, ...]
    fault: Fault | None = None
    signal: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended; ``code`` is negative if a signal ended it, None if nothing did."""

    code: int | None
    errors: str
    seconds: float
    n_calls: int

    @property
    def is_refusal(self) -> bool:
        """Whether the run ended with one sentence and exit code 2."""
        lines = self.errors.splitlines()
        told = [line for line in lines if line.startswith("projected-kmeans: error: ")]
        return self.code == 2 and len(told) == 1 and "Traceback" not in self.errors


class ForkedCommands:
    """The driver process, from the campaign's side; use it as a context manager.

    Parameters
    ----------
    folder : Path
        For what runs print, and for the compiled shim. Calls that write below ``folder / "work"``
        are those that faults count.
    """

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        shim = folder / "fault_shim.so"
        compiler = shutil.which("cc") or "gcc"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", str(shim), str(SHIM), "-ldl"], check=True
        )
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LD_PRELOAD": str(shim)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self.work), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | one,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._process:  # closes its input, at the end of which the driver ends
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(timeout=SECONDS_TO_END)

    def run(self, request: Request) -> Outcome:
        """Run one command to its end."""
        return self.run_together([request])[0]

    def run_together(self, requests: Sequence[Request]) -> list[Outcome]:
        """Run some commands at the same time, each to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([asdict(one) for one in requests]) + "\n")
        self._process.stdin.flush()
        return [Outcome(**found) for found in json.loads(self._process.stdout.readline())]


def _begin(request: dict[str, Any], work: str, notes: Path, answers: int) -> None:
    """Run a command in the present process, which was forked for it, and end the process."""
    errors = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from projected_kmeans.commands import main as cli

    run = cli.commands.main

    def announce(*words: Any, **options: Any) -> Any:
        os.write(answers, READY)
        return run(*words, **options)

    cli.commands.main = announce  # type: ignore[method-assign]  # handlers of signals are set now
    shim = ctypes.CDLL(None)
    fault = request["fault"]
    if fault is not None:
        shim.fault_arm(
            work.encode(),
            ctypes.c_long(fault["at"]),
            fault["error"],
            int(fault["forever"]),
            fault["signal"],
        )
    code = 99
    try:
        cli.main(request["words"])
    except SystemExit as left:
        code = int(left.code or 0)
    sys.stderr.flush()
    os.write(answers, str(shim.fault_count()).encode())
    os._exit(code)


def _serve(work: str, folder: Path) -> None:
    """Read requests, one list a line, and answer each with a line of outcomes."""
    for name in IMPORTED:  # once, and not in each of the processes
        import_module(name)
    from projected_kmeans.running import checkpoint

    # All that can be stored is stored at once, so that interruptions meet as many states as exist.
    checkpoint.SECONDS_BETWEEN_WRITES = checkpoint.WORK_PER_WRITE = 0.0
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        runs = []
        for number, request in enumerate(json.loads(line)):
            notes, (reads, writes) = folder / f"errors-{number}.txt", os.pipe()
            child = os.fork()
            if child == 0:
                _begin(request, work, notes, writes)
            os.close(writes)
            runs.append((child, request, notes, reads))
        print(json.dumps([_finish(*run) for run in runs]), flush=True)


def _finish(child: int, request: dict[str, Any], notes: Path, reads: int) -> dict[str, Any]:
    """Wait for a process, send it its signal on the way, and say how it ended."""
    os.read(reads, len(READY))
    begin = time.perf_counter()
    code: int | None = None
    sent = not request["signal"]
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        spent = time.perf_counter() - begin
        if not sent and spent >= request["seconds"]:
            os.kill(child, request["signal"])
            sent = True
        if spent > SECONDS_TO_END:
            os.kill(child, signal.SIGKILL)
            found = os.waitpid(child, 0)
            break
        time.sleep(0.0005)
    else:
        code = os.waitstatus_to_exitcode(found[1])
    counted = os.read(reads, 100)
    os.close(reads)
    return {
        "code": code,
        "errors": notes.read_text(errors="replace"),
        "seconds": time.perf_counter() - begin,
        "n_calls": int(counted or 0),
    }


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))

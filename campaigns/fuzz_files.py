"""Damage files of every format, models, reports and checkpoints, and have them read.

Every file must end in rows or in one sentence: never in a crash, another exception, a hang (more
than 5 s of processor time, or 60 s by the clock) or more than 1 GB of memory. Files are read by
processes that are forked from this one; if one of them ends, the file that it was reading is
known, and another process goes on. What broke a promise is kept as ``<sha256>.bin``.

The same seed gives the same files. For example:

    python campaigns/fuzz_files.py --seconds 60
    python campaigns/fuzz_files.py --files 200000 --processes 2
    python campaigns/fuzz_files.py --seed 3 --only 1234     # repeat one file, and show its end
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_cases import GOOD, End, make_case, peak_bytes, run_case
from fuzz_seeds import Seed, load_seeds, write_seeds
from recording import RESULTS, store_campaign

HANG_CPU_SECONDS, HANG_SECONDS = 5.0, 60.0
CASES_PER_PROCESS = 5000
ADDRESS_SPACE = 4 * 2**30  # what a process may map beside what it has at its start
STATE = struct.Struct("qdd")  # the case that is read, and clock and processor time at its start
KEPT_FAILURES = 200


@dataclass(frozen=True)
class Plan:
    """What a campaign does.

    Attributes
    ----------
    key : int
        Fixes all files.
    n_files : int or None
        How many files to damage; None damages files until the time is over.
    seconds : float
        When to stop, at the latest.
    command_share : float
        The share of files that the command line reads.
    """

    key: int
    n_files: int | None
    seconds: float
    command_share: float


@dataclass
class Found:
    """What a campaign has found so far."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    commands: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    sentences: Counter[str] = field(default_factory=Counter)


class Worker:
    """A forked process that reads every n-th case, from a first one on."""

    def __init__(self, seeds: Sequence[Seed], plan: Plan, first: int, step: int) -> None:
        self.first, self.step = first, step
        self._shared = mmap.mmap(-1, STATE.size)
        self._write(first, time.monotonic(), 0.0)
        self.pipe, out = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self._work(seeds, plan, out)
        os.close(out)
        self.rest = b""

    @property
    def index(self) -> int:
        """The case that the process reads, or has read last."""
        return int(STATE.unpack(self._shared[:])[0])

    def find_hang(self) -> str:
        """Return for how long the process has been at its case, if that is too long."""
        _, begun, spent = STATE.unpack(self._shared[:])
        seconds = time.monotonic() - begun
        if seconds > HANG_SECONDS:
            return f"no end after {seconds:.0f} s"
        if (
            seconds > HANG_CPU_SECONDS
            and (busy := _cpu_seconds(self.pid) - spent) > HANG_CPU_SECONDS
        ):
            return f"no end after {busy:.0f} s of processor time"
        return ""

    def _write(self, index: int, begun: float, spent: float) -> None:
        self._shared[:] = STATE.pack(index, begun, spent)

    def _work(self, seeds: Sequence[Seed], plan: Plan, out: int) -> None:
        """Read cases and write one line for each, until there is no more or memory is lost."""
        code = 0
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            _limit_memory()
            devnull = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(devnull, stream)
            last = self.first + CASES_PER_PROCESS * self.step
            stop = last if plan.n_files is None else min(last, plan.n_files)
            for index in range(self.first, stop, self.step):
                self._write(index, time.monotonic(), _cpu_seconds(os.getpid()))
                case = make_case(seeds, plan.key, index, plan.command_share)
                end = run_case(case, folder)
                line = [index, case.seed.name, case.by_command, end.outcome, end.detail]
                os.write(out, json.dumps(line).encode() + b"\n")
                if end.outcome == "memory":
                    break
        except BaseException as error:
            os.write(out, json.dumps([-1, "", False, "campaign", repr(error)]).encode() + b"\n")
            code = 70
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(code)


def run_campaign(seeds: Sequence[Seed], plan: Plan, n_processes: int, keep: Path) -> Found:
    """Run a campaign and return what it found."""
    found, begun = Found(), time.monotonic()
    workers = [Worker(seeds, plan, first, n_processes) for first in range(n_processes)]
    while workers:
        select.select([worker.pipe for worker in workers], [], [], 0.2)
        over = time.monotonic() - begun > plan.seconds
        for place, worker in enumerate(list(workers)):
            _read_lines(worker, found, seeds, plan, keep)
            reason = worker.find_hang()
            if reason or over:
                os.kill(worker.pid, signal.SIGKILL)
            ended, status = os.waitpid(worker.pid, os.WNOHANG if not (reason or over) else 0)
            if not ended:
                continue
            _read_lines(worker, found, seeds, plan, keep)
            os.close(worker.pipe)
            if reason:
                _note(found, seeds, plan, worker.index, End("hang", reason), keep)
            elif os.WIFSIGNALED(status) and not over:
                end = End("crash", signal.strsignal(os.WTERMSIG(status)) or "")
                _note(found, seeds, plan, worker.index, end, keep)
            after = worker.index + worker.step
            done = over or (plan.n_files is not None and after >= plan.n_files)
            workers[place] = None if done else Worker(seeds, plan, after, n_processes)  # type: ignore[call-overload]
        workers = [worker for worker in workers if worker is not None]
    return found


def _read_lines(
    worker: Worker, found: Found, seeds: Sequence[Seed], plan: Plan, keep: Path
) -> None:
    """Take what a process has written since the last look."""
    while select.select([worker.pipe], [], [], 0)[0]:
        piece = os.read(worker.pipe, 2**16)
        if not piece:
            return
        *lines, worker.rest = (worker.rest + piece).split(b"\n")
        for line in lines:
            index, name, by_command, outcome, detail = json.loads(line)
            if index < 0:
                raise RuntimeError(f"the campaign itself failed: {detail}")
            found.commands += by_command
            if outcome in GOOD:
                found.outcomes[name, outcome] += 1
            else:
                _note(found, seeds, plan, index, End(outcome, detail), keep)


def _note(
    found: Found, seeds: Sequence[Seed], plan: Plan, index: int, end: End, keep: Path
) -> None:
    """Write down a failure, and keep the file."""
    case = make_case(seeds, plan.key, index, plan.command_share)
    found.outcomes[case.seed.name, end.outcome] += 1
    digest = hashlib.sha256(case.content).hexdigest()
    if len(found.failures) < KEPT_FAILURES:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{digest}.bin").write_bytes(case.content)
        found.failures.append(
            {
                "index": index,
                "seed": case.seed.name,
                "file": case.victim,
                "by_command": case.by_command,
                "outcome": end.outcome,
                "detail": end.detail,
                "kept": f"{digest}.bin",
            }
        )


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def prepare_seeds(folder: Path) -> list[Seed]:
    """Return the seeds. A process of its own writes them, so that this one starts no thread."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            write_seeds(folder)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the sound files could not be written")
    return load_seeds(folder)


def describe(found: Found, plan: Plan, seconds: float) -> dict[str, Any]:
    """Return what the stored result holds."""
    by_seed: dict[str, dict[str, int]] = {}
    for (name, outcome), count in sorted(found.outcomes.items()):
        by_seed.setdefault(name, {})[outcome] = count
    totals = Counter[str]()
    for (_, outcome), count in found.outcomes.items():
        totals[outcome] += count
    return {
        "seed": plan.key,
        "seconds": round(seconds, 1),
        "files": sum(totals.values()),
        "by_command": found.commands,
        "outcomes": dict(totals),
        "formats": by_seed,
        "failures": found.failures,
    }


def repeat_case(seeds: Sequence[Seed], plan: Plan, index: int) -> End:
    """Read one case in this process and return how that ended."""
    case = make_case(seeds, plan.key, index, plan.command_share)
    print(f"{case.seed.name}, {case.victim}, by the command line: {case.by_command}")
    with tempfile.TemporaryDirectory() as folder:
        return run_case(case, Path(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 1 if a file broke a promise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--files", type=int, help="damage so many files, whatever the time")
    parser.add_argument("--seed", type=int, default=0, help="fixes the files")
    parser.add_argument("--processes", type=int, default=1, help="processes that read files")
    parser.add_argument("--commands", type=float, default=0.02, help="share of the command line")
    parser.add_argument("--only", type=int, help="repeat the case of this number")
    parser.add_argument("--formats", nargs="*", help="names of seeds; by default all")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where files go")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the result goes")
    given = parser.parse_args(arguments)
    seconds = float("inf") if given.files is not None else given.seconds
    plan = Plan(given.seed, given.files, seconds, given.commands)
    with tempfile.TemporaryDirectory() as folder:
        seeds = prepare_seeds(Path(folder))
        if given.formats:
            seeds = [seed for seed in seeds if seed.name in given.formats]
        if given.only is not None:
            print(repeat_case(seeds, plan, given.only), f"{peak_bytes()} bytes")
            return 0
        begun = time.monotonic()
        found = run_campaign(seeds, plan, given.processes, given.keep)
    result = describe(found, plan, time.monotonic() - begun)
    words = " ".join(sys.argv[1:] if arguments is None else arguments)
    path = store_campaign(
        "fuzz_files", f"python campaigns/fuzz_files.py {words}", result, given.out
    )
    print(f"{result['files']} files in {result['seconds']} s: {result['outcomes']}; see {path}")
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

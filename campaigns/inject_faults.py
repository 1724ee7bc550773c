"""Let every call that writes fail in turn, and look at what is left.

For each command that writes outputs, the calls that create, write, synchronize or rename a file are
counted. The command is then repeated once for every call and every fault: the disk is full, the
folder is read-only, the disk fails, for this call only or from then on, or the process is killed at
the call. Afterwards the old outputs or the new ones must be there as a whole, an error must be one
sentence with exit code 2, nothing temporary may be left, and the next run must work.
"""

from __future__ import annotations

import argparse
import errno
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forked_commands import Fault, ForkedCommands, Outcome, Request
from output_states import Bench, Case
from recording import store_campaign

ERRORS = (errno.ENOSPC, errno.EROFS, errno.EIO)


def list_faults(n_calls: int, step: int) -> Iterator[Fault]:
    """Yield all faults at every ``step``-th call."""
    for at in range(1, n_calls + 1, step):
        yield Fault(at, signal=signal.SIGKILL)
        yield Fault(at, signal=signal.SIGTERM)
        for error in ERRORS:
            yield Fault(at, error)
        yield Fault(at, errno.ENOSPC, forever=True)


def judge(bench: Bench, case: Case, fault: Fault, outcome: Outcome) -> str | None:
    """Return what is wrong after a fault, or None."""
    if fault.signal:
        allowed = outcome.code in (-fault.signal, 128 + fault.signal, 0)
    else:
        allowed = outcome.is_refusal or outcome.code == 0
    if not allowed:
        return f"exit code {outcome.code}: {outcome.errors[-500:]}"
    orderly = fault.signal != signal.SIGKILL
    if fault.signal == signal.SIGTERM and bench.find_leftovers():
        return f"leftovers {bench.find_leftovers()}"
    if wrong := bench.find_wrong(case):
        return wrong
    if orderly and bench.find_leftovers():
        return f"leftovers {bench.find_leftovers()}"
    again = bench.commands.run(Request(case.words))
    if again.code != 0:
        return f"the next run ends with {again.code}: {again.errors[-500:]}"
    if bench.find_leftovers():
        return f"the next run leaves {bench.find_leftovers()}"
    return bench.find_wrong(case)


def inject_faults(bench: Bench, step: int = 1, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Try all faults at every ``step``-th call of the named commands; return what was found."""
    failures: list[str] = []
    counts: dict[str, dict[str, int]] = {}
    for case in bench.cases:
        if names and case.name not in names:
            continue
        bench.measure(case)
        for empty in (False, True):
            bench.reset(empty=empty)
            n_calls = bench.commands.run(Request(case.words, Fault())).n_calls
            found: Counter[str] = Counter(calls=n_calls)
            for fault in list_faults(n_calls, step):
                bench.reset(empty=empty)
                outcome = bench.commands.run(Request(case.words, fault))
                found["faults"] += 1
                found[f"exit code {outcome.code}"] += 1
                if wrong := judge(bench, case, fault, outcome):
                    failures.append(f"{case.name}, empty={empty}, {fault}: {wrong}")
            counts[f"{case.name}{' into an empty folder' if empty else ''}"] = dict(found)
    n_faults = sum(one["faults"] for one in counts.values())
    return {"faults": n_faults, "commands": counts, "failures": failures}


def main() -> int:
    """Run the campaign and store what it found; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="try every STEP-th call only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ForkedCommands(Path(folder)) as commands:
        found = inject_faults(Bench(commands, Path(folder)), options.step)
    command = f"python campaigns/inject_faults.py --step {options.step}"
    print(store_campaign("inject_faults", command, found))
    print(f"{found['faults']} faults, {len(found['failures'])} failures")
    for failure in found["failures"]:
        print(failure)
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""End commands by signals at random moments, and look at what is left.

SIGKILL, SIGTERM and SIGINT reach commands that write outputs at moments that are drawn evenly over
the length of a run. Afterwards the old outputs or the new ones must be there as a whole. SIGTERM
and SIGINT must leave nothing temporary, and after SIGKILL the next run must clean up. A fit with a
checkpoint that is repeated must end with the same bits. Pairs of commands that share a checkpoint
or an output folder run at the same time, too: each finishes or is refused with one sentence.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from forked_commands import ForkedCommands, Outcome, Request
from output_states import Bench, Case
from recording import store_campaign

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CASES = (
    "fit --out",
    "fit --out --report --out-labels",
    "predict --out",
    "fit --checkpoint --out",
)
# One pair of commands runs together for so many kills.
KILLS_PER_PAIR = 10


def judge_kill(bench: Bench, case: Case, number: int, outcome: Outcome) -> str | None:
    """Return what is wrong after a signal, or None."""
    if outcome.code not in (0, -number, 128 + number):
        return f"exit code {outcome.code}: {outcome.errors[-500:]}"
    if "Traceback" in outcome.errors:
        return f"a traceback: {outcome.errors[-500:]}"
    if number != signal.SIGKILL and bench.find_leftovers():
        return f"leftovers {bench.find_leftovers()}"
    if wrong := bench.find_wrong(case, same=number != signal.SIGINT):
        return wrong
    again = bench.commands.run(Request(case.words))
    if again.code != 0:
        return f"the next run ends with {again.code}: {again.errors[-500:]}"
    if bench.find_leftovers():
        return f"the next run leaves {bench.find_leftovers()}"
    return bench.find_wrong(case)


def run_pair(bench: Bench, case: Case) -> str | None:
    """Run two commands that write to the same places; return what is wrong afterwards, or None."""
    bench.reset()
    words = [case.words, case.words]
    if case.checkpoint is None:  # another fit of the same rows into the same folder
        words[1] = tuple("6" if word == "5" else word for word in case.words)
    outcomes = bench.commands.run_together([Request(one) for one in words])
    for outcome in outcomes:
        if outcome.code != 0 and not outcome.is_refusal:
            return f"exit code {outcome.code}: {outcome.errors[-500:]}"
    if all(outcome.code != 0 for outcome in outcomes):
        return f"both were refused: {outcomes[0].errors}"
    if bench.find_leftovers():
        return f"leftovers {bench.find_leftovers()}"
    return bench.find_wrong(case, same=case.checkpoint is not None)


def kill_runs(bench: Bench, n_kills: int, seed: int) -> dict[str, Any]:
    """Kill commands so many times; return what was found."""
    stream, failures = random.Random(seed), list[str]()
    counts: dict[str, Counter[str]] = {name: Counter() for name in CASES}
    n_pairs, n_sent = 0, 0
    cases = {case.name: case for case in bench.cases if case.name in CASES}
    seconds = {name: bench.measure(case) for name, case in cases.items()}
    for turn in range(n_kills):
        name, number = CASES[turn % len(CASES)], stream.choice(SIGNALS)
        request = Request(cases[name].words, signal=number)
        bench.reset(empty=stream.random() < 0.25)
        moment = stream.uniform(0, seconds[name])
        outcome = bench.commands.run(replace(request, seconds=moment))
        counts[name][f"{number.name}, exit code {outcome.code}"] += 1
        n_sent += outcome.code != 0
        if wrong := judge_kill(bench, cases[name], number, outcome):
            failures.append(f"{name}, {number.name} after {moment:.4f} s: {wrong}")
        if turn % KILLS_PER_PAIR == 0:
            shared = stream.choice(("fit --out", "fit --checkpoint --out"))
            n_pairs += 1
            if wrong := run_pair(bench, cases[shared]):
                failures.append(f"two times {shared}: {wrong}")
    return {
        "kills": n_kills,
        "ended by the signal": n_sent,
        "pairs": n_pairs,
        "commands": {name: dict(sorted(found.items())) for name, found in counts.items()},
        "failures": failures,
    }


def main() -> int:
    """Run the campaign and store what it found; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="number of kills")
    parser.add_argument("--seed", type=int, default=0, help="seed of signals and moments")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ForkedCommands(Path(folder)) as commands:
        found = kill_runs(Bench(commands, Path(folder)), options.kills, options.seed)
    command = f"python campaigns/kill_runs.py --kills {options.kills} --seed {options.seed}"
    print(store_campaign("kill_runs", command, found))
    print(f"{found['kills']} kills, {len(found['failures'])} failures")
    for failure in found["failures"]:
        print(failure)
    return 1 if found["failures"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

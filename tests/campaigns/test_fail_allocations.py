"""A short run of the campaign that lets allocations fail."""

from __future__ import annotations

import sys
from pathlib import Path

import fail_allocations
import pytest

# Stands for a child whose second try of one task ends it.
ENDS = """
import json, sys
tasks, first = json.loads(sys.argv[2]), int(sys.argv[4])
for place, task in enumerate(tasks):
    print(json.dumps({"place": place, "total": 3}))
    for n in range(first if place == 0 else 1, 4):
        print(json.dumps({"place": place, "n": n}), flush=True)
        if task["fit"] == "ends" and n == 2:
            print("bad end", file=sys.stderr)
            sys.exit(9)
        print(json.dumps({"place": place, "n": n, "error": "e", "wrong": ""}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="loads a library before all others")
def test_failed_allocations_are_memory_errors() -> None:
    """Three allocations of each kind fail: each is a MemoryError, and the next fit is right."""
    counts = fail_allocations.run_campaign(3, ["sparse"])
    if counts is None:
        pytest.skip("there is no C++ compiler")
    assert counts["failures"] == []
    assert counts["tried"] == 12
    assert 6 <= counts["memory_errors"] <= 12


def test_a_process_that_ends_is_told_and_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The try that ended a process is a failure, and the tries and tasks after it are made."""
    script = tmp_path / "ends.py"
    script.write_text(ENDS)
    monkeypatch.setattr(fail_allocations, "__file__", str(script))
    tasks = [fail_allocations.Task(name, "numpy", False) for name in ("good", "ends", "good")]
    told = [(task.fit, line) for task, line in fail_allocations.try_tasks(script, tasks, 3)]
    tried = [(fit, line["n"], line["wrong"]) for fit, line in told if "n" in line]
    good = [("good", n, "") for n in (1, 2, 3)]
    ended = [("ends", 1, ""), ("ends", 2, "ended 9: ['bad end']"), ("ends", 3, "")]
    assert tried == [*good, *ended, *good]

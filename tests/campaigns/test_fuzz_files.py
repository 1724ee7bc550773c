"""Damaged files of every kind: rows or one sentence. A short run of the campaign, and its parts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import fuzz_cases
import fuzz_files
import pytest
from fuzz_seeds import Seed
from mutations import damage, mutate

SCRIPT = Path(fuzz_files.__file__)
FILES = 2000


def test_damaged_files_end_in_rows_or_one_sentence(tmp_path: Path) -> None:
    """No damaged file crashes its reader, hangs, takes 1 GB or raises another exception."""
    result = run(tmp_path, "--files", str(FILES), "--seed", "15", "--commands", "0.01")
    assert result["failures"] == []
    assert result["files"] == FILES
    assert set(result["outcomes"]) <= set(fuzz_cases.GOOD)
    assert len(result["formats"]) == 45
    assert result["by_command"] > 0


def run(folder: Path, *words: str) -> dict[str, object]:
    """Run the campaign in a process of its own, and return its stored result."""
    subprocess.run(
        [sys.executable, SCRIPT, *words, "--out", folder, "--keep", folder / "kept"],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
        capture_output=True,
    )
    found: dict[str, object] = json.loads((folder / "fuzz_files.json").read_text())
    return found


def test_cases_depend_on_key_and_index_alone() -> None:
    """The same numbers give the same damage, so that a failure can be repeated."""
    seeds = [Seed("text", "rows", "a.csv", 1, {"a.csv": b"1,2\n3,4\n" * 9})]
    one = [fuzz_cases.make_case(seeds, 1, index, 0.5) for index in range(50)]
    two = [fuzz_cases.make_case(seeds, 1, index, 0.5) for index in reversed(range(50))]
    assert one == two[::-1]
    assert one != [fuzz_cases.make_case(seeds, 2, index, 0.5) for index in range(50)]
    assert {case.by_command for case in one} == {True, False}


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.part", "a.png"])
def test_damage_changes_files(name: str) -> None:
    """Most mutations change a file, whatever it holds, and none fails."""
    content = b'{"a": [1, 2], "b": {"c": 0.5}}'
    if name.endswith(".part"):
        content += b"\n" + bytes(64)
    if name.endswith(".png"):
        content = (
            b"\x89PNG\r\n\x1a\n" + bytes([0, 0, 0, 40]) + b"IDAT" + bytes(range(40)) + bytes(4)
        )
    found = {mutate(name, content, random.Random(one), [b"other"]) for one in range(300)}
    assert len(found) > 200
    assert all(isinstance(damage(b"", random.Random(one), [b""]), bytes) for one in range(100))


def fail_with(error: BaseException) -> str:
    """Return the outcome of a reader that raises."""

    def read() -> None:
        raise error

    return fuzz_cases.judge(read).outcome


def test_only_sentences_are_good_ends() -> None:
    """Other exceptions, line breaks and a lack of memory count as failures."""
    assert fail_with(ValueError("rows.npy is empty; fill it")) == "sentence"
    assert fail_with(ValueError("rows.npy: its reader ended by signal 11; x")) == "reader ended"
    assert fail_with(ValueError("two\nlines")) == "ValueError"
    assert fail_with(ValueError("")) == "ValueError"
    assert fail_with(UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")) == "UnicodeDecodeError"
    assert fail_with(KeyError("a")) == "KeyError"
    assert fail_with(MemoryError()) == "memory"
    assert fuzz_cases.judge(lambda: None).outcome == "rows"


# How a reader may break a promise, as an expression.
FAILURES = {
    "crash": "os.kill(os.getpid(), 11)",
    "hang": "[None for _ in iter(int, 1)]",
    "memory": "bytearray(2**33)",
    "KeyError": "{}['a']",
}
SCRIPT_THAT_FAILS = f"""
import os, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import fuzz_cases, fuzz_files
fuzz_cases.READERS["rows"] = lambda path: eval(path.read_text())
fuzz_files.HANG_CPU_SECONDS = 0.4
fuzz_cases.damage = lambda content, *others: content
fuzz_cases.mutate = lambda name, content, *others: content
contents = {{**{FAILURES!r}, "good": "None"}}
fuzz_files.prepare_seeds = lambda folder: [
    fuzz_files.Seed(name, "rows", "a.bin", 1, {{"a.bin": content.encode()}})
    for name, content in contents.items()
]
sys.exit(fuzz_files.main(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the campaign forks processes")
def test_failures_are_noticed_and_kept(tmp_path: Path) -> None:
    """A crash, a hang or lost memory is told with its file, and the campaign goes on."""
    words = ["--files", "12", "--seed", "2", "--commands", "0", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT_THAT_FAILS, *words, "--keep", str(tmp_path / "kept")],
        check=False,
        capture_output=True,
    )
    assert done.returncode == 1
    result = json.loads((tmp_path / "fuzz_files.json").read_text())
    assert result["files"] == 12
    assert set(result["formats"]) == {*FAILURES, "good"}
    for name, outcomes in result["formats"].items():
        assert set(outcomes) == {"rows" if name == "good" else name}
    for failure in result["failures"]:
        kept = tmp_path / "kept" / failure["kept"]
        assert kept.read_text() == FAILURES[failure["seed"]]


def test_a_child_that_has_ended_counts_no_memory() -> None:
    """A process that nobody has waited for yet does not stop the campaign."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    try:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert fuzz_cases.peak_bytes() > 0
    finally:
        os.waitpid(child, 0)

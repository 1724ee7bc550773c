"""The evening that measures all figures: what runs, what is left out, and what failed."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import figures
import pytest

from tests.support.origins import MACHINE, MEASURED

MAX_MINUTES = 120
ELSEWHERE = {"versions", "search"}  # need another build


def make_step(path: Path, code: str, minutes: float = 1) -> figures.Step:
    """Return a step that runs some code and writes a file."""
    return figures.Step(path.stem, ("-c", code), (path,), minutes)


def test_every_stored_result_has_a_program() -> None:
    """Each file of results is written by a step, whose program is there."""
    written = {path.stem for step in figures.STEPS for path in step.files}
    assert {path.stem for path in figures.RESULTS.glob("*.json")} <= written | ELSEWHERE
    for step in (*figures.STEPS, *figures.PAGES):
        assert (figures.ROOT / step.words[0]).is_file() or step.name == "reproduction"


def test_the_estimates_fit_in_two_hours() -> None:
    """The help says the minutes of each step and of all, and all are two hours at most."""
    told = dict(re.findall(r"(\w+) +(\d+)(?= |\n)", figures.__doc__ or ""))
    for step in figures.STEPS:
        assert float(told[step.name]) == step.minutes, step.name
    total = sum(step.minutes for step in (*figures.STEPS, *figures.PAGES))
    assert float(told["them"]) == total <= MAX_MINUTES


def test_what_was_measured_since_is_left_out(tmp_path: Path) -> None:
    """A file is new if all its figures are; older files and those without a date are not."""
    path = tmp_path / "x.json"
    step = make_step(path, "")
    before, after = figures.read_time("2026-01-02T03:00"), figures.read_time("2026-01-02T03:05")
    assert not figures.was_measured_since(step, before)
    new, old = {"machine": MACHINE, "measured": MEASURED}, {"machine": MACHINE}
    for document, expected in (
        (new, True),
        (old, False),
        ({"origins": {"a": new, "b": old}}, False),
        ({"data_sets": {"a": new, "b": new}}, True),
    ):
        path.write_text(json.dumps(document))
        assert figures.was_measured_since(step, before) is expected
        assert not figures.was_measured_since(step, after)


def test_a_busy_machine_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Waiting ends when others stop, or after the minutes that are given, with a warning."""
    busy = iter([1.5, 1.5, 0.1])
    paused: list[float] = []
    assert figures.wait_until_quiet(5, lambda: next(busy), paused.append) == 0.1
    assert len(paused) == 2
    assert "warning" not in capsys.readouterr().out
    assert figures.wait_until_quiet(1, lambda: 2.0, paused.append) == 2.0
    assert "warning: others use 2.0 processors" in capsys.readouterr().out
    assert figures.wait_until_quiet(1, lambda: None, paused.append) == 0.0


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """It is interrupted, so that it can remove its files."""
    mark = tmp_path / "mark"
    code = f"""
import pathlib, time
mark = pathlib.Path({str(mark)!r})
mark.touch()
try:
    time.sleep(60)
finally:
    mark.unlink()
"""
    begin = time.perf_counter()
    outcome = figures.run_step(make_step(tmp_path / "slow.json", code), 3 / 60, tmp_path)
    assert outcome.problem == "ended after 0.05 minutes"
    assert time.perf_counter() - begin < 30
    assert not mark.exists()


def test_others_run_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What fails is named at the end with its last line, and the exit code is 1."""
    steps = (
        make_step(tmp_path / "bad.json", "import sys; sys.exit('no rows')"),
        make_step(tmp_path / "good.json", "print('fine')"),
    )
    monkeypatch.setattr(figures, "STEPS", steps)
    monkeypatch.setattr(figures, "PAGES", ())
    monkeypatch.setattr(figures.run_step, "__defaults__", (tmp_path,))
    assert figures.main(["--wait", "0"]) == 1
    said = capsys.readouterr().out
    assert "failed: bad: exit code 1: no rows" in said
    assert (tmp_path / "good.log").read_text() == "fine\n"
    assert figures.main(["--wait", "0", "--only", "good"]) == 0
    assert figures.main(["--list"]) == 0
    assert "bad, 1 minutes: python -c" in capsys.readouterr().out

"""The live display: drawn on terminals, absent in pipes."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from projected_kmeans.commands.terminal import describe_pace, show_progress
from projected_kmeans.results import FitState
from tests.support.commands import Call


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal every step that the callback hears of is drawn, and nothing is stopped."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with show_progress(quiet=False) as callback:
        assert callback is not None
        assert callback(FitState("reduce", 0, 3, 3, None, 0.1)) is False
        assert callback(FitState("cluster", 1, 5, 300, 1234.5, 0.2, 25.0, 11.8, 3e6)) is False
    for part in ("reduce", "cluster", "25 passes/s", "3 MB/s", "at most 11.8 s left", "restart 2"):
        assert part in stream.getvalue()


def test_no_progress_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe there is no callback and no output, even where colours are forced."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(quiet=False) as callback:
        assert callback is None
    assert stream.getvalue() == ""


def test_quiet_shows_no_progress(call: Call, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal too, -q draws nothing."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert call("fit", data, "-k", 3, "-q").err == ""


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (
            FitState("reduce", 0, 500, 2000, None, 0.1, 5000.0, 0.3, 4e6),
            "5,000 rows/s, 4 MB/s, 0.3 s left",
        ),
        (FitState("cluster", 0, 5, 300, 12.5, 0.1, 50.0, 5.9), "50 passes/s, at most 5.9 s left"),
        (FitState("lift", 0, 5, 300, None, 0.1, 0.5, 600.0), "0.5 rows/s, 10 min left"),
        (FitState("reduce", 0, 5, 300, None, 0.1, 0.5, 9000.0), "0.5 rows/s, 2.5 h left"),
        (FitState("reduce", 0, 0, 300, None, 0.1), ""),
    ],
)
def test_the_pace_of_a_step(state: FitState, told: str) -> None:
    """The rate, what is read, and the time left: a maximum if the step may converge earlier."""
    assert describe_pace(state) == told

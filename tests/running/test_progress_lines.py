"""The lines that verbose=1 prints, and when nothing is printed."""

from __future__ import annotations

import logging

import pytest

from projected_kmeans.results import FitState
from projected_kmeans.running.progress_lines import ProgressLines, wants_lines


def test_a_long_step_tells_how_far_it_is() -> None:
    """A step of 12 seconds prints two lines on its way, and one at its end."""
    lines: list[str] = []
    progress = ProgressLines(lines.append)
    for second in range(13):
        progress.follow(FitState("reduce", 0, second * 100, 2000, None, float(second)))
    progress.finish()
    progress.finish()
    assert lines == [
        "reduce   500 of 2,000 rows, 5.00 s so far",
        "reduce   1,000 of 2,000 rows, 10.00 s so far",
        "reduce   1,200 rows, 12.00 s",
    ]


@pytest.mark.parametrize(
    ("own", "root", "handled", "verbose", "expected"),
    [
        (logging.NOTSET, logging.WARNING, False, 1, True),
        (logging.NOTSET, logging.WARNING, False, 0, False),
        (logging.NOTSET, logging.WARNING, True, 1, True),
        (logging.NOTSET, logging.INFO, True, 1, False),
        (logging.NOTSET, logging.INFO, False, 1, True),
        (logging.ERROR, logging.INFO, True, 1, False),
    ],
)
def test_logging_of_the_program_wins(
    own: int, root: int, handled: bool, verbose: int, expected: bool
) -> None:
    """Lines are printed unless the log shows the progress, or the program set a level for it."""
    parent = logging.Logger("parent", root)
    logger = logging.Logger("child", own)
    logger.parent = parent
    if handled:
        parent.addHandler(logging.NullHandler())
    assert wants_lines(logger, verbose) == expected

"""The texts of a report say what they should, and its snippet repeats the fit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.sentences import (
    write_answer,
    write_members_note,
    write_passes_note,
    write_snippet,
    write_theorem_note,
)
from projected_kmeans.reports.values import PassLine, Report
from tests.support.commands import ROWS


def test_the_answer_is_two_sentences() -> None:
    """The answer names clusters, rows, inertia, proof, time and plan."""
    model = ProjectedKMeans(3, random_state=0, certificate="auto").fit(ROWS)
    answer = write_answer(describe_report(model, ROWS))
    for part in ("3 clusters of 60 rows (12 columns)", "proven within", "planned", "certificate"):
        assert part in answer
    assert "The fit converged; it took" in answer
    assert len(re.findall(r"\.(?= |$)", answer)) == 2


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("max_iter", "reached its maximum number of passes"),
        ("time", "was stopped by its time budget"),
        ("callback", "was stopped early and kept its best result"),
        ("interrupted", "was interrupted and kept its best result"),
    ],
)
def test_the_answer_says_how_the_fit_ended(report: Report, stopped: str, words: str) -> None:
    """Every way in which a fit can end has its words."""
    results = replace(report.facts.results, stopped=stopped)
    assert words in write_answer(replace(report, facts=replace(report.facts, results=results)))


def test_the_snippet_repeats_the_fit(
    fitted: ProjectedKMeans, report: Report, wide: NDArray[np.float64]
) -> None:
    """The lines under "How to reproduce" give the same labels."""
    space: dict[str, Any] = {"X": wide}
    exec(write_snippet(report.facts), space)
    np.testing.assert_array_equal(space["model"].labels_, fitted.labels_)


def test_the_notes_follow_the_numbers(report: Report) -> None:
    """Notes mention what is left out: other clusters, a subsample, a theorem without use."""
    assert "Only the" not in write_members_note(report)
    fewer = replace(report, members=report.members[:2])
    assert "Only the 2 largest of 5 clusters are shown." in write_members_note(fewer)
    lines = (PassLine(0, 100, (1,), (2.0,), False), PassLine(0, 300, (1,), (2.0,), True))
    note = write_passes_note(replace(report, passes=lines))
    assert "1 restarts competed on a sample of 100 rows" in note
    assert "2 + eps times the best possible" in write_theorem_note(report)
    many = replace(report, clusters=report.clusters * 20)
    assert "the theorem promises nothing here" in write_theorem_note(many)

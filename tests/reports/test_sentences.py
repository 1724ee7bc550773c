"""The texts of a report say what they should, and its snippet repeats the fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.sentences import (
    write_members_note,
    write_passes_note,
    write_snippet,
    write_theorem_note,
)
from projected_kmeans.reports.theorem import draw_guarantee
from projected_kmeans.reports.values import PassLine, Report


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


def test_the_guarantee_is_the_papers() -> None:
    """From 9 k dimensions on the paper promises 2 + sqrt(k / t); with fewer it promises nothing."""
    dimensions, ratios = draw_guarantee(10, 1000)
    np.testing.assert_allclose(ratios, 2 + np.sqrt(10 / np.array(dimensions)))
    assert dimensions[0] == pytest.approx(90)
    assert draw_guarantee(10, 89) == ([], [])

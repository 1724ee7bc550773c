"""The comparison of two builds, here of this build with itself."""

from __future__ import annotations

import sys
from pathlib import Path

import compare_versions
import pytest


def test_all_builds_do_every_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each work has the seconds of both builds, their ratio, and that of the same build twice."""
    monkeypatch.setattr(compare_versions, "MIN_TURN_SECONDS", 0.0)
    compare_versions.make_rows(tmp_path, shrink=100)
    table = compare_versions.compare(sys.executable, 1, 1, tmp_path, "")
    assert len(table) == len({row["work"] for row in table}) >= 9
    for row in table:
        assert row["before"] > 0
        assert row["ratio"] == row["now"] / row["before"]
        assert row["noise"] > 0
        assert row["cpu_ratio"] > 0


def test_works_can_be_chosen(tmp_path: Path) -> None:
    """Only works whose names have the text that is given are done."""
    compare_versions.make_rows(tmp_path, shrink=100)
    table = compare_versions.compare(sys.executable, 1, 1, tmp_path, "certify")
    assert [row["work"] for row in table] == ["certify 2,000 x 64"]

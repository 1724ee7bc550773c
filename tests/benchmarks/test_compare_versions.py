"""The comparison of two builds, here of this build with itself."""

from __future__ import annotations

import sys
from pathlib import Path

import compare_versions


def test_all_builds_do_every_work(tmp_path: Path) -> None:
    """Each work has the seconds of both builds, their ratio, and that of the same build twice."""
    compare_versions.make_rows(tmp_path, shrink=100)
    table = compare_versions.compare(sys.executable, 1, 1, tmp_path, "", turn_seconds=0.0)
    assert len(table) == len({row["work"] for row in table}) >= 9
    for row in table:
        assert row["before"] > 0
        assert row["ratio"] == row["now"] / row["before"]
        assert row["noise"] > 0
        assert row["cpu_ratio"] > 0

"""The benchmark of busy machines: every system is timed with every key, alone and beside others."""

from __future__ import annotations

import bench_busy
import busy_tables


def test_fits_are_timed_idle_and_busy() -> None:
    """Every data set and system has an entry and a line, with times and inertia of both systems."""
    data = bench_busy.load_data(quick=True)
    found = bench_busy.bench_busy({"iris": data["iris"]})
    assert [row["system"] for row in found] == list(bench_busy.SYSTEMS)
    for row in found:
        assert row["shape"] == [150, 4]
        assert row["idle_seconds"] > 0
        assert row["longest_busy_seconds"] >= row["busy_seconds"] > 0
        assert row["highest_inertia"] >= row["median_inertia"] > 78
    section = busy_tables.render_busy({"n_busy": 2, "fits": found}, "*m*")
    assert section.startswith("## Small data and busy machines\n\n*m*")
    assert section.count("\n| iris, 150 x 4, k = 3 |") == 2
    assert "| 1.00000 | " in section

"""Whole runs of Lloyd's method, beside those of peers."""

from __future__ import annotations

import kmeans_tables
import peers
import sketches
import whole_runs

from tests.support.benchmark_rows import EFFORT, NOBODY


def test_whole_runs_are_compared() -> None:
    """Ours is as good as a peer from the same centers in at most its passes, and counts work."""
    sketch = sketches.make_cloud(2000, 8)
    rows = whole_runs.compare_runs(
        sketch, sketches.draw_centers(sketch, 20), peers.pick_runners(NOBODY, 20), EFFORT
    )
    by_name = {row["system"]: row for row in rows}
    assert 0 < by_name["projected_kmeans"]["distances"] <= 1
    assert by_name["scikit-learn, Lloyd"]["our_passes"] <= whole_runs.N_PASSES
    assert by_name["scikit-learn, Lloyd"]["our_seconds"] is not None
    assert "scikit-learn, Lloyd" in kmeans_tables.runs_table(rows)


def test_an_inertia_out_of_reach_is_said() -> None:
    """A goal that ours does not reach is drawn as such, not as a time."""
    sketch = sketches.make_cloud(300, 4)
    found = whole_runs.reach_all(sketch, sketches.draw_centers(sketch, 3), {"x": 0.0}, EFFORT)
    assert found["x"]["our_seconds"] is None
    cells = kmeans_tables.peer_cells({"system": "x", "seconds": 1.0, **found["x"]}, 1.0)
    assert "not reached" in cells


def test_the_share_of_distances() -> None:
    """A few clusters are searched without bounds, which computes every distance; many save some."""
    sketch = sketches.make_cloud(50_000, 4)
    assert whole_runs.count_distances(sketch, sketches.draw_centers(sketch, 3), 1) == 1
    assert whole_runs.count_distances(sketch, sketches.draw_centers(sketch, 60), 1) < 1

"""The benchmark of streams: every system sees all rows."""

from __future__ import annotations

import bench_stream
import sketches
import stream_tables


def test_streams_are_timed() -> None:
    """Every system sees all rows in every order, and has a line; ours tells what it kept."""
    rows = sketches.make_cloud(2500, 6)
    found = bench_stream.bench_stream(rows, (3,))
    assert len(found) == 2
    for stream in found:
        ours, peer = stream["systems"]
        assert 0 < ours["inertia"] < 1.05 * stream["fit_inertia"]
        assert ours["floats"] == 2500 * 7
        assert peer["inertia"] > 0
    document = {"shape": rows.shape, "block_rows": 1000, "streams": found}
    page = stream_tables.render_stream("# Scale\n\n## Streams beside others\nold", document, "*m*")
    assert "old" not in page
    assert page.count("\n| ") == 2 * 3 + 2

"""The benchmark of files: every format is written, read and drawn."""

from __future__ import annotations

from pathlib import Path

import bench_files
import file_tables


def test_files_are_timed(tmp_path: Path) -> None:
    """Every format is written, read to its last row and drawn as a line; its files are gone."""
    rows = bench_files.bench_files(40_000, tmp_path, 1)
    narrow = [row["format"] for row in rows if row["d"] == bench_files.WIDTHS[0]]
    assert narrow == list(bench_files.CASES)
    assert {row["d"] for row in rows} == set(bench_files.WIDTHS)
    assert all(row["row_bytes"] >= row["n"] * row["d"] for row in rows)
    assert list(tmp_path.iterdir()) == []
    page = file_tables.render_files("# Files\n\n## How fast\nstale", {"files": rows}, "*machine*")
    assert page.startswith("# Files\n\n## How fast\n\n*machine*")
    assert "stale" not in page
    assert page.count("\n| ") == len(rows) + 2

"""The k-means benchmark at toy sizes, and the section that it fills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bench_kmeans
import growth
import kmeans_tables
import peers
import pytest
import render
import sketches
import whole_runs

from tests.support.benchmark_rows import EFFORT, NOBODY


@pytest.fixture
def document() -> dict[str, Any]:
    """Return what a run at toy sizes stores, without peers."""
    sketch = sketches.make_cloud(400, 8)
    runners = peers.pick_runners(NOBODY, 10)
    return {
        "machine": {
            "processor": "a processor",
            "threads": 1,
            "instruction_set": "portable",
            "python": "3",
            "versions": {"numpy": "2", "faiss-cpu": None},
        },
        "absent": ["faiss-cpu cannot be imported here (no reason)."],
        "assignment": bench_kmeans.bench_assignment(500, {(8, 5): 1.5}, NOBODY, EFFORT),
        "runs": whole_runs.compare_runs(sketch, sketches.draw_centers(sketch, 10), runners, EFFORT),
        "seeding": bench_kmeans.bench_seeding({"cloud": sketch}, 10, EFFORT),
        "growth": growth.bench_growth(EFFORT, 100),
        "memory": {"n": 10, "t": 2, "k": 1, "bytes_a_row": 42.0},
    }


def test_the_page_is_drawn_from_what_is_stored(document: dict[str, Any], tmp_path: Path) -> None:
    """A stored document becomes a section with all its tables; an absent peer is a sentence."""
    (tmp_path / "kmeans.json").write_text(json.dumps(document))
    page = render.render_page(tmp_path)
    assert "faiss-cpu cannot be imported here" in page
    assert "faiss-cpu None" not in page
    for heading in ("One assignment pass", "Whole runs", "Seeding", "Growth", "Memory"):
        assert f"**{heading}**" in page
    widths = {}
    for number, line in enumerate(page.splitlines()):
        if line.startswith("|"):
            widths[number] = line.count("|")
            assert widths[number] == widths.get(number - 1, widths[number])
    assert len(widths) > 20


def test_the_page_says_that_digits_are_missing(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without its data the section on whole runs is one sentence."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    del document["runs"]
    document |= bench_kmeans.bench_digits(NOBODY, EFFORT, quick=True)
    page = kmeans_tables.render_kmeans(document, "")
    assert "Whole runs need mnist_10k.npz" in page

"""The section on whole fits and its picture."""

from __future__ import annotations

from pathlib import Path

import fit_chart
import fit_tables
import render
from fit_systems import FAISS, OURS

from tests.support.stored_fits import make_entry, make_row


def test_the_section_and_its_picture(tmp_path: Path) -> None:
    """Every data set has a table and a panel; the picture has the same bytes each time."""
    ours, peer = make_row(OURS, 1.0, 0.5), make_row(FAISS, 5.0, 0.51, extra_bytes=None)
    peer["foreign"] = 1.0
    document = {
        "absent": ["superkmeans cannot be imported here (no reason)."],
        "data_sets": {"a": make_entry(ours, peer), "b": make_entry(peer, k=20, source="2")},
    }
    page = fit_tables.render_fits(document, render.describe, "fit.svg")
    assert "| FAISS, 25 iterations | 5.00 | 0.51000 | 5.00 | 1.0200 |  |" in page
    assert "no figure of projected_kmeans" in page
    assert "did not end within 300 s" in page
    assert "so their times are rough: FAISS, 25 iterations." in page
    assert "different states of this package" in page
    assert "![F~ against seconds, a curve for each system](fit.svg)" in page
    pictures = []
    for name in ("one.svg", "two.svg"):
        fit_chart.draw_fits(document, tmp_path / name)
        pictures.append((tmp_path / name).read_text())
    assert pictures[0] == pictures[1]
    assert all(f"k = {k}" in pictures[0] for k in (10, 20))

"""The tables on limits of memory."""

from __future__ import annotations

from typing import Any

import storage_tables

from tests.support.origins import MACHINE

MARKS = "<!-- figures: {} -->\n\nold\n\n<!-- end of figures -->\n\n"
PAGE = MARKS.format(storage_tables.SMALL) + MARKS.format(storage_tables.LARGE)


def make_fit(limit: str | None, projection: str = "auto") -> dict[str, Any]:
    """Return a stored fit."""
    return {
        "limit": limit,
        "projection": projection,
        "seconds": 7.0,
        "steps": {"reduce": 1.0, "cluster": 2.0},
        "base_bytes": 200e6,
        "peak_bytes": 260e6,
        "n_components": 65,
    }


def test_limits_of_memory_are_drawn() -> None:
    """Fits have their seconds or peaks; a table that was not measured stays."""
    fits = [make_fit(None), make_fit("1GB"), make_fit("1GB", "sign")]
    document = {"machine": MACHINE, "n": 1_000_000, "d": 1024, "k": 100, "fits": fits}
    page = storage_tables.render_storage(PAGE, document, "*m*")
    assert "| in memory, after 4.0 s of loading | 3.0 |  |" in page
    assert '| `memory_limit="1GB"` | 7.0 | 260 MB |' in page
    assert page.count("old") == page.count("*m*") == 1
    document["small"] = {"n": 100_000, "fits": [make_fit(None), make_fit("40MB", "sign")]}
    page = storage_tables.render_storage(PAGE, document, "*m*")
    assert "100,000 x 1,024 float32 numbers (410 MB), k = 100:" in page
    assert "| `np.load` and `fit` | 60 MB |" in page
    assert '| `memory_limit="40MB"`, `projection="sign"`, the sketch in a file | 60 MB |' in page
    assert "old" not in page

"""The figures of the README are those of stored measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "benchmarks/results/fit.json").read_text())["data_sets"]
# The rows of the README's table: how each begins, and which stored data set it shows.
SHOWN = {
    "digits 90,000 x 784, k = 100": "digits-100",
    "digits 90,000 x 784, k = 10": "digits-10",
    "mixture 60,000 x 2,048, k = 50": "mixture",
    "texts 50,000 x 100,000 sparse, k = 50": "texts",
}
PEERS = (("FAISS", "25 iterations"), ("scikit-learn KMeans", "to its end"))


def read_cells(title: str) -> list[str]:
    """Return the cells of a row of the README's table, without its title."""
    lines = (ROOT / "README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def find_row(data: dict[str, Any], system: str, effort: str) -> dict[str, Any] | None:
    """Return the stored measurement of a system, or None."""
    rows = (row for row in data["rows"] if (row["system"], row["effort"]) == (system, effort))
    return next(rows, None)


def as_ratio(value: float) -> str:
    """Return a ratio with two digits: 4.6 or 59."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


@pytest.mark.parametrize("title", SHOWN)
def test_the_table_follows_from_stored_results(title: str) -> None:
    """Seconds, ratios and F~ of each row are the stored ones, rounded; a peer without is named."""
    data = STORED[SHOWN[title]]
    assert f"{data['n']:,} x {data['d']:,}" in title
    assert title.endswith(f"k = {data['k']}")
    own = find_row(data, "projected_kmeans", "default")
    assert own is not None
    shown, *peers = read_cells(title)
    inertia = f"{own['normalized_inertia']:.5f}".removeprefix("0")
    assert shown == f"{own['seconds']:.2f} s, F~ {inertia}"
    for cell, (system, effort) in zip(peers, PEERS, strict=True):
        row = find_row(data, system, effort)
        if row is None:
            too_long = f"more than {data['parameters']['limit']:.0f} s"
            assert cell == ("not for sparse rows" if data["sparse"] else too_long)
            continue
        assert re.fullmatch(r"[\d.]+ times(?: the time)?, \.\d{5}", cell)
        assert cell.split()[0] == as_ratio(row["seconds"] / own["seconds"])
        assert cell.endswith(f"{row['normalized_inertia']:.5f}".removeprefix("0"))


def test_every_row_of_the_table_is_looked_at() -> None:
    """A row that is added to the table must be named here."""
    text = (ROOT / "README.md").read_text()
    table = text.split("| data | projected_kmeans |")[1].split("\n\n")[0]
    assert len(table.strip().splitlines()) - 2 == len(SHOWN)

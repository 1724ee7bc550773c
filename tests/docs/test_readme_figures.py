"""The figures of the README are those of stored measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import readme_figures
import render

from tests.support.origins import MEASURED

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


def test_the_section_is_what_stored_results_give() -> None:
    """Every figure of the section follows from stored fits; `benchmarks/render.py` writes it."""
    assert render.README.read_text() == render.render_readme_page(render.RESULTS)


def test_sentences_on_superkmeans_follow_from_stored_results() -> None:
    """Times and inertia on word vectors and a tree are those of bench_field.py, rounded."""
    text = " ".join((ROOT / "README.md").read_text().split())
    for work, name in readme_figures.TOLD.items():
        own, rival = (find_fit(*work, one) for one in ("projected_kmeans", readme_figures.RIVAL))
        pattern = rf"{work[1]:,} clusters of {name} superkmeans takes ([\d.]+) (times|of)"
        found = re.search(pattern + r"[a-z ]+ and ends (\d+) % (higher|lower)", text)
        assert found is not None
        ratio = rival["seconds"] / own["seconds"]
        excess = 100 * (rival["normalized_inertia"] / own["normalized_inertia"] - 1)
        assert found[1] == as_ratio(ratio)
        assert found[2] == ("times" if ratio >= 1 else "of")
        assert (
            f"{found[3]} {found[4]}" == f"{abs(excess):.0f} {'higher' if excess > 0 else 'lower'}"
        )


def find_fit(work: str, n_clusters: int, system: str) -> dict[str, Any]:
    """Return a stored fit of bench_field.py."""
    fits: list[dict[str, Any]] = json.loads((render.RESULTS / "field.json").read_text())["fits"]
    sought = (work, n_clusters, system)
    (fit,) = (fit for fit in fits if (fit["work"], fit["n_clusters"], fit["system"]) == sought)
    return fit


def test_the_sentence_on_small_data_holds() -> None:
    """FAISS takes less time and ends higher on every small data set, or the sentence is gone."""
    holds = []
    for name in readme_figures.SMALL:
        own = find_row(STORED[name], "projected_kmeans", "default")
        peer = find_row(STORED[name], *PEERS[0])
        assert own is not None
        assert peer is not None
        lower = own["normalized_inertia"] < peer["normalized_inertia"]
        holds.append(peer["seconds"] < own["seconds"] and lower)
    assert ("FAISS is faster on small data" in (ROOT / "README.md").read_text()) is all(holds)


def test_a_date_is_told_when_it_is_stored() -> None:
    """The README names the day once all data sets of its table have one."""
    entries = {name: {**STORED[name], "measured": MEASURED} for name in STORED}
    assert readme_figures.name_date({"data_sets": entries}) == ", measured on 2026-01-02"
    del entries["texts"]["measured"]
    assert readme_figures.name_date({"data_sets": entries}) == ""


def test_every_row_of_the_table_is_looked_at() -> None:
    """A row that is added to the table must be named here."""
    text = (ROOT / "README.md").read_text()
    table = text.split("| data | projected_kmeans |")[1].split("\n\n")[0]
    assert len(table.strip().splitlines()) - 2 == len(SHOWN) == len(readme_figures.SHOWN)

"""Figures that pages quote in sentences are those of stored measurements."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import render

ROOT = Path(__file__).parents[2]
CERTIFICATES = "docs/explanation/certificate.md"


def read_page(name: str) -> str:
    """Return the text of a page in one line."""
    return " ".join((ROOT / name).read_text().split())


def load(name: str) -> Any:
    """Return the stored results of a benchmark."""
    return json.loads((render.RESULTS / f"{name}.json").read_text())


def test_numbers_of_table_2_in_the_readme() -> None:
    """The README counts as many matching numbers as the stored reproduction does."""
    stored = json.loads((ROOT / "docs" / "reproduction" / "table2.json").read_text())
    matches = stored["results"]["matches"]
    counted = f"{matches['matching']} of the {matches['total']} deterministic numbers"
    assert counted in read_page("README.md")


def test_the_longest_automatic_proof() -> None:
    """The page on certificates names the seconds of the mixture, which exceed what is planned."""
    (case,) = (one for one in load("certificates")["cases"] if one["rows"] == "mixture")
    n, d = case["shape"]
    quoted = re.search(rf"a mixture of {n:,} x {d:,} took (\d+) s", read_page(CERTIFICATES))
    assert quoted is not None
    assert quoted[1] == f"{case['seconds']:.0f}", "write the stored seconds into the page"


def test_how_much_faster_signs_are() -> None:
    """The words "two to three times as fast" hold for the median of usual sizes."""
    assert "two to three times as fast as a matrix product" in read_page("docs/how_it_works.md")
    sizes = render.pick(load("projection")["rows"], "dense float32")
    usual = [times for (_, _, t), times in sizes.items() if t >= 16]
    assert 2 <= median(times["numpy A @ R"] / times["sign"] for times in usual) < 3

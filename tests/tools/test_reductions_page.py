"""docs/explanation/reductions.md is what the stored results say."""

from __future__ import annotations

from reductions_page import SECTIONS, render_reductions

from projected_kmeans.paper.experiments.beyond import STATEMENTS
from tests.support.reproduction import DOCS, load_documents


def test_the_page_is_what_the_stored_results_say() -> None:
    """The page is rendered from docs/reproduction/beyond.json, and its figures exist."""
    document = load_documents()["beyond"]
    page = (DOCS / "explanation" / "reductions.md").read_text(encoding="utf-8")
    assert page == render_reductions(document), "renew it with python tools/reductions_page.py"
    for data in document["results"]["data"]:
        figure = f"beyond_{data['name'].lower().replace(' ', '_')}.png"
        assert f"](../figures/{figure})" in page
        assert (DOCS / "figures" / figure).exists()


def test_every_statement_stands_in_one_section() -> None:
    """The sections together judge each statement once."""
    named = [name for section in SECTIONS for name in section.statements]
    assert sorted(named) == sorted(STATEMENTS)


def test_numbers_follow_the_document() -> None:
    """Another F~ in the document is another F~ on the page."""
    document = load_documents()["beyond"]
    point = document["results"]["data"][0]["points"][0]
    point["F"] = 0.00012
    assert f"{point['method']}, t = {point['t']}: 0.0001" in render_reductions(document)

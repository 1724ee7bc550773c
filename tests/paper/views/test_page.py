"""docs/reproduction.md is what the stored results say."""

from __future__ import annotations

from projected_kmeans.paper.views.files import VIEWS
from projected_kmeans.paper.views.page import render_page
from tests.support.reproduction import DOCS, STORED, load_documents

MAX_FIGURE_BYTES = 150_000


def test_the_page_is_what_the_stored_results_say() -> None:
    """docs/reproduction.md is rendered from the documents stored beside it, figures included."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    documents = load_documents()
    assert page == render_page(documents), (
        "renew it with projected-kmeans reproduce all --page docs/reproduction.md"
    )
    for name in VIEWS:
        for chart in VIEWS[name].chart(documents[name]):
            figure = DOCS / "figures" / f"{chart.name}.png"
            assert f"figures/{figure.name}" in page
            assert figure.stat().st_size < MAX_FIGURE_BYTES


def test_the_page_tells_date_and_command() -> None:
    """A section says when and by which command it was measured; older documents have no date."""
    document = dict(load_documents()["table1"])
    document["measured"] = {
        "start": "2026-01-02T03:04:05Z",
        "end": "2026-01-02T03:14:05Z",
        "command": "projected-kmeans reproduce all --fresh",
        "load": 0.1,
    }
    page = render_page({"table1": document})
    assert "*Measured on 2026-01-02 in " in page
    assert "with `projected-kmeans reproduce all --fresh`, key 0; version " in page
    del document["measured"]
    assert "*Measured (date not stored) in " in render_page({"table1": document})


def test_stored_results_name_no_place_on_a_machine() -> None:
    """No stored document and no page holds a path of the machine that it was made on."""
    pages = [DOCS / "reproduction.md", DOCS / "explanation" / "reductions.md"]
    for file in [*pages, *STORED.iterdir()]:
        text = file.read_text(encoding="utf-8")
        assert "/home/" not in text, file.name
        assert "/work/" not in text, file.name
        assert "/tmp/" not in text, file.name

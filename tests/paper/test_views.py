"""Tables, figures and the page: drawn from stored documents alone."""

from __future__ import annotations

import builtins
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from projected_kmeans.paper.views.charts import Chart, NoFigures, Panel, Series, save_chart
from projected_kmeans.paper.views.files import VIEWS, render_text, write_figures, write_tables
from projected_kmeans.paper.views.page import render_page
from projected_kmeans.paper.views.tables import Table, as_csv, as_latex, as_markdown

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "reproduction"
MAX_FIGURE_BYTES = 150_000

CHART = Chart(
    "waves",
    (
        Panel("one", "x", "y", (Series("line", [1, 2, 3], [1, 4, 9], [0, 3, 8], [2, 5, 10]),)),
        Panel("two", "x", "y", (Series("line", [1, 10], [1, 2]),), (("level", 1.5),), log_x=True),
    ),
)


def stored_documents() -> dict[str, Any]:
    """Return the documents that the page in docs was made from."""
    return {name: json.loads((STORED / f"{name}.json").read_text()) for name in VIEWS}


def test_cells_survive_every_format() -> None:
    """Bars, commas and LaTeX's own characters come out as they went in."""
    table = Table("t", "A & B_1", ("x|y", "a,b"), (("100 %", "f(x) ~ x^2"),))
    assert "x\\|y" in as_markdown(table)
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [["x|y", "a,b"], ["100 %", "f(x) ~ x^2"]]
    latex = as_latex(table)
    assert r"100 \% & f(x) \textasciitilde{} x\textasciicircum{}2 \\" in latex
    assert r"\caption{A \& B\_1}" in latex


def test_figures_are_drawn_in_both_formats(tmp_path: Path) -> None:
    """A chart becomes a PNG and an SVG, the same bytes every time."""
    first = [file.read_bytes() for file in save_chart(CHART, tmp_path)]
    again = [file.read_bytes() for file in save_chart(CHART, tmp_path)]
    assert first == again
    with Image.open(tmp_path / "waves.png") as picture:
        assert picture.size == (800, 320)
    assert (tmp_path / "waves.svg").read_text().startswith("<?xml")


def test_without_matplotlib_a_sentence_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where matplotlib is absent, drawing says what to install and nothing is written."""
    real_import = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NoFigures, match=r"pip install 'projected_kmeans\[paper\]'"):
        save_chart(CHART, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_what_the_stored_results_say() -> None:
    """docs/reproduction.md is rendered from the documents stored beside it, figures included."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    documents = stored_documents()
    assert page == render_page(documents), (
        "renew it with projected-kmeans reproduce all --page docs/reproduction.md"
    )
    for name in VIEWS:
        for chart in VIEWS[name].chart(documents[name]):
            figure = DOCS / "figures" / f"{chart.name}.png"
            assert f"figures/{figure.name}" in page
            assert figure.stat().st_size < MAX_FIGURE_BYTES


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_every_view_renders_its_stored_document(name: str, tmp_path: Path) -> None:
    """Each experiment has Markdown, LaTeX and CSV tables, figures, and a result in short."""
    document = stored_documents()[name]
    files = [*write_tables(document, tmp_path), *write_figures(document, tmp_path)]
    assert {file.suffix for file in files} == {".md", ".tex", ".csv", ".png", ".svg"}
    assert all(file.stat().st_size > 0 for file in files)
    assert render_text(document).splitlines()[-1] == VIEWS[name].conclude(document)[-1]


def test_stored_results_name_no_place_on_a_machine() -> None:
    """No stored document and no page holds a path of the machine that it was made on."""
    for file in [DOCS / "reproduction.md", *STORED.iterdir()]:
        text = file.read_text(encoding="utf-8")
        assert "/home/" not in text, file.name
        assert "/work/" not in text, file.name
        assert "/tmp/" not in text, file.name

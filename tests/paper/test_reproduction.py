"""The exhibits by name, and docs/reproduction.md, which is what the stored results say."""

from __future__ import annotations

from pathlib import Path

import pytest

from projected_kmeans.paper.experiments import figure1, mailman, table2
from projected_kmeans.paper.reproduction import (
    EXHIBITS,
    plan_experiment,
    render_page,
    render_text,
    write_figures,
    write_tables,
)
from tests.support.reproduction import DOCS, STORED, load_documents

MAX_FIGURE_BYTES = 150_000


def test_full_sizes() -> None:
    """A full run has 1,000 draws in Table 2, 30 draws of 60 dimensions, and 10,000 rows."""
    assert table2.FULL.n_draws >= 1000
    assert figure1.FULL.dimensions == tuple(range(5, 301, 5))
    assert figure1.FULL.n_draws >= 30
    assert (mailman.FULL.n[0], mailman.FULL.n[-1]) == (1, 10_000)


@pytest.mark.parametrize("name", ["table1", "mailman", "theorem", "optimum"])
def test_the_quick_plan_has_fewer_units(name: str) -> None:
    """An experiment is planned by its name; a quick one measures less with the same key."""
    full, quick = (plan_experiment(name, None, key=3, quick=quick) for quick in (False, True))
    assert (full.name, quick.name) == (name, name)
    assert full.parameters["key"] == quick.parameters["key"] == 3
    assert len(quick.units) < len(full.units)


def test_experiments_have_unique_unit_names() -> None:
    """A stopped run finds its units by name, so that no two units of a plan share one."""
    for name in set(EXHIBITS) - {"table2", "figure1", "beyond"}:
        names = [unit.name for unit in plan_experiment(name, None).units]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", sorted(EXHIBITS))
def test_every_exhibit_renders_its_stored_document(name: str, tmp_path: Path) -> None:
    """Each experiment has Markdown, LaTeX and CSV tables, figures, and a result in short."""
    document = load_documents()[name]
    files = [*write_tables(document, tmp_path), *write_figures(document, tmp_path)]
    assert {file.suffix for file in files} == {".md", ".tex", ".csv", ".png", ".svg"}
    assert all(file.stat().st_size > 0 for file in files)
    assert render_text(document).splitlines()[-1] == EXHIBITS[name].conclude(document)[-1]


def test_the_page_is_what_the_stored_results_say() -> None:
    """docs/reproduction.md is rendered from the documents stored beside it, figures included."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    documents = load_documents()
    assert page == render_page(documents), (
        "renew it with projected-kmeans reproduce all --page docs/reproduction.md"
    )
    for name in EXHIBITS:
        for chart in EXHIBITS[name].chart(documents[name]):
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

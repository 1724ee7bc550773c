"""Every stored document is written as tables and figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from projected_kmeans.paper.views.files import VIEWS, render_text, write_figures, write_tables
from tests.support.reproduction import load_documents


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_every_view_renders_its_stored_document(name: str, tmp_path: Path) -> None:
    """Each experiment has Markdown, LaTeX and CSV tables, figures, and a result in short."""
    document = load_documents()[name]
    files = [*write_tables(document, tmp_path), *write_figures(document, tmp_path)]
    assert {file.suffix for file in files} == {".md", ".tex", ".csv", ".png", ".svg"}
    assert all(file.stat().st_size > 0 for file in files)
    assert render_text(document).splitlines()[-1] == VIEWS[name].conclude(document)[-1]

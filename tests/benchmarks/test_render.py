"""The stored pages are what the stored results give."""

from __future__ import annotations

import json

import render
from fit_tables import name_data_set


def test_the_stored_pages_are_up_to_date() -> None:
    """docs/benchmarks.md and the measured sections of other pages are what stored results give."""
    assert render.PROOF_PAGE.read_text() == render.render_proof_page(render.RESULTS)
    assert render.PAGE.read_text() == render.render_page(render.RESULTS)
    assert render.FILES_PAGE.read_text() == render.render_files_page(render.RESULTS)
    assert render.SCALE_PAGE.read_text() == render.render_scale_page(render.RESULTS)
    assert render.DASK_PAGE.read_text() == render.render_dask_page(render.RESULTS)


def test_the_stored_picture_has_a_panel_for_every_data_set() -> None:
    """docs/images/fit.svg names all data sets that have stored fits."""
    entries = json.loads((render.RESULTS / "fit.json").read_text())["data_sets"].values()
    titles = [name_data_set(entry) for entry in entries if entry.get("rows")]
    picture = render.IMAGE.read_text()
    assert titles
    assert [title for title in titles if title not in picture] == []

"""Results in a notebook that Jupyter runs and nbconvert turns into a page."""

from __future__ import annotations

import re

import pytest

CELLS = (
    """
import numpy as np
from projected_kmeans import ProjectedKMeans, certify, choose_n_clusters, plan_fit
stream = np.random.default_rng(0)
X = np.repeat(4 * stream.normal(size=(4, 20)), 30, axis=0) + stream.normal(size=(120, 20))
""",
    "ProjectedKMeans(4, random_state=0).fit(X)",
    "plan_fit(X, 4, random_state=0)",
    "choose_n_clusters(X, range(2, 7), random_state=0)",
    "certify(X, np.repeat(np.arange(4), 30), random_state=0)",
)


@pytest.fixture(scope="module")
def page() -> str:
    """Return a notebook with a cell for each result, run and converted to a page."""
    reason = "notebooks are run by nbclient, nbconvert and ipykernel, and one is not installed"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    nbconvert = pytest.importorskip("nbconvert", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbclient.NotebookClient(book, timeout=300).execute()
    for cell in book.cells[1:]:
        assert "text/html" in cell.outputs[0].data
    return str(nbconvert.HTMLExporter().from_notebook_node(book)[0])


@pytest.mark.parametrize(
    "words",
    [
        "4 clusters of 120 rows",
        "120 x 20, k = 4",
        "<b>4 clusters",
        "no clustering into 4 groups can be better",
    ],
)
def test_a_page_shows_results_as_tables(page: str, words: str) -> None:
    """Each result is a table in the page, and not the text of its repr."""
    shown = re.sub(r"<(?!b>)[^>]*>", "", page)
    assert words in shown
    assert page.count("<table") >= 4


def test_a_page_has_no_script_of_a_result(page: str) -> None:
    """Tables need no script, so that a page is the same in JupyterLab, which removes scripts."""
    tables = re.findall(r"<table.*?</table>", page, flags=re.DOTALL)
    assert not any("<script" in table for table in tables)

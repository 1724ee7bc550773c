"""A model in a notebook: its results above scikit-learn's diagram."""

from __future__ import annotations

from projected_kmeans import ProjectedKMeans
from tests.support.commands import ROWS


def test_notebooks_show_results_above_the_diagram() -> None:
    """Before a fit notebooks show only the diagram, after it the results too."""
    before = ProjectedKMeans(3)._repr_mimebundle_()
    assert "sk-top-container" in before["text/html"]
    assert "clusters of" not in before["text/html"]
    fitted = ProjectedKMeans(3, random_state=0).fit(ROWS)
    after = fitted._repr_mimebundle_()
    assert "3 clusters of 60 rows" in after["text/html"]
    assert "sk-top-container" in after["text/html"]
    assert "3 clusters of 60 rows" in fitted._repr_html_()
    assert after["text/plain"] == repr(fitted)

"""What notebooks show of an estimator, before a fit, after it, and while rows are pending."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn

from projected_kmeans import (
    ProjectedKMeans,
    certify,
    choose_n_clusters,
    load_model,
    plan_fit,
    save_model,
)

ROWS = np.random.default_rng(0).normal(size=(60, 5))


def show(model: ProjectedKMeans) -> str:
    """Return the HTML that a notebook shows."""
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    return bundle["text/html"]


def test_results_replace_the_diagram() -> None:
    """Before a fit there is scikit-learn's diagram, after it results, then parameters."""
    model = ProjectedKMeans(3, random_state=0, certificate="spectral")
    assert "clusters of" not in show(model)
    assert "sk-top-container" in show(model)
    shown = show(model.fit(ROWS))
    assert shown.index("3 clusters of 60 rows") < shown.index("certificate=&#x27;spectral&#x27;")
    assert "sk-top-container" not in shown
    for text in (
        "seconds",
        "to_html",
        "no clustering into 3 groups can be",
        f"{model.inertia_:.6g}",
    ):
        assert text in shown
    assert "3 clusters of 60 rows" in model._repr_html_()


def test_a_loaded_model_shows_what_it_knows(tmp_path: Path) -> None:
    """Without labels and seconds the number of clusters and the inertia are shown."""
    save_model(ProjectedKMeans(3, random_state=0).fit(ROWS), tmp_path)
    shown = show(load_model(tmp_path))
    assert "3 clusters<" in shown
    assert "seconds" not in shown


def test_a_display_does_not_cluster_a_stream() -> None:
    """Pending rows stay pending, and results are shown once they are clustered."""
    model = ProjectedKMeans(3, random_state=0).partial_fit(ROWS)
    assert "3 clusters" not in show(model)
    assert model.has_pending_rows_
    assert "3 clusters<" in show(model.cluster_stream())


def test_text_is_shown_alone_if_scikit_learn_is_told_so() -> None:
    """The display option of scikit-learn decides whether there is HTML."""
    with sklearn.config_context(display="text"):
        assert set(ProjectedKMeans()._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("kind", ["plan", "counts", "certificate", "model"])
def test_results_are_plain_tables(kind: str) -> None:
    """A result is a line as text, and a table with neither script nor style sheet as HTML."""
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    result = {
        "plan": lambda: plan_fit(ROWS, 3, random_state=0),
        "counts": lambda: choose_n_clusters(ROWS, range(2, 20), prove=False, random_state=0),
        "certificate": lambda: certify(ROWS, model.labels_),
        "model": lambda: model,
    }[kind]()
    shown = result._repr_html_()
    assert shown.count("<table") == shown.count("</table>") == 1
    for word in ("<script", "<style", "<dl", "display:", "class="):
        assert word not in shown
    if kind != "model":
        assert "\n" not in repr(result)
        assert len(repr(result)) < 300
        assert repr(result)[1:-1].partition(": ")[2].startswith(result.describe())
    if kind == "counts":
        assert shown.count("<tr>") == 11  # a head and ten numbers

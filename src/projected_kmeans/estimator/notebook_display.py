"""A fitted estimator as notebooks show it: a line of results above scikit-learn's diagram.

Needs no extra; the whole report is `report.py`'s business.
"""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

STYLE = (
    "display:grid;grid-template-columns:max-content 1fr;gap:0.15em 1em;margin:0 0 0.8em;"
    "font:0.9em/1.5 system-ui,sans-serif"
)


def show_html(model: Any) -> str:
    """Return the HTML of an estimator: after a fit with its results, before it the diagram alone.

    Examples
    --------
    >>> from projected_kmeans import ProjectedKMeans
    >>> model = ProjectedKMeans(2, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]])
    >>> "2 clusters of 4 rows" in show_html(model)
    True
    """
    diagram: str = estimator_html_repr(model)
    return tell_results(model) + diagram if hasattr(model, "cluster_centers_") else diagram


def show_bundle(model: Any, **options: Any) -> dict[str, str]:
    """Return what notebooks ask an estimator for: its text, and its HTML where that is wanted."""
    bundle = {"text/plain": repr(model)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = show_html(model)
    return bundle


def tell_results(model: Any) -> str:
    """Return the results of a fitted estimator as a short list."""
    k, d = model.cluster_centers_.shape
    labels = getattr(model, "labels_", None)
    lines = {
        "result": f"{k} clusters" + ("" if labels is None else f" of {len(labels):,} rows"),
        "dimensions": f"{model.n_components_} of {d}",
        "inertia": f"{model.inertia_:.6g} ({model.normalized_inertia_:.4g} of the sum of squares)",
    }
    if model.certificate_ is not None:
        lines["proven"] = model.certificate_.describe()
    if hasattr(model, "timings_"):
        lines["seconds"] = (
            f"{sum(model.timings_.values()):.3g}, {model.forecast_.total:.3g} planned"
        )
        lines["report"] = "model.to_html(X, 'report.html')"
    items = "".join(
        f"<dt style='opacity:0.75'>{escape(name)}</dt><dd style='margin:0'>{escape(text)}</dd>"
        for name, text in lines.items()
    )
    return f'<dl style="{STYLE}">{items}</dl>'

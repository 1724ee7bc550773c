"""An estimator as notebooks show it: after a fit its results, before it scikit-learn's diagram.

Results are plain HTML. The diagram needs a style sheet, which JupyterLab removes from notebooks
that were not run by the same user; it then asks to run the cell again. The whole report of a fit is
made by the package `reports`.
"""

from __future__ import annotations

from html import escape

from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.result_tables import list_facts


def show_html(estimator: BaseEstimator, model: FittedModel | None) -> str:
    """Return an estimator as HTML.

    Parameters
    ----------
    estimator : BaseEstimator
        Before a fit, scikit-learn draws it as a diagram. After it, its parameters follow the
        results, folded.
    model : FittedModel or None
        Its results. None before the first fit, and for a stream that is not
        clustered yet: a display must not run a clustering.
    """
    if model is None:
        return str(estimator_html_repr(estimator))
    parameters = f"<code>{escape(repr(estimator))}</code>"
    folded = f"<details><summary>Parameters</summary>{parameters}</details>"
    return list_results(model) + folded


def list_results(model: FittedModel) -> str:
    """Return the results of a fit as a short HTML table."""
    k, d = model.centers.shape
    rows = "" if model.labels is None else f" of {len(model.labels):,} rows"
    lines = {
        "result": f"{k} clusters{rows}",
        "dimensions": f"{model.n_components} of {d}",
        "inertia": f"{model.inertia:.6g}",
    }
    if model.explained is not None:
        lines["explained"] = f"{100 * model.explained:.4g} % of the variance"
    if model.spherical:
        lines["mean cosine"] = f"{1 - model.normalized_inertia:.4g} to the center"
    else:
        lines["inertia"] += f" ({model.normalized_inertia:.4g} of the sum of squares)"
    if model.certificate is not None:
        lines["proven"] = model.certificate.describe()
    if model.seconds is not None:
        lines["seconds"] = f"{sum(model.seconds.values()):.3g}"
        lines["report"] = "model.to_html(X, 'report.html')"
    return list_facts(lines)

"""An estimator as notebooks show it: a few lines of results above scikit-learn's diagram.

Needs no extra package. The whole report of a fit is made by the package `reports`.
"""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.result_tables import list_facts


def show_html(
    estimator: BaseEstimator, model: FittedModel | None, planned_seconds: float | None
) -> str:
    """Return an estimator as HTML.

    Parameters
    ----------
    estimator : BaseEstimator
        What scikit-learn draws as a diagram.
    model : FittedModel or None
        Its results, which come first. None before the first fit, and for a stream that is not
        clustered yet: a display must not run a clustering.
    planned_seconds : float or None
        What the forecast said; None for a loaded model.
    """
    diagram: str = estimator_html_repr(estimator)
    return diagram if model is None else list_results(model, planned_seconds) + diagram


def list_results(model: FittedModel, planned_seconds: float | None) -> str:
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
    if model.seconds is not None and planned_seconds is not None:
        took = sum(model.seconds.values())
        lines["seconds"] = f"{took:.3g}, {planned_seconds:.3g} planned"
        lines["report"] = "model.to_html(X, 'report.html')"
    return list_facts(lines)

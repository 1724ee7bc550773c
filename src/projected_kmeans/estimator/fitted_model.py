"""What a fit leaves: attributes of the estimator, all of it as one value, and its display.

An attribute decides when a stream is clustered; how is the estimator's business. Results are shown
as plain HTML. scikit-learn's diagram, which is shown before a fit, needs a style sheet, which
JupyterLab removes from notebooks that were not run by the same user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.checks import check_threads
from projected_kmeans.result_tables import list_facts
from projected_kmeans.results import Floats
from projected_kmeans.search.settings import Settings

Value = TypeVar("Value")


class StreamingEstimator(Protocol):
    """What these attributes ask of the estimator that has them."""

    @property
    def _is_stream(self) -> bool:
        """Whether the estimator was last given rows by ``partial_fit``."""

    def cluster_stream(self) -> object:
        """Cluster all rows so far, unless that is done, and set the fitted attributes."""


class FittedAttribute(Generic[Value]):
    """An attribute that a fit leaves on the estimator.

    ``fit`` stores it in the instance as usual, and Python then reads it from there: this class only
    sees reads of an attribute that the instance does not have. For a stream such a read clusters
    the rows so far. Otherwise it raises AttributeError, so that ``hasattr`` is False before the
    first fit. Only the documented attributes are declared this way: ``hasattr`` of any other name
    never runs a clustering. ``not_of_streams`` is the message of the AttributeError for an
    attribute that streams do not have.
    """

    def __init__(self, *, not_of_streams: str | None = None) -> None:
        self._not_of_streams = not_of_streams

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...

    @overload
    def __get__(self, model: StreamingEstimator, owner: type) -> Value: ...

    def __get__(self, model: StreamingEstimator | None, owner: type) -> Any:
        if model is None:
            return self
        if not model._is_stream:
            kind = type(model).__name__
            raise AttributeError(f"{kind!r} object has no attribute {self._name!r}")
        if self._not_of_streams is not None:
            raise AttributeError(self._not_of_streams)
        model.cluster_stream()
        return vars(model)[self._name]


def list_unset_attributes(model: object) -> set[str]:
    """Return the names of fitted attributes that an estimator declares and does not have yet."""
    declared = {
        name
        for kind in type(model).__mro__
        for name, value in vars(kind).items()
        if isinstance(value, FittedAttribute)
    }
    return declared - vars(model).keys()


@dataclass(frozen=True)
class FittedModel:
    """What a `ProjectedKMeans` is after a fit; predictions, exports, files and displays take it."""

    # scikit-learn compares the columns of new rows with the estimator, and names it in errors.
    estimator: BaseEstimator
    centers: NDArray[Any]  # means of the clusters, in the type of the rows: float32 or float64
    settings: Settings
    key: int
    n_components: int
    projection_name: str | None  # the class of the map; None if nothing was projected
    inertia: float
    normalized_inertia: float
    explained: float | None  # the share of the variance; None for models that do not say it
    n_iter: int
    certificate: Certificate | None
    labels: Any  # of the training rows; None for a stream and for most loaded models
    feature_names: tuple[str, ...] | None  # if the training rows had any
    # Columns of files that hold the features: ``feature_names``, or the name of a column of
    # vectors; None if unknown. And those that the command ``fit`` was told to leave out.
    data_columns: tuple[str, ...] | None
    left_out_columns: tuple[str, ...]
    seconds: Mapping[str, float] | None  # of each step; None for a loaded model

    @property
    def spherical(self) -> bool:
        """Whether rows count by their direction."""
        return self.settings.metric == "cosine"

    @property
    def skips_holes(self) -> bool:
        """Whether rows with holes (NaN) get the label -1 instead of an error."""
        return self.settings.on_missing == "skip"

    @property
    def n_threads(self) -> int:
        """Number of threads; 0 takes as many as OpenMP allows."""
        check_threads(self.settings.n_threads)  # may have been set after the fit
        return self.settings.n_threads or 0

    @property
    def float64_centers(self) -> Floats:
        """The centers in float64, as passes over rows take them."""
        return self.centers.astype(np.float64, copy=False)


def show_html(estimator: BaseEstimator, model: FittedModel | None) -> str:
    """Return an estimator as HTML: results and folded parameters, or scikit-learn's diagram.

    ``model`` is None before the first fit, and for a stream that is not clustered yet, because a
    display must not run a clustering.
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

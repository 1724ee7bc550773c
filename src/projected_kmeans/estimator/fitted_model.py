"""A fitted model as one frozen value, which predictions, exports, files and displays take.

Holds what a fit found and the settings that it was made with; it computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.checks import check_threads
from projected_kmeans.results import Floats
from projected_kmeans.search.settings import Settings


@dataclass(frozen=True)
class FittedModel:
    """What a `ProjectedKMeans` is after a fit.

    Attributes
    ----------
    estimator : BaseEstimator
        The estimator itself. scikit-learn compares the columns of new rows with it, and names it in
        errors. Everything else is read from the fields below.
    centers : ndarray (k, d)
        Means of the clusters, in the type of the rows: float32 or float64.
    settings : Settings
        The parameters of the estimator.
    key : int
        The integer that all randomness of the fit was derived from.
    n_components : int
        Dimensions of the sketch.
    projection_name : str or None
        Class of the map; None if nothing was projected.
    inertia, normalized_inertia : float
        In the original space.
    explained : float or None
        The share of the variance that clusters explain; None for models that do not say it.
    n_iter : int
        Passes of the solver.
    certificate : Certificate or None
        What was proven.
    labels : ndarray or Dask array (n,), or None
        Labels of the training rows; None for a stream and for a loaded model.
    feature_names : tuple of str or None
        Names of the columns, if the training rows had any.
    data_columns : tuple of str or None
        Names of the columns of files that hold the features: ``feature_names``, or the name of a
        column of vectors; None if unknown.
    left_out_columns : tuple of str
        Names of other columns of the file, which the command ``fit`` was told to leave out.
    seconds : mapping or None
        Seconds of each step; None for a loaded model.
    """

    estimator: BaseEstimator
    centers: NDArray[Any]
    settings: Settings
    key: int
    n_components: int
    projection_name: str | None
    inertia: float
    normalized_inertia: float
    explained: float | None
    n_iter: int
    certificate: Certificate | None
    labels: Any
    feature_names: tuple[str, ...] | None
    data_columns: tuple[str, ...] | None
    left_out_columns: tuple[str, ...]
    seconds: Mapping[str, float] | None

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

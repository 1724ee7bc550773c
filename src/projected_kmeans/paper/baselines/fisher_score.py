"""Baseline: select the columns that tell known classes apart, by the Fisher score.

It needs the classes of the rows, so that Table 2 does not hold it. The paper names it among the
popular methods that come without a bound.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin, f_classif
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from projected_kmeans.checks import check_count
from projected_kmeans.paper.baselines.column_ranking import keep_best
from projected_kmeans.results import Floats


def score_classes(rows: Floats, classes: NDArray[np.generic]) -> Floats:
    """Return the Fisher score of every column: variance between classes over that within.

    With n_c rows of class c it is sum n_c (mean_c - mean)^2 / sum n_c variance_c. scikit-learn's
    `f_classif` is this times (n - C) / (C - 1) for C classes. Columns are centred first, because
    it subtracts squares and would lose digits.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        The data.
    classes : ndarray (n,)
        The class of every row.

    Returns
    -------
    ndarray (d,)
        Zero for constant columns; infinity for columns that vary between classes only.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [2.0, 2.0], [4.0, 1.0], [6.0, 2.0]])
    >>> score_classes(rows, np.array([0, 0, 1, 1]))
    array([4., 0.])
    """
    n_classes = len(np.unique(classes))
    scores = np.zeros(rows.shape[1])
    varying = np.ptp(rows, axis=0) > 0
    if not varying.any():
        return scores
    centred = rows[:, varying] - rows[:, varying].mean(axis=0)
    with np.errstate(divide="ignore"):
        ratio = f_classif(centred, classes)[0]
    scores[varying] = ratio * ((n_classes - 1) / max(1, len(rows) - n_classes))
    return scores


class FisherScore(SelectorMixin, BaseEstimator):
    """Keep the columns with the best Fisher score, unscaled and in their order.

    Parameters
    ----------
    n_features_to_select : int, default=10
        t, the number of columns to keep.

    Attributes
    ----------
    scores_ : ndarray (d,)
        The Fisher score of every column.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.paper import FisherScore
    >>> X = np.array([[0.0, 1.0], [2.0, 2.0], [4.0, 1.0], [6.0, 2.0]])
    >>> FisherScore(1).fit_transform(X, [0, 0, 1, 1]).ravel()
    array([0., 2., 4., 6.])
    """

    def __init__(self, n_features_to_select: int = 10) -> None:
        self.n_features_to_select = n_features_to_select

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Score the columns of X.

        Parameters
        ----------
        X : array-like (n, d)
            Rows of at least two classes.
        y : array-like (n,)
            The class of every row.

        Returns
        -------
        FisherScore
            The fitted estimator.
        """
        check_count("n_features_to_select", self.n_features_to_select)
        rows, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        n_classes = len(np.unique(classes))
        if n_classes < 2:
            raise ValueError("y holds one class; give rows of at least two")
        if n_classes == len(rows):
            raise ValueError(
                f"y gives each of n_samples={len(rows)} rows a class of its own; "
                "use classes of several rows"
            )
        self.scores_ = score_classes(rows, classes)
        keep_best(self.scores_, self.n_features_to_select)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return keep_best(self.scores_, self.n_features_to_select)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

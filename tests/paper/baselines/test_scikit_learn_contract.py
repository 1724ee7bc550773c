"""The paper's baselines keep the contract of scikit-learn's estimators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from projected_kmeans.paper import (
    FisherScore,
    FolkloreProjection,
    LaplacianScore,
    LocallyLinearFeatures,
    SVDFeatures,
)


@parametrize_with_checks(
    [
        SVDFeatures(1),
        SVDFeatures(2, scaled=False),
        SVDFeatures(1, algorithm="randomized", random_state=0),
        FolkloreProjection(random_state=0),
        LaplacianScore(1),
        LaplacianScore(1, graph="2007"),
        FisherScore(1),
        LocallyLinearFeatures(1, n_neighbors=5),
    ]
)
def test_scikit_learn_contract(estimator: BaseEstimator, check: Callable[..., Any]) -> None:
    """Every baseline passes scikit-learn's own checks, without exception."""
    check(estimator)

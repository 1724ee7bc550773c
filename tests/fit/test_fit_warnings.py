"""Warnings of a fit point at the line of the caller."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans import ProjectedKMeans, random_projection_kmeans

EQUAL = np.ones((12, 5))
WIDE = np.random.default_rng(0).normal(size=(12, 5))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ProjectedKMeans(3, random_state=0).fit(EQUAL),
        lambda: ProjectedKMeans(3, random_state=0).fit_predict(EQUAL),
        lambda: random_projection_kmeans(WIDE, 3, 0.3, random_state=0),
    ],
    ids=["fit", "fit_predict", "algorithm 1"],
)
def test_a_warning_names_the_file_of_the_caller(call: Callable[[], Any]) -> None:
    """However deep in the package a warning is made, it points at the code that called it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert found
    assert {warning.filename for warning in found} == {__file__}


def test_equal_rows_are_told() -> None:
    """Fewer distinct rows than clusters are a warning in scikit-learn's words."""
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found smaller than"):
        ProjectedKMeans(3, random_state=0).fit(EQUAL)

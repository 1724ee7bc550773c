"""Warnings of a fit point at the line of the caller."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans import ProjectedKMeans, random_projection_kmeans
from projected_kmeans.estimator.fit_warnings import warn_of_client
from projected_kmeans.search.settings import Settings, Sizes

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


@pytest.mark.parametrize(
    ("options", "n_rows", "weighted", "told"),
    [
        ({}, 2 * 10**8, False, None),
        ({"init": np.zeros((50, 300))}, 10**8, False, None),
        ({"init": np.zeros((50, 300))}, 2 * 10**8, False, "solver='lloyd' on all rows keeps"),
        ({"trim": 0.1}, 2 * 10**8, True, "sample_weight and trim keeps up to 60 bytes"),
        ({"max_cluster_size": "equal"}, 2 * 10**8, False, "on all rows"),
    ],
)
def test_what_the_client_of_a_cluster_keeps_is_told(
    options: dict[str, Any], n_rows: int, weighted: bool, told: str | None
) -> None:
    """Beyond 10^8 rows, what keeps something of each row at the client is a warning."""
    settings, sizes = Settings(50, **options), Sizes(n_rows, 300, 50, 4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        rows = SimpleNamespace(shape=(n_rows, 300), keeps_new_rows=True)
        warn_of_client(cast(Any, rows), settings, sizes, np.ones(2) if weighted else None)
        rows.keeps_new_rows = False
        warn_of_client(cast(Any, rows), settings, sizes, np.ones(2))
    assert [told in str(one.message) for one in found] == ([] if told is None else [True])


def test_equal_rows_are_told() -> None:
    """Fewer distinct rows than clusters are a warning in scikit-learn's words."""
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\) found smaller than"):
        ProjectedKMeans(3, random_state=0).fit(EQUAL)

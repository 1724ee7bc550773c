"""A fitted model and its report, shared by the tests of all modules of reports."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.values import Report


@pytest.fixture(scope="session")
def wide() -> NDArray[np.float64]:
    """Return 300 rows of 200 columns in five clear clusters."""
    stream = np.random.default_rng(7)
    return stream.normal(size=(300, 200)) + 4 * stream.normal(size=(5, 200))[np.arange(300) % 5]


@pytest.fixture(scope="session")
def fitted(wide: NDArray[np.float64]) -> ProjectedKMeans:
    """Return a model of these rows, fitted on a sketch."""
    return ProjectedKMeans(5, projection="sign", n_components=20, random_state=3).fit(wide)


@pytest.fixture(scope="session")
def report(fitted: ProjectedKMeans, wide: NDArray[np.float64]) -> Report:
    """Return the report of this model."""
    return describe_report(fitted, wide, name="wide")

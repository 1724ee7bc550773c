"""A bound about means becomes one about centers of length one, still below the optimum."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from projected_kmeans import LowerBound, ProjectedKMeans, certify, kmeans_lower_bound
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.certificates.unit_centers import to_unit_centers
from tests.support.optima import partitions


def best_about_unit_centers(X: NDArray[Any], k: int, weights: NDArray[Any]) -> Decimal:
    """Return the minimum inertia about centers of length one, by trying all partitions.

    A cluster whose rows sum up to zero has the center 0, as in a fit.
    """
    with localcontext(prec=60):
        rows = [[Decimal(float(x)) for x in row] for row in X]
        shares = [Decimal(float(w)) for w in weights]
        fixed = sum(w * sum(x * x for x in row) for w, row in zip(shares, rows, strict=True))
        lowest = Decimal("Infinity")
        for labels in partitions(len(X), k):
            gained = Decimal(0)
            for label in set(labels):
                members = [i for i, one in enumerate(labels) if one == label]
                sums = [sum(shares[i] * rows[i][j] for i in members) for j in range(X.shape[1])]
                length = sum(one * one for one in sums).sqrt()
                mass = sum(shares[i] for i in members)
                gained += 2 * length - mass if length else 0
            lowest = min(lowest, fixed - gained)
        return lowest


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_about_unit_centers(seed: int) -> None:
    """The bound is at most the minimum over all partitions, with weights, zeros and CSR."""
    stream = np.random.default_rng(seed)
    X = stream.normal(size=(6, 3)) + stream.choice([0, 3])
    if seed % 5 == 0:
        X[2] = 0
    if seed % 5 == 1:
        X[:3] = 0
    if seed % 5 == 2:
        X[3:] = -X[:3]
    X = np.asarray(to_unit_rows(X.astype(np.float32 if seed % 2 else np.float64)))
    weights = None if seed % 3 else stream.uniform(0.1, 5, 6) * 10.0 ** stream.choice([-200, 0, 90])
    given = csr_array(X) if seed % 4 == 1 else X
    about_means = kmeans_lower_bound(given, 2, sample_weight=weights, method="full")
    found = to_unit_centers(about_means, given, weights)
    best = best_about_unit_centers(X, 2, np.ones(6) if weights is None else weights)
    assert about_means.value <= found.value
    assert Decimal(found.value) <= best
    assert found.value == max(found.values.values())
    assert [seconds for seconds, _ in found.trace] == [seconds for seconds, _ in about_means.trace]
    assert found.trace[-1][1] == found.value


def test_nothing_is_lost_for_equal_clusters() -> None:
    """Two clusters as dense as each other are proven optimal about unit centers, too."""
    turn = np.array([-0.2, 0.2, 1.0, 1.4])
    X = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    model = ProjectedKMeans(2, metric="cosine", projection=None, certificate="full", random_state=0)
    model.fit(np.repeat(X, 3, axis=0))
    assert model.certificate_.ratio < 1 + 1e-6
    # About means the inertia is lower, so that the bound alone would prove less.
    about_means = certify(np.repeat(X, 3, axis=0), model.labels_, method="full")
    assert model.inertia_ > 1.005 * about_means.inertia


def test_rows_that_cancel_out_keep_the_bound_about_means() -> None:
    """Opposite rows sum up to zero, so that their cluster costs what it costs about its mean."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    bound = LowerBound(2.0, "spectral", True, 1.0, 0.0, {"spectral": 2.0})
    assert to_unit_centers(bound, X).value == 2.0
    assert to_unit_centers(bound, np.abs(X)).value > 2.0


def test_a_bound_of_zero_stays() -> None:
    """Nothing about means proves nothing about unit centers."""
    nothing = LowerBound(0.0, "none", True, 1.0, 0.0)
    assert to_unit_centers(nothing, np.eye(3)).value == 0.0

"""All maps by name: Lemma 1 of the paper, and their place in the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import (
    GaussianProjection,
    HadamardProjection,
    ProjectedKMeans,
    SignProjection,
    SparseSignProjection,
    clustering_accuracy,
)
from projected_kmeans.projections.named_maps import MAPS
from tests.support.blobs import draw_blobs

RANDOM_MAPS = (SignProjection, SparseSignProjection, HadamardProjection, GaussianProjection)
KEYS = range(400)


def matrix_of(kind: Any, key: int, d: int, t: int, **extra: Any) -> NDArray[np.float64]:
    """Return R in full, as the map of the unit vectors."""
    R: NDArray[np.float64] = kind(t, random_state=key, **extra).fit_transform(np.eye(d))
    return R


@pytest.mark.parametrize("kind", RANDOM_MAPS)
def test_lemma_one_part_one(kind: Any) -> None:
    """The singular values of V_k^T R lie within 1 +- eps if t is large enough for the map."""
    # k = 4, t = 400, d = 512: deviations are about sqrt(k / t) = 0.1 at one standard deviation of
    # the largest; eps = 0.35 is beyond 5 of them (less than 1e-5 over the 20 keys together).
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(512, 4)))[0]
    for key in range(20):
        values = np.linalg.svd(V.T @ matrix_of(kind, key, 512, 400), compute_uv=False)
        assert np.abs(1 - values).max() <= 0.35


@pytest.mark.parametrize("kind", RANDOM_MAPS)
def test_lemma_one_part_two(kind: Any) -> None:
    """E ||S T - S R R^T T||_F^2 is at most (2/t) ||S||_F^2 ||T||_F^2."""
    # The bound is met with equality only if S and T are parallel; here the mean is about half of
    # it, and 400 keys put it beyond the bound with probability below 1e-9.
    stream = np.random.default_rng(1)
    S, T = stream.normal(size=(5, 64)), stream.normal(size=(64, 3))
    errors = []
    for key in KEYS:
        R = matrix_of(kind, key, 64, 16)
        errors.append(np.sum((S @ T - S @ R @ R.T @ T) ** 2))
    assert np.mean(errors) <= 2 / 16 * np.sum(S**2) * np.sum(T**2)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [*((kind, {}) for kind in RANDOM_MAPS), (SparseSignProjection, {"n_nonzeros": 1})],
)
def test_lemma_one_part_three(kind: Any, extra: dict[str, int]) -> None:
    """||C R||_F^2 has mean ||C||_F^2 and a variance of at most 2 ||C||_F^4 / t."""
    # The mean of 400 keys lies within 5 of its deviations (fails for 6e-7 of key ranges); a sample
    # variance of 400 exceeds the true one by 40 % with probability below 1e-6.
    C = np.random.default_rng(2).normal(size=(3, 64))
    total, t = np.sum(C**2), 16
    sizes = [np.sum((C @ matrix_of(kind, key, 64, t, **extra)) ** 2) for key in KEYS]
    deviation = np.sqrt(2 / t) * total
    assert abs(np.mean(sizes) - total) <= 5 * deviation / np.sqrt(len(KEYS))
    assert np.var(sizes) <= 1.4 * deviation**2


@pytest.mark.parametrize("name", MAPS)
def test_the_estimator_takes_every_map_by_name(name: str) -> None:
    """Well separated clusters are found through each of the maps."""
    X, truth = draw_blobs(gap=3.0)
    model = ProjectedKMeans(5, projection=name, n_components=20, random_state=0, polish_iter=0)
    assert clustering_accuracy(truth, model.fit(X).labels_) == 1
    assert type(model.projection_) is MAPS[name]

"""The quantities of Theorem 1 and its lemmas equal their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from projected_kmeans.keys import draw_signs, open_stream
from projected_kmeans.paper.baselines.svd_features import decompose_exactly
from projected_kmeans.paper.experiments.theorem import measure_lemmas


@pytest.mark.parametrize("n_different", [15, 2])
def test_quantities_are_those_of_the_lemmas(n_different: int) -> None:
    """Measured in the basis of singular vectors, all six equal their definitions in the paper.

    With two different columns in R, V_k^T R has rank 2, and its pseudo-inverse is no inverse.
    """
    A = open_stream(3, 9).normal(size=(12, 40)) * np.geomspace(5, 0.5, 40)
    k, t = 3, 15
    R = draw_signs(11, (40, t))[:, np.arange(t) % n_different] / math.sqrt(t)
    basis = decompose_exactly(A, 12)
    found = measure_lemmas(basis.right @ R, basis.values, k)
    V = basis.right[:k].T
    top = (basis.left[:, :k] * basis.values[:k]) @ V.T
    rest = A - top
    norm = np.linalg.norm(rest)
    sigma = np.linalg.svd(V.T @ R, compute_uv=False)
    inverse = np.linalg.pinv(V.T @ R)
    error = top - A @ R @ inverse @ V.T
    assert found == {
        "deviation": pytest.approx(np.max(np.abs(1 - sigma))),
        "inverse_gap": pytest.approx(np.linalg.norm(inverse - (V.T @ R).T, 2)),
        "tail": pytest.approx(np.linalg.norm(rest @ R) / norm),
        "whole": pytest.approx(np.linalg.norm(A @ R) / np.linalg.norm(A)),
        "cross": pytest.approx(np.linalg.norm(rest @ R @ R.T @ V) / norm),
        "error": pytest.approx(np.linalg.norm(error) / norm),
    }

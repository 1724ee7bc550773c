"""The quantities of Theorem 1 and its lemmas equal their definitions; failures are judged."""

from __future__ import annotations

import math

import numpy as np
import pytest

from projected_kmeans.keys import draw_signs, open_stream
from projected_kmeans.paper.baselines import decompose_exactly
from projected_kmeans.paper.experiments.theorem import (
    INEQUALITIES,
    count_failures,
    judge_lemmas,
    judge_theorem,
    measure_lemmas,
)


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


def test_intervals_are_clopper_pearson() -> None:
    """No failure in n draws leaves room for 1 - (0.025)^(1/n), and all failures for its mirror."""
    none, every = count_failures(0, 50), count_failures(50, 50)
    assert none["high"] == pytest.approx(1 - 0.025 ** (1 / 50))
    assert every["low"] == pytest.approx(1 - none["high"])


def test_constants_are_the_least_that_suffice() -> None:
    """The sufficient t/k is the least from which on failures stay within what is allowed."""
    draws = []
    for ratio, size in ((2, 9.0), (5, 0.0), (12, 9.0), (25, 0.0), (50, 0.0)):
        values = {one.quantity: np.full(100, size) for one in INEQUALITIES}
        draws.append({"case": "made up", "k": 4, "ratio": ratio, "values": values})
    judged = judge_lemmas(draws)
    for one in judged["constants"]:
        assert one["ratio"] == 25
        assert one["c"] == pytest.approx(25 * one["eps"] ** 2)
        assert one["verdict"] == "holds"


def test_an_inequality_that_never_holds_is_said_so() -> None:
    """Where even the largest t fails too often, no constant is named."""
    values = {one.quantity: np.full(100, 9.0) for one in INEQUALITIES}
    judged = judge_lemmas([{"case": "made up", "k": 4, "ratio": 50, "values": values}])
    assert {one["verdict"] for one in judged["constants"]} == {"not reached"}
    assert {one["c"] for one in judged["constants"]} == {None}


def test_the_theorem_is_judged_with_the_measured_gamma() -> None:
    """A ratio beyond 1 + (1 + eps) gamma is a failure, and gamma is that of its own run."""
    instances = [
        {"t": 5, "exact_ratio": 2.2, "lloyd_ratio": 3.0, "lloyd_gamma": 2.0},
        {"t": 5, "exact_ratio": 2.4, "lloyd_ratio": 3.0, "lloyd_gamma": 1.0},
    ]
    exact, lloyd = judge_theorem(instances)
    assert (exact["n_failures"], lloyd["n_failures"]) == (1, 1)
    assert exact["worst_ratio"] == 2.4

"""Failures of the theorem and its lemmas are counted and judged."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.paper.experiments.theorem_statements import (
    INEQUALITIES,
    count_failures,
    judge_lemmas,
    judge_theorem,
)


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

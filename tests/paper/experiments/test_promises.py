"""Promises of Theorem 1 and its successors are kept or broken by draws, and judged."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from projected_kmeans.paper.experiments.promises import (
    PROMISES,
    Setting,
    count_beyond,
    find_eps,
    judge_promises,
)
from projected_kmeans.projections.target_dimension import RULES


def make_setting(ratios: Any, **changes: Any) -> Setting:
    """Return draws with these ratios, known exactly, at t = 50 with k = 2 (eps = 0.2)."""
    values = np.array(ratios, dtype=float)
    fields = {"ratio_low": values, "ratio_high": values, "gamma": np.ones(len(values))}
    return Setting("made up", "exact", 2, 50, **(fields | changes))


def test_eps_is_the_inverse_of_the_rule() -> None:
    """The rule asks for t dimensions at the eps that is found for t."""
    rules = {promise.rule for promise in PROMISES}
    for rule, k, t in product(rules, (2, 3, 40), (2, 5, 300)):
        eps = find_eps(rule, k, t)
        assert RULES[rule].formula(k, eps) == pytest.approx(t, rel=1e-6)


def test_a_draw_is_measured_against_its_own_gamma() -> None:
    """1 + 1.2 gamma is 2.2 for gamma = 1 and 3.4 for gamma = 2."""
    theorem = PROMISES[0]
    counted = count_beyond(theorem, make_setting([2.3, 2.1]))
    assert counted is not None
    assert (counted["eps"], counted["beyond"]) == (0.2, 1)
    forgiving = count_beyond(theorem, make_setting([2.3, 3.5], gamma=np.array([2.0, 2.0])))
    assert forgiving is not None
    assert forgiving["beyond"] == 1


def test_no_promise_is_made_for_a_large_eps() -> None:
    """With t = 5 and k = 2 eps is 0.63: beyond 1/3, where Theorem 1 says nothing."""
    few = Setting("made up", "exact", 2, 5, np.ones(1), np.ones(1), np.ones(1))
    assert count_beyond(PROMISES[0], few) is None
    assert count_beyond(PROMISES[1], few) is not None


def test_verdicts() -> None:
    """Draws beyond the bound break a promise if 3 % does not explain them, surely or perhaps."""
    cases = {
        "holds": make_setting([1.0] * 95 + [9.0] * 5),
        "does not hold": make_setting([1.0] * 88 + [9.0] * 12),
        "undecided": make_setting([1.0] * 100, ratio_high=np.full(100, 9.0)),
    }
    for verdict, setting in cases.items():
        judged = judge_promises([setting])
        assert judged[0]["verdict"] == verdict
        assert judged[0]["n_draws"] == 100


def test_the_level_is_that_of_all_settings_together() -> None:
    """A binomial tail of 0.7 % breaks a promise alone, but not among fifty settings."""
    tail = 1 - sum(math.comb(20, i) * 0.03**i * 0.97 ** (20 - i) for i in range(3))
    assert 0.05 / 50 < tail < 0.05
    rare = make_setting([1.0] * 17 + [9.0] * 3)
    assert judge_promises([rare])[0]["verdict"] == "does not hold"
    assert judge_promises([rare, *[make_setting([1.0])] * 49])[0]["verdict"] == "holds"


def test_one_bad_setting_breaks_a_promise() -> None:
    """Good draws on one data set do not hide bad ones on another."""
    bad = Setting("bad", "exact", 2, 50, np.full(5, 9.0), np.full(5, 9.0), np.ones(5))
    judged = judge_promises([make_setting([1.0] * 1000), bad])[0]
    assert judged["verdict"] == "does not hold"
    assert judged["failing"] == [{"data": "bad", "t": 50}]
    assert [one["beyond"] for one in judged["where_beyond"]] == [5]

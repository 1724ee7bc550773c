"""Theorem 1 on real data: ratios to the proven optimum, promises, and constants of the lemmas."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.data_sets import DataSet
from projected_kmeans.paper.experiment import run_experiment
from projected_kmeans.paper.experiments.optimum import (
    DEFAULT,
    FULL,
    PROMISES,
    PROVED,
    Setting,
    Sizes,
    count_beyond,
    find_constants,
    find_eps,
    is_too_often,
    judge_promises,
    list_dimensions,
    plan_optimum,
    sum_up_constants,
)
from projected_kmeans.paper.experiments.theorem import INEQUALITIES
from projected_kmeans.passes.scoring import inertia
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.projections.target_dimension import RULES

TINY = Sizes(("iris",), (2, 5), n_draws=2, n_kss04_draws=1, n_lemma_draws=5)


@pytest.mark.parametrize(
    ("n_columns", "dimensions"),
    [(4, [2, 4]), (30, [5, 10, 20, 30]), (300, [5, 10, 20, 50, 100, 200, 300]), (301, None)],
)
def test_sketches_have_at_most_d_columns(n_columns: int, dimensions: list[int] | None) -> None:
    """A sketch has at most d columns, and t = d itself is tried where it is at most 300."""
    data = DataSet("made up", np.zeros((3, n_columns)), 2)
    found = list_dimensions(data, FULL)
    assert found == (dimensions or [5, 10, 20, 50, 100, 200, 300])


def test_ratios_and_gammas_on_iris(tmp_path: Path) -> None:
    """No ratio and no gamma is below 1, and the proof's own gamma is 1 on the first sketch."""
    document = run_experiment(plan_optimum(None, sizes=TINY), tmp_path)
    results = document["results"]
    settings = {(one["solver"], one["t"]): one for one in results["settings"]}
    assert {t for _, t in settings} == {2, 4}
    for one in settings.values():
        assert one["ratio_low"] >= 1 - 1e-9
        assert one["median_gamma"] >= 1
        assert one["worst_gamma"] >= one["median_gamma"]
    assert settings[PROVED, 4]["worst_gamma"] == pytest.approx(1, abs=1e-6)
    assert settings["KSS04", 4]["n_draws"] == 1
    assert {one["verdict"] for one in results["lemmas"]} <= {
        "holds",
        "holds in part",
        "not reached",
        "does not hold",
    }


def test_a_ratio_is_that_of_a_fit_by_hand(tmp_path: Path) -> None:
    """With one draw, the default's ratio is its inertia in A over the proven lower bound."""
    sizes = Sizes(("iris",), (2,), n_draws=1, n_kss04_draws=0, n_lemma_draws=5)
    results = run_experiment(plan_optimum(None, key=3, sizes=sizes), tmp_path)["results"]
    rows = load_iris().data
    sketch = SignProjection(2, random_state=3).fit_transform(rows)
    labels = ProjectedKMeans(3, projection=None, random_state=3).fit(sketch).labels_
    wanted = inertia(rows, labels) / results["instances"][0]["lower_bound"]
    found = next(one for one in results["settings"] if one["solver"] == DEFAULT)
    assert found["worst_ratio"] == pytest.approx(wanted, rel=1e-12)


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


def test_verdicts_on_promises() -> None:
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


def test_failures_that_chance_explains() -> None:
    """One failure of 20 is likely with 3 % each, five are not."""
    assert not is_too_often(1, 20, 0.01)
    assert is_too_often(5, 20, 0.01)


def make_draw(case: str, eps: float, ratio: float) -> dict[str, Any]:
    """Return draws in which every inequality is met with equality at this eps."""
    values = {one.quantity: np.full(50, one.bound(eps)) for one in INEQUALITIES}
    return {"case": case, "k": 4, "ratio": ratio, "values": values}


def test_constants_invert_the_bounds() -> None:
    """Where a quantity equals its bound at eps, c is t eps^2 / k."""
    for one in find_constants([make_draw("made up", 0.2, 25.0)]):
        assert one["eps"] == pytest.approx(0.2)
        assert one["c"] == pytest.approx(1.0)


def test_the_allowed_share_may_fail() -> None:
    """One draw in a hundred may be beyond the bound, two may not."""
    for n_bad, eps in ((1, 0.1), (2, 0.3)):
        draw = make_draw("made up", 0.1, 25.0)
        values = np.full(100, 0.1)
        values[:n_bad] = 0.3
        draw["values"]["deviation"] = values
        assert find_constants([draw])[0]["eps"] == pytest.approx(eps)


@pytest.mark.parametrize(
    ("draws", "verdict"),
    [
        ([make_draw("one", 0.1, 25.0), make_draw("two", 0.2, 25.0)], "holds"),
        ([make_draw("one", 0.1, 25.0), make_draw("two", 0.5, 5.0)], "holds in part"),
        ([make_draw("one", 0.5, 25.0)], "not reached"),
        ([make_draw("one", 0.3, 90_000.0)], "does not hold"),
    ],
)
def test_verdicts_on_lemmas(draws: list[dict[str, Any]], verdict: str) -> None:
    """A lemma holds if every data set reaches eps < 1/3 with a c of at most 800."""
    assert {one["verdict"] for one in sum_up_constants(find_constants(draws))} == {verdict}

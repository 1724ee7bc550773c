"""The constant that a lemma needs follows from its measured quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans.paper.experiments.lemma_constants import find_constants, sum_up_constants
from projected_kmeans.paper.experiments.theorem_statements import INEQUALITIES


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
def test_verdicts(draws: list[dict[str, Any]], verdict: str) -> None:
    """A lemma holds if every data set reaches eps < 1/3 with a c of at most 800."""
    assert {one["verdict"] for one in sum_up_constants(find_constants(draws))} == {verdict}

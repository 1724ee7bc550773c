"""Statements about reductions are judged from the measured points."""

from __future__ import annotations

from typing import Any

from projected_kmeans.paper.experiments.beyond_statements import STATEMENTS, judge_data_set


def make_point(
    method: str, t: int, F: float, P: float = 0.5, seconds: float = 1.0
) -> dict[str, Any]:
    """Return the point of a method."""
    return {
        "method": method,
        "t": t,
        "F": F,
        "P": P,
        "reduce_seconds": seconds,
        "cluster_seconds": 1.0,
    }


def judge(*changed: dict[str, Any]) -> dict[str, bool | None]:
    """Return the verdicts on points for which all statements hold, some of them replaced."""
    points = [
        make_point("RP", 10, 0.4, 0.3, 0.1),
        make_point("RP", 20, 0.3, 0.6, 0.1),
        make_point("SVD", 10, 0.38, 0.4),
        make_point("SVD", 20, 0.39, 0.5),
        make_point("SVD with Sigma", 10, 0.35),
        make_point("SVD with Sigma", 20, 0.29),
        make_point("LS", 10, 0.6),
        make_point("LS", 20, 0.5),
        make_point("LLE", 10, 0.6, 0.9),
        make_point("LLE", 20, 0.6, 0.8),
        make_point("HD", 99, 0.28, seconds=9.0),
        make_point("default", 64, 0.27),
    ]
    known = {(one["method"], one["t"]): one for one in points}
    known.update({(one["method"], one["t"]): one for one in changed})
    judged = judge_data_set(list(known.values()), (10, 20), 0.48)
    return {one["name"]: one["holds"] for one in judged}


def test_each_statement_can_hold() -> None:
    """The points are made so that every statement holds: RP reaches exactly 90 % of HD's fall."""
    assert judge() == dict.fromkeys(STATEMENTS, True)


def test_each_statement_can_fail() -> None:
    """One changed point breaks the statement that it concerns."""
    broken = {
        "fastest": make_point("SVD", 20, 0.39, 0.5, 0.05),
        "fall": make_point("RP", 10, 0.3, 0.3, 0.1),
        "near": make_point("RP", 20, 0.31, 0.6, 0.1),
        "few": make_point("RP", 10, 0.4, 0.41, 0.1),
        "many": make_point("RP", 20, 0.3, 0.49, 0.1),
        "saving": make_point("HD", 99, 0.28, seconds=0.0),
        "scale": make_point("SVD", 10, 0.34, 0.4),
        "sigma": make_point("SVD with Sigma", 20, 0.30),
        "scores": make_point("LS", 20, 0.29),
        "embedding": make_point("default", 64, 0.27, 0.95),
        "default": make_point("HD", 99, 0.26, seconds=9.0),
    }
    assert set(broken) == set(STATEMENTS)
    for name, point in broken.items():
        assert judge(point)[name] is False, name


def test_left_out_methods_have_no_verdict() -> None:
    """Where LS and LLE were not run, their statements are left open and the others judged."""
    names = ("RP", "SVD", "SVD with Sigma")
    points = [make_point(name, t, 0.5 - t / 100) for name in names for t in (10, 20)]
    points += [make_point("HD", 99, 0.2), make_point("default", 64, 0.1)]
    judged = {one["name"]: one["holds"] for one in judge_data_set(points, (10, 20), 0.6)}
    assert {name for name, holds in judged.items() if holds is None} == {"scores", "embedding"}

"""What the paper found on the faces, and what later users expect, judged on any data set.

Each statement has a rule that decides; `beyond` measures the points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

Point = Mapping[str, Any]

# RP counts as near HD if it lowers F~ by at least this share of what HD does.
NEAR = 0.9


class Verdict(NamedTuple):
    """What was measured, in words, and whether the statement holds."""

    measured: str
    holds: bool


class Points:
    """The measured points of one data set, by method and t, and F~ of all rows as one cluster."""

    def __init__(
        self, points: Sequence[Point], dimensions: Sequence[int], one_cluster: float
    ) -> None:
        self.one_cluster = one_cluster
        self.dimensions = tuple(dimensions)
        self._points = points

    def has(self, method: str) -> bool:
        """Return whether a method was run."""
        return any(one["method"] == method for one in self._points)

    def get(self, method: str, name: str, t: int | None = None) -> float:
        """Return a value of a method; t is not needed for methods that have one point only."""
        return next(
            float(one[name])
            for one in self._points
            if one["method"] == method and t in (None, one["t"])
        )

    def curve(self, method: str, name: str) -> list[float]:
        """Return the values of a method by t."""
        return [self.get(method, name, t) for t in self.dimensions]

    def best(self, name: str, *, largest: bool) -> Point:
        """Return the point with the best mean of all methods."""
        return (max if largest else min)(self._points, key=lambda one: one[name])


def _seconds(points: Points, method: str, t: int | None) -> float:
    return points.get(method, "reduce_seconds", t) + points.get(method, "cluster_seconds", t)


def _judge_fastest(points: Points) -> Verdict:
    t = points.dimensions[len(points.dimensions) // 2]
    others = [method for method in ("SVD", "LLE", "LS") if points.has(method)]
    own = points.get("RP", "reduce_seconds", t)
    fastest = min(others, key=lambda method: points.get(method, "reduce_seconds", t))
    rival = points.get(fastest, "reduce_seconds", t)
    return Verdict(
        f"at t = {t}: {own:.3g} s; the next one is {fastest} with {rival:.3g} s, "
        f"{rival / own:.1f} times as long",
        own < rival,
    )


def _judge_fall(points: Points) -> Verdict:
    curve = points.curve("RP", "F")
    falls = all(after < before for before, after in pairwise(curve))
    return Verdict(" > ".join(f"{value:.4f}" for value in curve), falls)


def _judge_near(points: Points) -> Verdict:
    t = points.dimensions[-1]
    own, rival = points.get("RP", "F", t), points.get("HD", "F")
    share = (points.one_cluster - own) / (points.one_cluster - rival)
    return Verdict(
        f"F~ is {points.one_cluster:.4f} with one cluster, {own:.4f} with RP at t = {t} and "
        f"{rival:.4f} with HD: {share:.0%} of the fall",
        share >= NEAR,
    )


def _judge_few(points: Points) -> Verdict:
    t = points.dimensions[0]
    own, rival = points.get("RP", "P", t), points.get("SVD", "P", t)
    return Verdict(f"P at t = {t}: RP {own:.3f}, SVD {rival:.3f}", own < rival)


def _judge_many(points: Points) -> Verdict:
    t = points.dimensions[-1]
    own, rival = points.get("RP", "P", t), points.get("SVD", "P", t)
    return Verdict(f"P at t = {t}: RP {own:.3f}, SVD {rival:.3f}", own > rival)


def _judge_saving(points: Points) -> Verdict:
    t = points.dimensions[-1]
    own, rival = _seconds(points, "RP", t), _seconds(points, "HD", None)
    return Verdict(
        f"{own:.3g} s at t = {t}, {rival:.3g} s in all dimensions: {rival / own:.1f} times as fast",
        own < rival,
    )


def _judge_lower(method: str, rival: str, points: Points) -> Verdict:
    """Judge whether F~ of a method is below that of a rival at every t."""
    pairs = list(zip(points.curve(method, "F"), points.curve(rival, "F"), strict=True))
    return Verdict(
        "F~ by t: " + ", ".join(f"{own:.4f} against {other:.4f}" for own, other in pairs),
        all(own < other for own, other in pairs),
    )


def _judge_embedding(points: Points) -> Verdict:
    best = points.best("P", largest=True)
    own = max(points.curve("LLE", "P"))
    return Verdict(
        f"LLE reaches P = {own:.3f}; the highest of all is {best['P']:.3f} ({best['method']}, "
        f"t = {best['t']})",
        bool(best["method"] == "LLE"),
    )


def _judge_default(points: Points) -> Verdict:
    best = points.best("F", largest=False)
    own = points.get("default", "F")
    return Verdict(
        f"F~ {own:.4f}; the lowest of all is {best['F']:.4f} ({best['method']}, t = {best['t']})",
        bool(best["method"] == "default"),
    )


class Statement(NamedTuple):
    """A sentence, the methods that it needs, and the function that decides."""

    sentence: str
    needs: tuple[str, ...]
    judge: Callable[[Points], Verdict]


STATEMENTS: Mapping[str, Statement] = {
    "fastest": Statement("RP is the fastest reduction", (), _judge_fastest),
    "fall": Statement("F~ of RP falls as t grows", (), _judge_fall),
    "near": Statement(
        f"at the largest t, RP lowers F~ by at least {NEAR:.0%} of what HD does", (), _judge_near
    ),
    "few": Statement("at the smallest t, P of RP is below that of SVD", (), _judge_few),
    "many": Statement("at the largest t, P of RP is above that of SVD", (), _judge_many),
    "saving": Statement("RP and k-means take less time than HD", (), _judge_saving),
    "scale": Statement(
        "SVD with Sigma has a lower F~ than SVD at every t",
        (),
        partial(_judge_lower, "SVD with Sigma", "SVD"),
    ),
    "sigma": Statement(
        "SVD with Sigma has a lower F~ than RP at every t",
        (),
        partial(_judge_lower, "SVD with Sigma", "RP"),
    ),
    "scores": Statement(
        "RP has a lower F~ than LS at every t", ("LS",), partial(_judge_lower, "RP", "LS")
    ),
    "embedding": Statement("LLE reaches the highest P of all", ("LLE",), _judge_embedding),
    "default": Statement("the library's default has the lowest F~", (), _judge_default),
}


def judge_data_set(
    points: Sequence[Point], dimensions: Sequence[int], one_cluster: float
) -> list[dict[str, Any]]:
    """Return every statement on one data set; those whose methods were left out have no verdict.

    Parameters
    ----------
    points : sequence of mappings
        Each with "method", "t", "P", "F", "reduce_seconds" and "cluster_seconds".
    dimensions : sequence of int
        The values of t.
    one_cluster : float
        F~ of all rows as one cluster.
    """
    measured = Points(points, dimensions, one_cluster)
    judged: list[dict[str, Any]] = []
    for name, statement in STATEMENTS.items():
        if all(measured.has(method) for method in statement.needs):
            verdict = statement.judge(measured)
            values: dict[str, Any] = {"measured": verdict.measured, "holds": verdict.holds}
        else:
            values = {"measured": "left out", "holds": None}
        judged.append({"name": name, "statement": statement.sentence, **values})
    return judged

"""The constant c of t = c k / eps^2 that Lemmas 1 to 4 need, from measured quantities.

Every inequality bounds a quantity by a function of eps. The quantile of its draws that the lemma
allows to be exceeded gives the smallest eps for which it holds, and so c = t eps^2 / k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from projected_kmeans.paper.experiments.promises import THEOREM_LIMIT
from projected_kmeans.paper.experiments.theorem_statements import INEQUALITIES, Inequality

# The largest constant that the paper's argument names for the lemmas (Markov, Lemma 4).
ARGUED_CONSTANT = 800.0


def find_constants(draws: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return eps and c that suffice, for every inequality, data set and t.

    Parameters
    ----------
    draws : sequence of mappings
        Each with "case", "k", "ratio" (t/k), and "values", which maps a quantity to its draws.

    Examples
    --------
    >>> values = {name: np.full(100, 1.0) for name in ("inverse_gap", "tail", "whole", "error")}
    >>> values |= {"deviation": np.full(100, 0.2), "cross": np.full(100, 0.1)}
    >>> draw = {"case": "iris", "k": 3, "ratio": 25.0, "values": values}
    >>> found = find_constants([draw])[0]
    >>> found["eps"], round(found["c"], 10)
    (0.2, 1.0)
    """
    return [_find_constant(inequality, one) for inequality in INEQUALITIES for one in draws]


def _find_constant(inequality: Inequality, draw: Mapping[str, Any]) -> dict[str, Any]:
    values = np.sort(draw["values"][inequality.quantity])
    # As many draws as the lemma allows may be larger.
    reached = float(values[-1 - math.floor(inequality.failure * len(values))])
    eps = inequality.needed(reached)
    return {
        "statement": inequality.statement,
        "quantity": inequality.quantity,
        "case": draw["case"],
        "k": draw["k"],
        "ratio": draw["ratio"],
        "n_draws": len(values),
        "median": float(np.median(values)),
        "reached": reached,
        "eps": eps,
        "c": draw["ratio"] * eps**2,
    }


def sum_up_constants(constants: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the largest c over all t, by inequality and data set, and the verdict.

    The lemmas are stated for eps below 1/3, so that only the values of t count at which the
    inequality holds for such an eps. An inequality holds if its c is at most that of the argument
    on every data set, and holds in part if no measured t reaches an eps below 1/3 on some of them.

    Parameters
    ----------
    constants : sequence of mappings
        What `find_constants` returns.
    """
    return [
        _sum_up(inequality, [one for one in constants if one["statement"] == inequality.statement])
        for inequality in INEQUALITIES
    ]


def _sum_up(inequality: Inequality, constants: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    largest: dict[str, float | None] = {one["case"]: None for one in constants}
    for one in constants:
        if one["eps"] < THEOREM_LIMIT:
            largest[one["case"]] = max(one["c"], largest[one["case"]] or 0.0)
    reached = [c for c in largest.values() if c is not None]
    if not reached:
        verdict = "not reached"
    elif max(reached) > ARGUED_CONSTANT:
        verdict = "does not hold"
    else:
        verdict = "holds" if len(reached) == len(largest) else "holds in part"
    return {
        "statement": inequality.statement,
        "allowed": inequality.failure,
        "argued_c": ARGUED_CONSTANT,
        "c": largest,
        "verdict": verdict,
    }

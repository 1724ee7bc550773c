"""Theorem 1 and Lemmas 1 to 4 as inequalities that a draw of R meets or fails.

Counts failures and gives confidence intervals; `theorem` measures the quantities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from projected_kmeans.results import Floats

EPS_VALUES = (0.1, 0.2, 0.3)
CONFIDENCE = 0.95
THEOREM_EPS = 0.3
THEOREM_FAILURE = 0.03


@dataclass(frozen=True)
class Inequality:
    """A statement that a draw of R meets or fails.

    Attributes
    ----------
    statement : str
        Its place in the paper and what it says.
    quantity : str
        The name of the measured quantity.
    bound : callable
        From eps to the maximum of the quantity.
    needed : callable
        The inverse of ``bound``: from a value of the quantity to the smallest eps that allows it.
    failure : float
        The probability with which the paper lets it fail.
    constant : str
        The c of t = c k / eps^2 that the paper's argument needs.
    """

    statement: str
    quantity: str
    bound: Callable[[float], float]
    needed: Callable[[float], float]
    failure: float
    constant: str


INEQUALITIES = (
    Inequality(
        "Lemma 1.1: |1 - sigma_i(V_k^T R)| <= eps",
        "deviation",
        lambda eps: eps,
        lambda value: value,
        0.01,
        "sufficiently large",
    ),
    Inequality(
        "Lemma 2: ||(V_k^T R)^+ - (V_k^T R)^T||_2 <= 3 eps",
        "inverse_gap",
        lambda eps: 3 * eps,
        lambda value: value / 3,
        0.01,
        "that of Lemma 1.1",
    ),
    Inequality(
        "Lemma 3, C = A - A_k: ||C R||_F <= sqrt(1 + eps) ||C||_F",
        "tail",
        lambda eps: math.sqrt(1 + eps),
        lambda value: max(value**2 - 1, 0.0),
        0.01,
        "200 / k (Chebyshev)",
    ),
    Inequality(
        "Lemma 3, C = A: ||C R||_F <= sqrt(1 + eps) ||C||_F",
        "whole",
        lambda eps: math.sqrt(1 + eps),
        lambda value: max(value**2 - 1, 0.0),
        0.01,
        "200 / k (Chebyshev)",
    ),
    Inequality(
        "Lemma 4's proof: ||(A - A_k) R R^T V_k||_F <= 0.5 eps ||A - A_k||_F",
        "cross",
        lambda eps: 0.5 * eps,
        lambda value: value / 0.5,
        0.01,
        "800 (Markov)",
    ),
    Inequality(
        "Lemma 4: ||E||_F <= 4 eps ||A - A_k||_F",
        "error",
        lambda eps: 4 * eps,
        lambda value: value / 4,
        0.03,
        "800 (Markov)",
    ),
)


def count_failures(n_failures: int, n_draws: int) -> dict[str, float]:
    """Return a failure frequency with its exact (Clopper-Pearson) confidence interval.

    Parameters
    ----------
    n_failures, n_draws : int
        The number of failures, and that of all draws.

    Examples
    --------
    >>> {name: round(value, 4) for name, value in count_failures(0, 400).items()}
    {'frequency': 0.0, 'low': 0.0, 'high': 0.0092}
    """
    interval = scipy.stats.binomtest(n_failures, n_draws).proportion_ci(CONFIDENCE, "exact")
    return {
        "frequency": n_failures / n_draws,
        "low": float(interval.low),
        "high": float(interval.high),
    }


def judge_lemmas(draws: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the failures of every inequality, the constants that suffice, and the moments.

    Parameters
    ----------
    draws : sequence of mappings
        Each with "case", "k", "ratio" (t/k), and "values", which maps a quantity to its draws.
    """
    failures = [
        {
            "statement": inequality.statement,
            "quantity": inequality.quantity,
            "eps": eps,
            "bound": inequality.bound(eps),
            "allowed": inequality.failure,
            **{name: setting[name] for name in ("case", "k", "ratio")},
            **_count(setting["values"][inequality.quantity], inequality.bound(eps)),
        }
        for inequality in INEQUALITIES
        for eps in EPS_VALUES
        for setting in draws
    ]
    return {
        "failures": failures,
        "constants": [
            _find_constant(inequality, eps, failures)
            for inequality in INEQUALITIES
            for eps in EPS_VALUES
        ],
        "moments": [judge_moments(setting) for setting in draws],
    }


def _count(values: Floats, bound: float) -> dict[str, float]:
    n_failures = int(np.sum(values > bound))
    return {
        "n_draws": len(values),
        "n_failures": n_failures,
        **count_failures(n_failures, len(values)),
    }


def _find_constant(
    inequality: Inequality, eps: float, failures: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the smallest t/k from which on the inequality fails at most as often as allowed.

    It is found for every case and k; the largest of them suffices for all.
    """
    rows = [
        one for one in failures if one["statement"] == inequality.statement and one["eps"] == eps
    ]
    cases = sorted({(row["case"], row["k"]) for row in rows})
    ratios = {case: _smallest_ratio(case, rows, inequality.failure) for case in cases}
    reached = [ratio for ratio in ratios.values() if ratio is not None]
    complete = len(reached) == len(ratios)
    return {
        "statement": inequality.statement,
        "eps": eps,
        "allowed": inequality.failure,
        "ratio": max(reached) if reached else None,
        "c": max(reached) * eps**2 if reached else None,
        "not_reached": [
            {"case": case, "k": k} for (case, k), ratio in ratios.items() if ratio is None
        ],
        "verdict": "holds" if complete else ("holds in part" if reached else "not reached"),
        "paper_c": inequality.constant,
    }


def _smallest_ratio(
    case: tuple[str, int], rows: Sequence[Mapping[str, Any]], allowed: float
) -> int | None:
    """Return the t/k from which on one case fails at most as often as allowed, or None."""
    of_case = [row for row in rows if (row["case"], row["k"]) == case]
    fine: int | None = None
    for row in sorted(of_case, key=lambda row: -row["ratio"]):
        if row["frequency"] > allowed:
            break
        fine = row["ratio"]
    return fine


def judge_moments(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the moments of Lemmas 1.2 and 1.3 over the draws, as multiples of their bounds.

    Lemma 1.2 is measured with S = A - A_k and T = V_k, where S T = 0: t / (2 k) times the mean of
    ||S R R^T T||^2 / ||S||^2. Lemma 1.3: the mean of ||C R||^2 / ||C||^2, and t / 2 times its
    variance. The paper prints this variance as that of ||C R||, without the square.

    Parameters
    ----------
    setting : mapping
        One of the draws that `judge_lemmas` takes.
    """
    t = setting["k"] * setting["ratio"]
    product = setting["values"]["cross"] ** 2 * t / (2 * setting["k"])
    moments: dict[str, Any] = {name: setting[name] for name in ("case", "k", "ratio")}
    moments["product"] = _mean_interval(product)
    for name in ("tail", "whole"):
        squares = setting["values"][name] ** 2
        moments[f"{name}_mean"] = _mean_interval(squares)
        moments[f"{name}_variance"] = _mean_interval((squares - squares.mean()) ** 2 * t / 2)
    return moments


def _mean_interval(values: Floats) -> dict[str, float]:
    margin = float(scipy.stats.norm.ppf((1 + CONFIDENCE) / 2) * scipy.stats.sem(values))
    mean = float(values.mean())
    return {"mean": mean, "low": mean - margin, "high": mean + margin}


def judge_theorem(instances: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Compare F(A, X~) / F(A, X_opt) with 1 + (1 + eps) gamma, by t and solver.

    Parameters
    ----------
    instances : sequence of mappings
        Each with "t", "exact_ratio" (gamma = 1), "lloyd_ratio", and "lloyd_gamma", which is
        measured on the sketch.
    """
    judged = []
    for t in sorted({one["t"] for one in instances}):
        here = [one for one in instances if one["t"] == t]
        for solver in ("exact", "lloyd"):
            ratios = np.array([one[f"{solver}_ratio"] for one in here])
            gammas = np.array([one.get(f"{solver}_gamma", 1.0) for one in here])
            n_failures = int(np.sum(ratios > 1 + (1 + THEOREM_EPS) * gammas))
            judged.append(
                {
                    "t": t,
                    "solver": solver,
                    "eps": THEOREM_EPS,
                    "allowed": THEOREM_FAILURE,
                    "n_instances": len(here),
                    "worst_gamma": float(gammas.max()),
                    "worst_ratio": float(ratios.max()),
                    "mean_ratio": float(ratios.mean()),
                    "n_failures": n_failures,
                    **count_failures(n_failures, len(here)),
                }
            )
    return judged

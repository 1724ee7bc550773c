"""What Theorem 1 and its successors promise of F(A, X~) / OPT, and how often draws keep it.

Counts draws beyond a bound; `optimum` measures the ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize
import scipy.stats

from projected_kmeans.paper.experiments.theorem_statements import THEOREM_FAILURE
from projected_kmeans.projections.target_dimension import RULES
from projected_kmeans.results import Floats

# Theorem 1 takes eps in (0, 1/3); the other rules take eps in (0, 1).
THEOREM_LIMIT = 1 / 3
# The probability that chance alone breaks a promise that holds, over all settings together.
JOINT_LEVEL = 0.05


@dataclass(frozen=True)
class Promise:
    """A bound on the ratio to the optimum, for an eps that follows from t.

    Attributes
    ----------
    name : str
        Its source and its form.
    rule : str
        The name in `RULES` of the formula from k and eps to t; the constant in it is one.
    bound : callable
        From eps and gamma, which may be an array, to the bound.
    limit : float
        The promise is made for eps below it.
    """

    name: str
    rule: str
    bound: Callable[[float, Any], Any]
    limit: float


PROMISES = (
    Promise(
        "Theorem 1 (2010), eps < 1/3: 1 + (1 + eps) gamma, t = k / eps^2",
        "boutsidis2010",
        lambda eps, gamma: 1 + (1 + eps) * gamma,
        THEOREM_LIMIT,
    ),
    Promise(
        "Theorem 1 (2010), eps < 1: 1 + (1 + eps) gamma, t = k / eps^2",
        "boutsidis2010",
        lambda eps, gamma: 1 + (1 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Cohen et al. 2015: (1 + eps) gamma, t = k / eps^2",
        "cohen2015",
        lambda eps, gamma: (1 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Cohen et al. 2015: (9 + eps) gamma, t = log(k) / eps^2",
        "cohen2015-log",
        lambda eps, gamma: (9 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Makarychev et al. 2019: (1 + eps) gamma, t = log(k / eps) / eps^2",
        "makarychev2019",
        lambda eps, gamma: (1 + eps) * gamma,
        1.0,
    ),
)


def find_eps(rule: str, n_clusters: int, n_components: int) -> float:
    """Return the eps for which a rule asks for this number of dimensions.

    Parameters
    ----------
    rule : str
        A name in `RULES` whose formula depends on k and eps.
    n_clusters, n_components : int
        k and t.

    Examples
    --------
    >>> find_eps("boutsidis2010", 2, 50)
    0.2
    >>> round(find_eps("makarychev2019", 40, 55), 3)
    0.298
    """
    formula = RULES[rule].formula
    # All these formulas fall as eps grows, and are below 1 at eps = k + 1.
    root = scipy.optimize.brentq(
        lambda eps: formula(n_clusters, eps) - n_components, 1e-6, n_clusters + 1.0, xtol=1e-12
    )
    return round(float(root), 10)


@dataclass(frozen=True, eq=False)
class Setting:
    """The draws of one solver on the sketches of one data set with t columns.

    Attributes
    ----------
    data, solver : str
        Their names.
    k, t : int
        Sizes.
    ratio_low, ratio_high : ndarray
        F(A, X~) over the best inertia known, and over the proven lower bound. The ratio to the
        optimum is between them.
    gamma : ndarray
        The inertia on the sketch over the smallest one known there; the true gamma is at least it.
    """

    data: str
    solver: str
    k: int
    t: int
    ratio_low: Floats
    ratio_high: Floats
    gamma: Floats


def judge_promises(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Return for every promise and solver how many draws are beyond the bound, and the verdict.

    A promise may fail with a probability of 3 %. It does not hold if, on some data set and at some
    t, more draws are beyond the bound than that explains: binomial tests of all settings, at a
    joint level of 5 %. The ratio to the optimum is known between two values. A promise holds if it
    does with the larger one, does not hold if it does not with the smaller one, and is undecided
    otherwise.

    Parameters
    ----------
    settings : sequence of Setting
        All draws.
    """
    solvers = list(dict.fromkeys(one.solver for one in settings))
    judged = []
    for promise in PROMISES:
        for solver in solvers:
            counts = [
                count
                for one in settings
                if one.solver == solver and (count := count_beyond(promise, one)) is not None
            ]
            if counts:
                judged.append(_sum_up(promise.name, solver, counts))
    return judged


def count_beyond(promise: Promise, setting: Setting) -> dict[str, Any] | None:
    """Return how many draws are beyond a bound, or None if the promise is not made at this t."""
    eps = find_eps(promise.rule, setting.k, setting.t)
    if eps >= promise.limit:
        return None
    bound = promise.bound(eps, setting.gamma)
    return {
        "data": setting.data,
        "t": setting.t,
        "eps": eps,
        "n_draws": len(bound),
        "beyond": int(np.sum(setting.ratio_high > bound)),
        "surely_beyond": int(np.sum(setting.ratio_low > bound)),
        "worst_share": float(np.max(setting.ratio_high / bound)),
    }


def _sum_up(promise: str, solver: str, counts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    level = JOINT_LEVEL / len(counts)
    failing = [one for one in counts if is_too_often(one["beyond"], one["n_draws"], level)]
    surely = [one for one in counts if is_too_often(one["surely_beyond"], one["n_draws"], level)]
    verdict = "holds" if not failing else ("does not hold" if surely else "undecided")
    return {
        "statement": promise,
        "solver": solver,
        "allowed": THEOREM_FAILURE,
        "n_settings": len(counts),
        "n_draws": sum(one["n_draws"] for one in counts),
        "beyond": sum(one["beyond"] for one in counts),
        "surely_beyond": sum(one["surely_beyond"] for one in counts),
        "worst_share": max(one["worst_share"] for one in counts),
        "where_beyond": [one for one in counts if one["beyond"]],
        "failing": [{name: one[name] for name in ("data", "t")} for one in failing],
        "verdict": verdict,
    }


def is_too_often(n_beyond: int, n_draws: int, level: float) -> bool:
    """Return whether failures with a probability of 3 % are this many too seldom to believe it.

    Parameters
    ----------
    n_beyond, n_draws : int
        Draws beyond the bound, and all draws.
    level : float
        The probability below which chance is no explanation.

    Examples
    --------
    >>> is_too_often(1, 20, 0.01), is_too_often(5, 20, 0.01)
    (False, True)
    """
    return bool(scipy.stats.binom.sf(n_beyond - 1, n_draws, THEOREM_FAILURE) < level)

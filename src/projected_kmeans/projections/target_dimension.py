"""How many dimensions a sketch needs, by the rules of the literature: formulas only, no data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from sklearn.random_projection import johnson_lindenstrauss_min_dim

DEFAULT_RULE = "makarychev2019"


@dataclass(frozen=True)
class DimensionRule:
    """A published rule for the number of dimensions."""

    source: str  # where it was published and what it promises
    needs: str  # "n_clusters" or "n_samples": the size that it depends on
    formula: Callable[[int, float], float]  # of that size and eps; `target_dimension` rounds up


RULES: Mapping[str, DimensionRule] = MappingProxyType(
    {
        "boutsidis2009-columns": DimensionRule(
            "Boutsidis, Mahoney, Drineas 2009: O(k log(k / eps) / eps^2) sampled columns keep the "
            "optimum within 2 + eps; constant 1 and, as in Table 1 of the 2010 paper, base two",
            "n_clusters",
            lambda k, eps: k * math.log2(k / eps) / eps**2,
        ),
        "boutsidis2010": DimensionRule(
            "Boutsidis, Zouzias, Drineas 2010, Algorithm 1: t = c k / eps^2 signs keep the optimum "
            "within 2 + eps; here c = 1",
            "n_clusters",
            lambda k, eps: k / eps**2,
        ),
        "boutsidis2010-proof": DimensionRule(
            "Boutsidis, Zouzias, Drineas 2010, with the constants that the proof needs: "
            "800 k / eps'^2 for the Markov step and eps = 28 eps' in Theorem 1",
            "n_clusters",
            lambda k, eps: 800 * 28**2 * k / eps**2,
        ),
        "folklore": DimensionRule(
            "Folklore Johnson-Lindenstrauss, as in Table 1 of the 2010 paper: log2(n) / eps^2 keep "
            "all distances within 1 + eps, up to a constant",
            "n_samples",
            lambda n, eps: math.log2(n) / eps**2,
        ),
        "johnson-lindenstrauss": DimensionRule(
            "Dasgupta, Gupta 2003, as scikit-learn computes it: 4 ln(n) / (eps^2/2 - eps^3/3), "
            "rounded down, keep all squared distances within 1 +- eps",
            "n_samples",
            lambda n, eps: float(johnson_lindenstrauss_min_dim(n, eps=eps)),
        ),
        "cohen2015": DimensionRule(
            "Cohen, Elder, Musco, Musco, Persu 2015: O(k / eps^2) signs keep every clustering "
            "within 1 + eps; constant 1",
            "n_clusters",
            lambda k, eps: k / eps**2,
        ),
        "cohen2015-svd": DimensionRule(
            "Cohen et al. 2015: ceil(k / eps) singular dimensions keep every clustering within "
            "1 + eps",
            "n_clusters",
            lambda k, eps: k / eps,
        ),
        "cohen2015-columns": DimensionRule(
            "Cohen et al. 2015: O(k log k / eps^2) sampled columns keep every clustering within "
            "1 + eps; constant 1",
            "n_clusters",
            lambda k, eps: k * math.log(k) / eps**2,
        ),
        "cohen2015-log": DimensionRule(
            "Cohen et al. 2015: O(log k / eps^2) signs keep the optimum within 9 + eps; constant 1",
            "n_clusters",
            lambda k, eps: math.log(k) / eps**2,
        ),
        "makarychev2019": DimensionRule(
            "Makarychev, Makarychev, Razenshteyn 2019: O(log(k / eps) / eps^2) signs keep every "
            "clustering within 1 + eps; constant 1",
            "n_clusters",
            lambda k, eps: math.log(k / eps) / eps**2,
        ),
        "plateau": DimensionRule(
            "Measured on the paper's face images: inertia stops falling at about 2.5 k signs, "
            "whatever eps",
            "n_clusters",
            lambda k, eps: 2.5 * k,
        ),
    }
)


def target_dimension(
    n_clusters: int | None = None,
    *,
    eps: float = 0.3,
    rule: str = DEFAULT_RULE,
    n_samples: int | None = None,
    n_features: int | None = None,
) -> int:
    """Return the number of dimensions t that a rule asks for.

    Parameters
    ----------
    n_clusters : int, optional
        k, for the rules that depend on it.
    eps : float, default=0.3
        The error parameter, in (0, 1).
    rule : str, default="makarychev2019"
        A name in `RULES`; the rules are named after their source. Rules that are published as
        O(...) are computed with constant 1 and natural logarithms. The logarithms of the 2010
        paper itself are base two.
    n_samples : int, optional
        n, for the rules that depend on it.
    n_features : int, optional
        d. The result never exceeds it, because d dimensions lose nothing.

    Returns
    -------
    int
        t, at least 1.

    Examples
    --------
    >>> target_dimension(40, eps=0.3, rule="boutsidis2010")
    445
    >>> target_dimension(40, eps=0.3)
    55
    >>> target_dimension(eps=0.3, rule="folklore", n_samples=400)
    97
    >>> target_dimension(40, eps=0.3, rule="boutsidis2010-proof", n_features=4096)
    4096
    """
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is not known; use one of {', '.join(sorted(RULES))}")
    check_eps(eps)
    chosen = RULES[rule]
    size = n_clusters if chosen.needs == "n_clusters" else n_samples
    if size is None:
        raise ValueError(f"rule={rule!r} depends on {chosen.needs}, got None; pass {chosen.needs}")
    if size < 1:
        raise ValueError(f"{chosen.needs}={size} is too small; use at least 1")
    dimension = max(1, math.ceil(chosen.formula(size, eps)))
    return dimension if n_features is None else min(dimension, n_features)


def check_eps(eps: float) -> None:
    """Raise unless eps lies strictly between 0 and 1."""
    if not (isinstance(eps, int | float | np.number) and 0 < eps < 1):
        raise ValueError(f"eps={eps!r} is outside (0, 1); use for example eps=0.3")

"""Theorem 1 of the paper: which t Algorithm 1 takes, and what the theorem then says about F.

With t = c k / eps^2 random signs, eps below 1/3 and a gamma-approximation that fails with a
probability of delta_gamma, F is at most 1 + (1 + eps) gamma times the minimum, with a probability
of at least 0.97 - delta_gamma. "For a sufficiently large constant c" is all that the paper says of
c; its proof needs 627,200. Sentences here promise no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.exceptions import DataDimensionalityWarning

from projected_kmeans.checks import check_count
from projected_kmeans.estimator.fit_warnings import warn_caller
from projected_kmeans.projections.target_dimension import RULES, target_dimension
from projected_kmeans.search.paper_solvers import DEFAULT_EPS

# The parameters of `ProjectedKMeans` that make it Algorithm 1. With one run of the solver, nothing
# compares finalists on the original rows.
AS_IN_PAPER: Mapping[str, Any] = MappingProxyType(
    {"projection": "sign", "polish_iter": 0, "n_init": 1}
)

RULE, PROOF_RULE = "boutsidis2010", "boutsidis2010-proof"
MAX_EPS = 1 / 3
CHANCE = 0.97


@dataclass(frozen=True)
class Dimensions:
    """The t of Algorithm 1, and where it comes from."""

    n_clusters: int  # k
    n_features: int  # d
    eps: float  # the error parameter
    t: int  # dimensions of the sketch
    # "boutsidis2010" is the paper's rule; "n_features" if it asks for more than there are columns;
    # "n_components" if the caller chose t.
    rule: str
    constant: float  # c: t is c k / eps^2, up to rounding
    wanted: int  # the t of the paper's rule, which may be more than there are columns

    @property
    def needed(self) -> int:
        """The t that the proof of Theorem 1 needs."""
        return target_dimension(self.n_clusters, eps=self.eps, rule=PROOF_RULE)


def choose_dimensions(
    n_clusters: int,
    eps: float,
    constant: float = 1.0,
    n_components: int | str = "auto",
    n_features: int = 2**62,
) -> Dimensions:
    """Return the t of Algorithm 1: step 1, at most the number of columns.

    Examples
    --------
    >>> chosen = choose_dimensions(40, 0.3, n_features=4096)
    >>> chosen.t, chosen.rule, chosen.needed
    (445, 'boutsidis2010', 278755556)
    >>> choose_dimensions(40, 0.3, n_features=64).rule
    'n_features'
    """
    check_count("n_clusters", n_clusters)
    check_count("n_components", n_components, word="auto")
    if not (isinstance(eps, int | float | np.number) and 0 < eps < MAX_EPS):
        raise ValueError(
            f"eps={eps!r} is outside (0, 1/3), which Algorithm 1 asks for; use for example eps=0.3"
        )
    if not (isinstance(constant, int | float | np.number) and 0 < constant < math.inf):
        raise ValueError(f"constant={constant!r} is not above 0; use for example constant=1.0")
    least = RULES[RULE].formula(n_clusters, float(eps))
    wanted = max(1, math.ceil(constant * least))
    if not isinstance(n_components, str):
        found = int(n_components), "n_components", n_components / least
    elif wanted > n_features:
        found = n_features, "n_features", n_features / least
    else:
        found = wanted, RULE, float(constant)
    return Dimensions(int(n_clusters), n_features, float(eps), *found, wanted)


def warn_of_dimensions(chosen: Dimensions) -> None:
    """Warn if the paper's rule asks for more dimensions than there are columns."""
    if chosen.rule == "n_features":
        warn_caller(
            f"t = c k / eps^2 = {chosen.wanted:,} exceeds the {chosen.n_features:,} columns of the "
            f"rows, so that t = {chosen.t:,} signs are used, which reduces nothing; use a larger "
            "eps, or cluster the rows themselves",
            DataDimensionalityWarning,
        )


@dataclass(frozen=True)
class Theorem1:
    """What Theorem 1 says about one run of Algorithm 1.

    Examples
    --------
    >>> theorem = Theorem1.of(choose_dimensions(3, 0.3), "exact", 1.0)
    >>> theorem.bound, theorem.probability, theorem.proven
    (2.3, 0.97, False)
    """

    dimensions: Dimensions
    gamma: float | None = None  # the ratio that the solver reaches on the sketch, if it is known
    delta_gamma: float | None = None  # the probability that it does not, if it is known

    @classmethod
    def of(cls, dimensions: Dimensions, solver: str, proven_gamma: float | None) -> Theorem1:
        """Return what the theorem says; a proven gamma holds for this sketch with certainty.

        "kss04" aims at 1 + eps' with fewer samples than its proof needs, so that its delta_gamma is
        not known.
        """
        if proven_gamma is not None and math.isfinite(proven_gamma):
            return cls(dimensions, proven_gamma, 0.0)
        return cls(dimensions, 1 + DEFAULT_EPS if solver == "kss04" else None)

    @property
    def bound(self) -> float | None:
        """1 + (1 + eps) gamma; None if gamma is not known."""
        return None if self.gamma is None else 1 + (1 + self.dimensions.eps) * self.gamma

    @property
    def probability(self) -> float | None:
        """0.97 - delta_gamma; None if delta_gamma is not known."""
        return None if self.delta_gamma is None else CHANCE - self.delta_gamma

    @property
    def proven(self) -> bool:
        """Whether t is as large as the proof needs."""
        return self.dimensions.t >= self.dimensions.needed

    def to_document(self) -> dict[str, Any]:
        """Return t, the bound and the words as JSON holds them."""
        chosen = self.dimensions
        return {
            "t": chosen.t,
            "rule": chosen.rule,
            "constant": chosen.constant,
            "eps": chosen.eps,
            "gamma": self.gamma,
            "delta_gamma": self.delta_gamma,
            "bound": self.bound,
            "probability": self.probability,
            "proven": self.proven,
            "statement": self.describe(),
        }

    def describe(self) -> str:
        """Return what the theorem says and what it does not, in words.

        Examples
        --------
        >>> print(Theorem1.of(choose_dimensions(3, 0.3), "exact", 1.0).describe())
        the bound of Theorem 1 is F <= 2.3 times the minimum (gamma = 1), with probability at \
least 0.97; it is not proven for t = 34 (c = 1): its proof needs t = 20,906,667, and c = 1 has \
only been enough in experiments
        """
        chosen = self.dimensions
        bound = (
            f"the bound of Theorem 1 is F <= (1 + {1 + chosen.eps:g} gamma) times the minimum, and "
            "the gamma of this solver is not known"
        )
        if self.bound is not None:
            chance = f"{CHANCE} less the unknown probability that the solver misses this gamma"
            if self.probability is not None:
                chance = f"{self.probability:g}"
            bound = (
                f"the bound of Theorem 1 is F <= {self.bound:.6g} times the minimum "
                f"(gamma = {self.gamma:.6g}), with probability at least {chance}"
            )
        if self.proven:
            return f"{bound}; t = {chosen.t:,} is as large as its proof needs"
        other = "" if chosen.constant >= 1 else ", not this c"
        return (
            f"{bound}; it is not proven for t = {chosen.t:,} (c = {chosen.constant:.3g}): its "
            f"proof needs t = {chosen.needed:,}, and c = 1 has only been enough in "
            f"experiments{other}"
        )

"""Algorithm 1 of the paper, as its box states it: set t, draw R, compute A R, solve, return X.

`random_projection_kmeans` is the box, and `Algorithm1Result` what it returns. `ProjectedKMeans` has
the same steps and many more choices.

Theorem 1: with t = c k / eps^2 random signs, eps below 1/3 and a gamma-approximation that fails
with a probability of delta_gamma, F is at most 1 + (1 + eps) gamma times the minimum, with a
probability of at least 0.97 - delta_gamma. "For a sufficiently large constant c" is all that the
paper says of c; its proof needs 627,200. Sentences here promise no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataDimensionalityWarning

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.inputs import check_weights, open_input
from projected_kmeans.checks import check_count
from projected_kmeans.estimator.fit_warnings import warn_caller, warn_of_fit, warn_of_gamma
from projected_kmeans.estimator.sketch_solvers import open_solver
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.moments import normalize
from projected_kmeans.passes.scoring import indicator_matrix
from projected_kmeans.projections.target_dimension import RULES, target_dimension
from projected_kmeans.results import Clustering, Labels
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.search.approach import Approach, choose_approach
from projected_kmeans.search.levels import search_original, search_sketch
from projected_kmeans.search.own_solvers import name_solver
from projected_kmeans.search.paper_solvers import DEFAULT_EPS
from projected_kmeans.search.recipe import Recipe, resolve_recipe
from projected_kmeans.search.reduction import reduce_rows
from projected_kmeans.search.settings import Settings, Sizes, check_parameters, check_sizes
from projected_kmeans.search.storage import open_storage
from projected_kmeans.sources.memory import explain_shortage
from projected_kmeans.sources.protocol import RowSource

# The parameters of `ProjectedKMeans` that make it Algorithm 1. With one run of the solver, nothing
# compares finalists on the original rows.
AS_IN_PAPER: Mapping[str, Any] = MappingProxyType(
    {"projection": "sign", "polish_iter": 0, "n_init": 1}
)

RULE, PROOF_RULE = "boutsidis2010", "boutsidis2010-proof"
MAX_EPS = 1 / 3
CHANCE = 0.97


@dataclass(frozen=True, eq=False)
class Algorithm1Result:
    """What Algorithm 1 returns, and what Theorem 1 says about it.

    Attributes
    ----------
    X : csr_array (n, k)
        The indicator matrix: X_ij = 1 / sqrt(z_j) if row i is in cluster j, which has z_j rows.
    labels : ndarray of int32 (n,)
        The same partition: the cluster of every row.
    t : int
        Columns of R, and dimensions of the sketch A R.
    rule : str
        What gave t: "boutsidis2010", which is t = c k / eps^2; "n_features" if that exceeds the
        number of columns, which were taken instead; "n_components" if the caller gave t.
    constant : float
        c: the t that was used is c k / eps^2, up to rounding. The proof needs c = 627,200.
    inertia : float
        F(A, X) = ||A - X X^T A||_F^2, on the original rows.
    normalized_inertia : float
        F~ = F / ||A||_F^2.
    gamma : float or None
        The solver's partition of the sketch is within this factor of the best one. None if nothing
        is known about the solver.
    delta_gamma : float or None
        The probability that it is not. None if it is unknown.
    bound : float or None
        1 + (1 + eps) gamma; None without a gamma.
    probability : float or None
        0.97 - delta_gamma, with which Theorem 1 promises the bound; None without a delta_gamma.
    proven : bool
        Whether t is as large as the proof needs, so that the theorem applies. It hardly ever is.
    statement : str
        What Theorem 1 says about this run, in words.
    eps : float
        The error parameter.
    solver : str
        The name of the gamma-approximation.
    key : int
        The number that fixed R and the draws of the solver: as ``random_state`` it repeats the run.
    """

    X: scipy.sparse.csr_array[Any, tuple[int, int]]
    labels: Labels
    t: int
    rule: str
    constant: float
    inertia: float
    normalized_inertia: float
    gamma: float | None
    delta_gamma: float | None
    bound: float | None
    probability: float | None
    proven: bool
    statement: str
    eps: float
    solver: str
    key: int


@explain_shortage()
def random_projection_kmeans(
    A: ArrayLike | RowSource,
    n_clusters: int,
    eps: float,
    *,
    solver: Any = "auto",
    constant: float = 1.0,
    n_components: int | str = "auto",
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_threads: int | None = None,
) -> Algorithm1Result:
    """Cluster the rows of A by Algorithm 1 of Boutsidis, Zouzias and Drineas (2010).

    The sketch A R has t random signs, and the partition that the solver finds there is the result:
    nothing looks at A again, except to measure F. `ProjectedKMeans` clusters better.

    Parameters
    ----------
    A : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
        Rows, as `ProjectedKMeans.fit` takes them.
    n_clusters : int
        k.
    eps : float
        The error parameter, in (0, 1/3).
    solver : str, estimator or callable, default="auto"
        The gamma-approximation, as `ProjectedKMeans` takes it. It runs once; restarts are part of
        a solver, such as ``KMeans(n_init=10)``.
    constant : float, default=1.0
        The c of t = c k / eps^2. 1 has been enough in experiments; the proof needs 627,200.
    n_components : int or "auto", default="auto"
        t; "auto" is ceil(c k / eps^2). If that exceeds d, then t = d, and a warning says so.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative. The paper has none: F and F~ count them, X does not.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of R, as in `SignProjection`, and the seed of a solver of your own.
    n_threads : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Algorithm1Result
        The indicator matrix X, t, F, F~, and what Theorem 1 says about them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from projected_kmeans import random_projection_kmeans
    >>> stream = np.random.default_rng(0)
    >>> A = np.repeat(stream.normal(size=(3, 500)), 20, axis=0) + stream.normal(size=(60, 500))
    >>> found = random_projection_kmeans(A, 3, 0.3, solver=KMeans(n_init=5), random_state=0)
    >>> found.X.shape, found.t, found.rule, found.constant, found.gamma
    ((60, 3), 34, 'boutsidis2010', 1.0, None)
    >>> found = random_projection_kmeans(A[10:25], 2, 0.3, solver="exact", random_state=0)
    >>> found.gamma, found.bound, found.probability, found.proven
    (1.0, 2.3, 0.97, False)
    """
    rows = open_input(BaseEstimator(), A, reset=True)
    # 1. Set t = c k / eps^2.
    dimensions = choose_dimensions(n_clusters, eps, constant, n_components, rows.shape[1])
    # 2. Compute a random d x t matrix R. The recipe has it as a key and a size.
    options = {"random_state": random_state, "n_threads": n_threads}
    recipe, approach = _draw_signs(rows, n_clusters, dimensions.t, solver=solver, **options)
    weights, run = check_weights(sample_weight, rows), Run()
    with open_storage(rows, recipe.memory, run) as storage:
        # 3. Compute the product A R.
        original, sketch = reduce_rows(recipe, storage.rows, weights, run, storage)
        # 4. Run the gamma-approximation algorithm on A R; return the indicator matrix.
        best = search_sketch(recipe, approach, original, sketch, run)
        lifted = search_original(recipe, approach, original, sketch, best, run).original
    warn_of_dimensions(dimensions)
    warn_of_fit(best, lifted, recipe, None)
    warn_of_gamma(approach.solver, best.gamma)
    theorem = Theorem1.of(dimensions, approach.solver, best.gamma)
    return _describe(lifted, theorem, name_solver(solver), recipe.key)


def _draw_signs(
    rows: BlockSource, n_clusters: int, t: int, **options: Any
) -> tuple[Recipe, Approach]:
    """Return the recipe of the paper: t signs, one run of the solver, and nothing after it."""
    settings = Settings(n_clusters, n_components=t, **AS_IN_PAPER, **options)
    check_parameters(settings)
    check_sizes(settings, *rows.shape)
    sizes = Sizes.of(rows, n_clusters)
    recipe = resolve_recipe(settings, sizes)
    recipe = replace(recipe, solve=open_solver(settings, recipe))
    return recipe, choose_approach(settings, sizes)


def _describe(lifted: Clustering, theorem: Theorem1, solver: str, key: int) -> Algorithm1Result:
    dimensions = theorem.dimensions
    return Algorithm1Result(
        X=indicator_matrix(lifted.labels, dimensions.n_clusters),
        labels=lifted.labels,
        t=dimensions.t,
        rule=dimensions.rule,
        constant=dimensions.constant,
        inertia=lifted.inertia,
        normalized_inertia=normalize(lifted.inertia, lifted.sum_of_squares),
        gamma=theorem.gamma,
        delta_gamma=theorem.delta_gamma,
        bound=theorem.bound,
        probability=theorem.probability,
        proven=theorem.proven,
        statement=theorem.describe(),
        eps=dimensions.eps,
        solver=solver,
        key=key,
    )


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
    """Return the t of Algorithm 1: step 1, at most the number of columns."""
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
        chosen = int(n_components), "n_components", n_components / least
    elif wanted > n_features:
        chosen = n_features, "n_features", n_features / least
    else:
        chosen = wanted, RULE, float(constant)
    return Dimensions(int(n_clusters), n_features, float(eps), *chosen, wanted)


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
    """What Theorem 1 says about one run of Algorithm 1."""

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
        """Return what the theorem says and what it does not, in words."""
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

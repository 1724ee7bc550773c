"""The values that travel between the steps.

Holds data and no behaviour beyond what its fields imply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int32]

# Called after a pass with the number of passes and the inertia; True stops the solver.
OnPass: TypeAlias = Callable[[int, float], bool]


@dataclass(frozen=True)
class Clustering:
    """A partition, its means and its inertia, all in one space.

    Attributes
    ----------
    labels : ndarray of int32 (n,)
        The cluster of every row.
    centers : ndarray of float64 (k, columns)
        The weighted mean of every cluster; a cluster without weight keeps the center it had.
    mass : ndarray of float64 (k,)
        The weight of every cluster: its number of rows where rows have no weights.
    inertia : float
        F, the weighted sum of squared distances of rows to the mean of their cluster.
    sum_of_squares : float
        The weighted sum of squared norms of the rows, the paper's ||A||_F^2.
    n_iter : int
        Passes that changed the partition.
    converged : bool
        Whether the solver came to a standstill, rather than to its limit of iterations.
    history : tuple of float
        Inertia after each of the passes.
    """

    labels: Labels
    centers: Floats
    mass: Floats
    inertia: float
    sum_of_squares: float
    n_iter: int = 0
    converged: bool = False
    history: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lifted:
    """One partition in two spaces: with centers and inertia on the sketch, and in the original."""

    sketched: Clustering
    original: Clustering


@dataclass(frozen=True)
class FitState:
    """Where a fit stands, as its callback sees it.

    Attributes
    ----------
    step : str
        "check", "reduce", "seed", "cluster", "lift", "polish" or "certify"; "choose" where numbers
        of clusters are compared, "predict" where a stored model labels rows.
    restart : int
        Which of the restarts, from 0.
    iteration, total : int
        Units of this step done, and at most to do: rows for "check", "reduce", "lift" and
        "predict", centers for "seed", passes for "cluster" and "polish", bounds and
        steps to tighten them for "certify", clusterings for "choose".
    inertia : float or None
        The inertia reached, in the space that the step works in.
    seconds : float
        Since the fit began.
    rate : float or None
        Units a second in this step, those that a checkpoint had apart; None where unknown.
    remaining : float or None
        Seconds until the step ends if it takes all its units, which solvers seldom do; None where
        unknown.
    read_rate : float or None
        Bytes of stored rows that are walked over in a second; None where the step reads none.
    """

    step: str
    restart: int
    iteration: int
    total: int
    inertia: float | None
    seconds: float
    rate: float | None = None
    remaining: float | None = None
    read_rate: float | None = None

"""The results that steps hand to each other, as frozen values without behaviour."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.documents import Count, NotNegative, Shape

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int32]

# Called after each pass with the number of passes and the inertia. If it returns True, the solver
# stops.
OnPass: TypeAlias = Callable[[int, float], bool]


@dataclass(frozen=True)
class Clustering:
    """A partition, its means and its inertia, all in one space."""

    labels: Annotated[Labels, Shape(("rows",), below="clusters")]  # the cluster of every row
    # The weighted mean of every cluster. A cluster without weight keeps its previous center. If
    # rows were labelled once more at the end, the means before that.
    centers: Annotated[Floats, Shape(("clusters", "columns"))]
    # The total weight of every cluster; its number of rows if rows have no weights.
    mass: Annotated[Floats, Shape(("clusters",))]
    # F, the weighted sum of squared distances of rows to the center of their cluster.
    inertia: NotNegative
    sum_of_squares: NotNegative  # of the weighted rows, the paper's ||A||_F^2
    n_iter: Count = 0  # passes that changed the partition
    converged: bool = False  # before the solver reached its maximum number of iterations
    history: tuple[NotNegative, ...] = ()  # the inertia after each of these passes
    # The most that the inertia can differ from its exact value, proven; infinity if unknown.
    inertia_error: float = math.inf
    settled: bool = False  # every row is known to have the label of a nearest center
    # The inertia is proven to be at most this many times the lowest possible; None if unknown.
    gamma: float | None = None
    total_inertia: float = math.nan  # of all rows about the best single center; NaN if unknown
    # What centers weigh if they stand for their rows: the mass, or the length of the sum of the
    # rows of a cluster if rows and centers have length one. None if unknown.
    center_weights: Annotated[Floats | None, Shape(("clusters",))] = None


class Lifted(NamedTuple):
    """One partition with its centers and inertia in two spaces: the sketch and the original."""

    sketched: Clustering
    original: Clustering


@dataclass(frozen=True)
class FitState:
    """The progress of a fit, as its callback gets it.

    Attributes
    ----------
    step : str
        "check", "reduce", "seed", "cluster", "lift", "polish" or "certify" in a fit; "choose" while
        numbers of clusters are compared; "predict" while a stored model labels rows.
    restart : int
        The index of the restart, from 0.
    iteration, total : int
        The units of this step that are done, and the maximum number of units. Units are rows for
        "check", "reduce", "lift" and "predict", centers for "seed", passes for "cluster" and
        "polish", bounds and steps that tighten them for "certify", clusterings for "choose".
    inertia : float or None
        The inertia reached so far, in the space in which the step works; None if there is none.
    seconds : float
        Seconds since the fit began.
    rate : float or None
        Units per second in this step, not counting units restored from a checkpoint; None if
        unknown.
    remaining : float or None
        Seconds until the end of the step if it needs all its units, which solvers seldom do; None
        if unknown.
    read_rate : float or None
        Bytes per second that the step reads from stored rows; None if it reads none.
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

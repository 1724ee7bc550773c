"""The rows of Table 1: what each states, and the reduction that it stands for.

`table1` measures the reductions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from projected_kmeans.paper.baselines.folklore_projection import FolkloreProjection
from projected_kmeans.paper.baselines.svd_features import SVDFeatures
from projected_kmeans.projections.column_sampling import ColumnSampling
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.projections.target_dimension import target_dimension

EPS = 0.3


@dataclass(frozen=True)
class ProblemSize:
    """The sizes that the bounds depend on."""

    n: int
    d: int
    k: int


@dataclass(frozen=True)
class Row:
    """One row of Table 1: what it states and how it is run.

    Attributes
    ----------
    dimensions, time, accuracy : str
        As the paper prints them.
    count : callable
        From a problem size to the number of dimensions, with all constants one.
    steps : callable
        From a problem size to the stated time, up to a constant.
    bound : float
        The stated ratio to the optimum.
    make : callable
        From a problem size and a key to the transformer.
    row_factor : int
        Seconds are measured on this many times more rows; a fast reduction would otherwise be all
        overhead.
    """

    dimensions: str
    time: str
    accuracy: str
    count: Callable[[ProblemSize], int]
    steps: Callable[[ProblemSize], float]
    bound: float
    make: Callable[[ProblemSize, int], Any]
    row_factor: int = 1


def _svd_steps(problem: ProblemSize) -> float:
    return problem.n * problem.d * min(problem.n, problem.d)


def _mailman_steps(problem: ProblemSize, n_columns: float) -> float:
    return problem.n * problem.d * math.ceil(n_columns / math.log2(problem.d))


def _sampled_columns(problem: ProblemSize) -> int:
    return target_dimension(problem.k, eps=EPS, rule="boutsidis2009-columns")


def _columns(singular_vectors: str, problem: ProblemSize, key: int) -> ColumnSampling:
    return ColumnSampling(
        _sampled_columns(problem),
        n_clusters=problem.k,
        eps=EPS,
        singular_vectors=singular_vectors,
        random_state=key,
    )


ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "SVD, extraction": Row(
            "k",
            "n d min(n, d)",
            "2",
            lambda p: p.k,
            _svd_steps,
            2.0,
            lambda p, key: SVDFeatures(p.k),
        ),
        "RP, folklore": Row(
            "log(n) / eps^2",
            "n d ceil(log(n) / (eps^2 log d))",
            "1 + eps",
            lambda p: target_dimension(eps=EPS, rule="folklore", n_samples=p.n, n_features=p.d),
            lambda p: _mailman_steps(p, math.log2(p.n) / EPS**2),
            1 + EPS,
            lambda p, key: FolkloreProjection(eps=EPS, random_state=key),
            row_factor=10,
        ),
        "SVD, selection": Row(
            "k log(k / eps) / eps^2",
            "n d min(n, d)",
            "2 + eps",
            _sampled_columns,
            _svd_steps,
            2 + EPS,
            partial(_columns, "exact"),
        ),
        "SVD, selection, approximate V_k": Row(
            "k log(k / eps) / eps^2",
            "n d k / eps",
            "2 + eps",
            _sampled_columns,
            lambda p: p.n * p.d * p.k / EPS,
            2 + EPS,
            partial(_columns, "approximate"),
        ),
        "RP, this paper": Row(
            "k / eps^2",
            "n d ceil(k / (eps^2 log d))",
            "2 + eps",
            lambda p: target_dimension(p.k, eps=EPS, rule="boutsidis2010", n_features=p.d),
            lambda p: _mailman_steps(p, p.k / EPS**2),
            2 + EPS,
            lambda p, key: SignProjection(
                target_dimension(p.k, eps=EPS, rule="boutsidis2010", n_features=p.d),
                random_state=key,
            ),
            row_factor=10,
        ),
    }
)

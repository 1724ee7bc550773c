"""The gamma of k-means solvers: the worst ratio of their inertia to the optimum on small instances.

Solvers run on the original rows; reductions of the rows are compared in `experiments.table1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.baselines.exact import solve_exactly
from projected_kmeans.paper.baselines.instances import draw_instance
from projected_kmeans.paper.baselines.kss04 import solve_kss04
from projected_kmeans.results import Floats

KSS04_EPS = 0.5


class Solution(NamedTuple):
    """The partition that a solver found, and its inertia."""

    labels: NDArray[np.int32]
    inertia: float


def run_estimator(rows: Floats, k: int, key: int, **parameters: Any) -> Solution:
    """Cluster rows as they are on one thread, with other parameters of `ProjectedKMeans`."""
    model = ProjectedKMeans(k, projection=None, random_state=key, n_threads=1, **parameters)
    model.fit(rows)
    return Solution(model.labels_, float(model.inertia_))


def _run_kss04(rows: Floats, k: int, key: int) -> Solution:
    found = solve_kss04(rows, k, eps=KSS04_EPS, random_state=key)
    return Solution(found.labels, found.inertia)


# From rows, k and a key to one run of each solver. KSS04 takes few clusters only.
SOLVERS: Mapping[str, Callable[[Floats, int, int], Solution]] = MappingProxyType(
    {
        "Lloyd from random rows": partial(run_estimator, init="random", solver="lloyd", n_init=1),
        "two phases from k-means++": partial(run_estimator, solver="hartigan", n_init=1),
        "Lloyd from ORSS06": partial(run_estimator, init="orss06", solver="lloyd", n_init=1),
        "KSS04": _run_kss04,
    }
)

# The ratio to the optimum that is proved for each solver, or None.
PROVED: Mapping[str, float | None] = MappingProxyType(
    {name: 1 + KSS04_EPS if name == "KSS04" else None for name in SOLVERS}
)


def measure_gammas(key: int, batch: range) -> dict[str, list[float]]:
    """Return the ratio of every solver's inertia to the optimum on some instances.

    Parameters
    ----------
    key : int
        Fixes the instances and all random draws.
    batch : range
        The indices of the instances.
    """
    ratios: dict[str, list[float]] = {name: [] for name in SOLVERS}
    for index in batch:
        instance = draw_instance(key, index)
        best = solve_exactly(instance.rows, instance.n_clusters).inertia
        for name, solve in SOLVERS.items():
            found = solve(instance.rows, instance.n_clusters, key + index)
            ratios[name].append(found.inertia / best)
    return ratios


def summarize_gammas(batches: Sequence[Mapping[str, list[float]]]) -> list[dict[str, Any]]:
    """Return the worst and the mean ratio of every solver, and how often it found the optimum."""
    summary = []
    for name in SOLVERS:
        ratios = np.concatenate([batch[name] for batch in batches])
        summary.append(
            {
                "solver": name,
                "proved": PROVED[name],
                "n_instances": len(ratios),
                "worst_ratio": float(ratios.max()),
                "mean_ratio": float(ratios.mean()),
                "share_optimal": float(np.mean(ratios < 1 + 1e-9)),
            }
        )
    return summary

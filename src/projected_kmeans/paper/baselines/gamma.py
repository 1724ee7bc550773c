"""The gamma of k-means solvers: the worst ratio of their inertia to the optimum on small instances.

Solvers run on the original rows; reductions of the rows are compared in `experiments.table1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.baselines.exact import solve_exactly
from projected_kmeans.paper.baselines.instances import draw_instance
from projected_kmeans.paper.baselines.kss04 import solve_kss04
from projected_kmeans.paper.baselines.orss06 import place_orss06
from projected_kmeans.results import Floats

KSS04_EPS = 0.5


def _run_estimator(rows: Floats, k: int, key: int, **parameters: Any) -> float:
    model = ProjectedKMeans(k, projection=None, n_init=1, random_state=key, **parameters)
    return float(model.fit(rows).inertia_)


SOLVERS: Mapping[str, Callable[[Floats, int, int], float]] = MappingProxyType(
    {
        "Lloyd from random rows": lambda rows, k, key: _run_estimator(rows, k, key, init="random"),
        "two phases from k-means++": lambda rows, k, key: _run_estimator(
            rows, k, key, solver="hartigan"
        ),
        "Lloyd from ORSS06": lambda rows, k, key: _run_estimator(rows, k, key, init=place_orss06),
        "KSS04": lambda rows, k, key: solve_kss04(rows, k, eps=KSS04_EPS, random_state=key).inertia,
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
            ratios[name].append(solve(instance.rows, instance.n_clusters, key + index) / best)
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

"""Instances of k-means whose optimum is known, and the solvers that are compared with it.

Small instances are drawn from a key in several families, and solved exactly. Of real data the
optimum is enclosed by a proof. The gamma of a solver is the worst ratio of its inertia to the
optimum on small instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from projected_kmeans.blas_threads import multiply
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.keys import open_stream
from projected_kmeans.paper.data_sets import DataSet
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Floats, Labels
from projected_kmeans.search.paper_solvers import solve_by_samples

# Numbers of random streams. Those of the paper's experiments are above 1,000, those of the library
# below; see `keys`.
KSS04_STREAM, INSTANCE_STREAM = 1004, 1005

# Dimensions of the instances of low rank, before they are mapped to d dimensions.
FLAT_DIMENSIONS = 2

Draw: TypeAlias = Callable[[np.random.Generator, tuple[int, int], int], Floats]


class Instance(NamedTuple):
    """Rows, the number of clusters to find in them, and the family that they come from."""

    rows: Floats
    n_clusters: int
    family: str


def _draw_noise(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    return stream.normal(size=shape)


def _draw_mixture(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    means = stream.normal(size=(k, shape[1]))
    rows: Floats = means[stream.integers(k, size=shape[0])] + stream.normal(size=shape)
    return rows


def _draw_heavy_tails(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    return stream.normal(size=shape) * stream.pareto(1.5, size=(shape[0], 1))


def _draw_few_features(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows that differ in a few features only: hard for sampled columns."""
    rows = stream.normal(scale=1e-3, size=shape)
    rows[:, :FLAT_DIMENSIONS] += stream.normal(size=(shape[0], FLAT_DIMENSIONS))
    return rows


def _draw_plane(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows near a random plane: hard for few random dimensions."""
    directions = stream.normal(size=(FLAT_DIMENSIONS, shape[1]))
    inside: Floats = multiply(stream.normal(size=(shape[0], FLAT_DIMENSIONS)), directions)
    return inside + stream.normal(scale=1e-3, size=shape)


def _draw_shifted(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows far from the origin: hard for singular vectors, of which the offset takes one."""
    return stream.normal(size=shape) + 100 * stream.normal(size=shape[1])


FAMILIES: Mapping[str, Draw] = MappingProxyType(
    {
        "noise": _draw_noise,
        "mixture": _draw_mixture,
        "heavy tails": _draw_heavy_tails,
        "few features": _draw_few_features,
        "plane": _draw_plane,
        "shifted": _draw_shifted,
    }
)


def draw_instance(key: int, index: int, *, n_samples: int = 11, n_features: int = 240) -> Instance:
    """Return one instance. Families, and two or three clusters, alternate with the index."""
    families = tuple(FAMILIES)
    family = families[index % len(families)]
    n_clusters = 2 + index // len(families) % 2
    stream = open_stream(key, INSTANCE_STREAM, index)
    rows = FAMILIES[family](stream, (n_samples, n_features), n_clusters)
    return Instance(np.ascontiguousarray(rows), n_clusters, family)


class Solution(NamedTuple):
    """The partition that a solver found, and its inertia."""

    labels: Labels
    inertia: float


def run_estimator(rows: Floats, k: int, key: int, **parameters: Any) -> Solution:
    """Cluster rows as they are on one thread, with other parameters of `ProjectedKMeans`."""
    model = ProjectedKMeans(k, projection=None, random_state=key, n_threads=1, **parameters)
    model.fit(rows)
    return Solution(model.labels_, float(model.inertia_))


def solve_exactly(rows: Floats, k: int) -> Solution:
    """Return a partition of at most 15 rows into at most k clusters with the minimum inertia."""
    return run_estimator(rows, k, 0, solver="exact")


def _run_kss04(rows: Floats, k: int, key: int) -> Solution:
    """Run KSS04 with a stream of its own, so that its draws are not those of the estimator."""
    source = ArrayBlocks(rows)
    problem = Problem(source, scan_columns(source), n_threads=1)
    clustering = solve_by_samples(problem, k, open_stream(key, KSS04_STREAM), eps=KSS04_EPS)
    return Solution(clustering.labels, clustering.inertia)


KSS04 = "KSS04"
KSS04_EPS = 0.5

# From rows, k and a key to one run of each solver. KSS04 takes at most four clusters.
SOLVERS: Mapping[str, Callable[[Floats, int, int], Solution]] = MappingProxyType(
    {
        "Lloyd from random rows": partial(run_estimator, init="random", solver="lloyd", n_init=1),
        "two phases from k-means++": partial(run_estimator, solver="hartigan", n_init=1),
        "Lloyd from ORSS06": partial(run_estimator, init="orss06", solver="lloyd", n_init=1),
        KSS04: _run_kss04,
    }
)


def measure_gammas(key: int, batch: range) -> dict[str, list[float]]:
    """Return the ratio of every solver's inertia to the optimum on the instances of a batch."""
    ratios: dict[str, list[float]] = {name: [] for name in SOLVERS}
    for index in batch:
        instance = draw_instance(key, index)
        best = solve_exactly(instance.rows, instance.n_clusters).inertia
        for name, solve in SOLVERS.items():
            solution = solve(instance.rows, instance.n_clusters, key + index)
            ratios[name].append(solution.inertia / best)
    return ratios


def summarize_gammas(batches: Sequence[Mapping[str, list[float]]]) -> list[dict[str, Any]]:
    """Return the worst and the mean ratio of every solver, and how often it found the optimum.

    A ratio is proved for KSS04 alone.
    """
    summary = []
    for name in SOLVERS:
        ratios = np.concatenate([batch[name] for batch in batches])
        summary.append(
            {
                "solver": name,
                "proved": 1 + KSS04_EPS if name == KSS04 else None,
                "n_instances": len(ratios),
                "worst_ratio": float(ratios.max()),
                "mean_ratio": float(ratios.mean()),
                "share_optimal": float(np.mean(ratios < 1 + 1e-9)),
            }
        )
    return summary


# Real data whose optimum a semidefinite bound encloses to 1e-5, and to a percent (digits, ORL).
REAL_INSTANCES = ("iris", "wine", "seeds", "breast cancer", "ECG5000", "digits", "ORL")


@lru_cache(maxsize=len(REAL_INSTANCES))
def enclose_optimum(data: DataSet, key: int) -> dict[str, Any]:
    """Return the inertia of the best partition found, and a proven lower bound of all others.

    The data has at most some 2,000 dense rows. The result is kept in memory for other experiments
    of the same run.
    """
    return enclose_sketch(data.rows, data.n_clusters, key, "full")


def enclose_sketch(rows: Floats, n_clusters: int, key: int, method: str = "auto") -> dict[str, Any]:
    """Return what `enclose_optimum` does for any rows, with less effort unless method is "full"."""
    model = ProjectedKMeans(n_clusters, projection=None, random_state=key, certificate=method)
    model.fit(rows)
    proof = model.certificate_
    assert proof is not None
    return {
        "inertia": proof.inertia,
        "lower_bound": proof.lower_bound,
        "ratio": proof.ratio,
        "method": proof.method,
        "labels": model.labels_.tolist(),
    }

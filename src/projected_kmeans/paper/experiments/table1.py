"""Table 1: dimensions, seconds and accuracy of five reductions, measured beside their bounds.

Ratios to the optimum are measured on small instances, whose optimum is known, and on real data,
whose optimum is enclosed by a proof. Seconds are measured on random rows, because they do not
depend on the numbers in a matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.stats

from projected_kmeans.keys import open_stream
from projected_kmeans.paper.baselines.exact import solve_exactly
from projected_kmeans.paper.baselines.gamma import (
    measure_gammas,
    run_estimator,
    summarize_gammas,
)
from projected_kmeans.paper.baselines.instances import draw_instance
from projected_kmeans.paper.experiments.data_sets import DataSet, Found, find_data_sets
from projected_kmeans.paper.experiments.experiment import Experiment, Unit, split_batches
from projected_kmeans.paper.experiments.faces import Faces
from projected_kmeans.paper.experiments.optima import INSTANCES, enclose_optimum
from projected_kmeans.paper.experiments.table1_rows import EPS, ROWS, ProblemSize
from projected_kmeans.paper.experiments.timing import time_work
from projected_kmeans.paper.streams import TIMED_ROWS
from projected_kmeans.passes.scoring import inertia

# Instances of one unit of the gamma measurements.
UNIT_GAMMAS = 12


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    The names of the fields are stored with the results, so that a new name would measure again.

    Attributes
    ----------
    n_instances, unit_instances, n_gamma_instances : int
        Small instances for the ratios of reductions, instances of one unit, and instances for the
        gamma of solvers.
    real, n_real_draws : tuple of str, int
        Names of real data, and draws of each reduction on them.
    n, d, k : tuple of int
        The sizes at which seconds are measured; while one varies, the others are ``middle``.
    middle, reference : (int, int, int)
        n, d and k that stay fixed, and those of the seconds that the table prints.
    least_seconds, repeats : float, int
        Minimum time and minimum number of calls of each timing.
    """

    n_instances: int = 1200
    unit_instances: int = 60
    n_gamma_instances: int = 120
    real: tuple[str, ...] = INSTANCES
    n_real_draws: int = 5
    n: tuple[int, ...] = (100, 200, 400, 800)
    d: tuple[int, ...] = (1000, 2000, 4000, 8000)
    k: tuple[int, ...] = (5, 10, 20, 40)
    middle: tuple[int, int, int] = (400, 2000, 10)
    reference: tuple[int, int, int] = (400, 4096, 40)
    least_seconds: float = 0.1
    repeats: int = 3


FULL = Sizes()
QUICK = Sizes(
    n_instances=60,
    unit_instances=30,
    n_gamma_instances=6,
    real=("iris", "wine", "seeds"),
    n_real_draws=2,
    n=(50, 100, 200),
    d=(500, 1000, 2000),
    k=(5, 10, 20),
    middle=(100, 1000, 10),
    least_seconds=0.0,
    repeats=1,
)


def plan_table1(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind Table 1.

    Parameters
    ----------
    faces : Faces or None
        The face images, if they were found.
    key : int, default=0
        Fixes instances and draws.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    units = [
        Unit(f"ratios from {batch[0]}", partial(_measure_ratios, key, batch))
        for batch in split_batches(range(sizes.n_instances), sizes.unit_instances)
    ]
    units += [
        Unit(f"gammas from {batch[0]}", partial(measure_gammas, key, batch))
        for batch in split_batches(range(sizes.n_gamma_instances), UNIT_GAMMAS)
    ]
    real = find_data_sets(sizes.real, faces)
    units += [
        Unit(f"real {data.name}", partial(_measure_real, data, key, sizes.n_real_draws))
        for data in real.sets
    ]
    units += [
        Unit(_timing_name(name, problem), partial(_time_row, name, problem, key, sizes))
        for name in ROWS
        for problem in _timed_problems(name, sizes)
    ]
    parameters = {
        "key": key,
        "eps": EPS,
        "sizes": asdict(sizes),
        "data": [data.describe() for data in real.sets],
        "missing": list(real.missing),
    }
    return Experiment("table1", parameters, units, partial(_summarize, sizes, real))


def _axis_problems(name: str, sizes: Sizes) -> dict[str, list[ProblemSize]]:
    factor = ROWS[name].row_factor
    n, d, k = sizes.middle
    n *= factor
    return {
        "n": [ProblemSize(size * factor, d, k) for size in sizes.n],
        "d": [ProblemSize(n, size, k) for size in sizes.d],
        "k": [ProblemSize(n, d, size) for size in sizes.k],
    }


def _timed_problems(name: str, sizes: Sizes) -> list[ProblemSize]:
    axes = [problem for problems in _axis_problems(name, sizes).values() for problem in problems]
    return list(dict.fromkeys([*axes, ProblemSize(*sizes.reference)]))


def _timing_name(name: str, problem: ProblemSize) -> str:
    return f"seconds {name} n={problem.n} d={problem.d} k={problem.k}"


def _measure_ratios(key: int, batch: range) -> dict[str, list[float]]:
    """Return F(A, X) / F(A, X_opt), where X is optimal for the reduced rows."""
    ratios: dict[str, list[float]] = {name: [] for name in ROWS}
    for index in batch:
        instance = draw_instance(key, index)
        k = instance.n_clusters
        problem = ProblemSize(instance.rows.shape[0], instance.rows.shape[1], k)
        best = solve_exactly(instance.rows, k).inertia
        for name, row in ROWS.items():
            sketch = row.make(problem, key + index).fit_transform(instance.rows)
            labels = solve_exactly(sketch, k).labels
            ratios[name].append(inertia(instance.rows, labels) / best)
    return ratios


def _measure_real(data: DataSet, key: int, n_draws: int) -> dict[str, Any]:
    """Return F(A, X) over the proven lower bound; X is the default's for the reduced rows."""
    optimum = enclose_optimum(data, key)
    n, d = data.rows.shape
    problem = ProblemSize(n, d, data.n_clusters)
    ratios: dict[str, list[float]] = {name: [] for name in ROWS}
    for draw in range(key, key + n_draws):
        for name, row in ROWS.items():
            sketch = row.make(problem, draw).fit_transform(data.rows)
            labels = run_estimator(sketch, data.n_clusters, draw).labels
            ratios[name].append(inertia(data.rows, labels) / optimum["lower_bound"])
    return {"optimum_ratio": optimum["ratio"], "ratios": ratios}


def _time_row(name: str, problem: ProblemSize, key: int, sizes: Sizes) -> float:
    rows = open_stream(key, TIMED_ROWS).normal(size=(problem.n, problem.d))
    transformer = ROWS[name].make(problem, key)
    return time_work(
        lambda: transformer.fit_transform(rows),
        min_seconds=sizes.least_seconds,
        repeats=sizes.repeats,
    )


def _summarize(sizes: Sizes, real: Found, found: Mapping[str, Any]) -> dict[str, Any]:
    ratios = {
        name: np.concatenate([found[unit][name] for unit in found if unit.startswith("ratios")])
        for name in ROWS
    }
    reference = ProblemSize(*sizes.reference)
    return {
        "reference": asdict(reference),
        "rows": [_summarize_row(name, reference, ratios[name], found) for name in ROWS],
        "growth": [
            _fit_growth(name, axis, problems, found)
            for name in ROWS
            for axis, problems in _axis_problems(name, sizes).items()
        ],
        "real": [
            _summarize_real(name, data, found[f"real {data.name}"])
            for name in ROWS
            for data in real.sets
        ],
        "gammas": summarize_gammas([found[unit] for unit in found if unit.startswith("gammas")]),
    }


def _summarize_row(
    name: str, reference: ProblemSize, ratios: np.ndarray[Any, Any], found: Mapping[str, Any]
) -> dict[str, Any]:
    row = ROWS[name]
    return {
        "method": name,
        "stated_dimensions": row.dimensions,
        "dimensions": row.count(reference),
        "stated_time": row.time,
        "seconds": found[_timing_name(name, reference)],
        "stated_accuracy": row.accuracy,
        "bound": row.bound,
        "n_instances": len(ratios),
        "worst_ratio": float(ratios.max()),
        "mean_ratio": float(ratios.mean()),
        "ratio_95": float(np.quantile(ratios, 0.95)),
        "beyond_bound": int(np.sum(ratios > row.bound)),
    }


def _summarize_real(name: str, data: DataSet, found: Mapping[str, Any]) -> dict[str, Any]:
    row = ROWS[name]
    n, d = data.rows.shape
    ratios = np.array(found["ratios"][name])
    return {
        "method": name,
        "data": data.name,
        "k": data.n_clusters,
        "dimensions": row.count(ProblemSize(n, d, data.n_clusters)),
        "bound": row.bound,
        "optimum_ratio": found["optimum_ratio"],
        "n_draws": len(ratios),
        "mean_ratio": float(ratios.mean()),
        "worst_ratio": float(ratios.max()),
        "beyond_bound": int(np.sum(ratios > row.bound)),
    }


def _fit_growth(
    name: str, axis: str, problems: list[ProblemSize], found: Mapping[str, Any]
) -> dict[str, Any]:
    """Fit seconds, and the stated time, by a power of one size while the others are fixed."""
    sizes = np.log([getattr(problem, axis) for problem in problems])
    seconds = [found[_timing_name(name, problem)] for problem in problems]
    line = scipy.stats.linregress(sizes, np.log(seconds))
    margin = line.stderr * float(scipy.stats.t.ppf(0.975, len(sizes) - 2))
    stated = scipy.stats.linregress(sizes, np.log([ROWS[name].steps(one) for one in problems]))
    return {
        "method": name,
        "size": axis,
        "sizes": [getattr(problem, axis) for problem in problems],
        "seconds": seconds,
        "exponent": float(line.slope),
        "exponent_low": float(line.slope - margin),
        "exponent_high": float(line.slope + margin),
        "stated_exponent": float(stated.slope),
    }

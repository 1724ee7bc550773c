"""Theorem 1 on real data: F(A, X~) over the proven optimum, for many draws, t and solvers.

Measures ratios and the quantities of Lemmas 1 to 4; `promises` and `lemma_constants` judge them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from projected_kmeans.paper.baselines.gamma import SOLVERS, Solution, run_estimator
from projected_kmeans.paper.baselines.svd_features import decompose_exactly
from projected_kmeans.paper.experiments.data_sets import DataSet, Found, find_data_sets
from projected_kmeans.paper.experiments.experiment import Experiment, Unit
from projected_kmeans.paper.experiments.faces import Faces
from projected_kmeans.paper.experiments.lemma_constants import find_constants, sum_up_constants
from projected_kmeans.paper.experiments.optima import INSTANCES, enclose_optimum, enclose_sketch
from projected_kmeans.paper.experiments.promises import Setting, judge_promises
from projected_kmeans.paper.experiments.theorem import measure_lemmas
from projected_kmeans.paper.experiments.theorem_statements import judge_moments
from projected_kmeans.passes.scoring import inertia
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats

DEFAULT = "default of the library"
PROVED = "semidefinite search"
KSS04 = "KSS04"
# The solvers that cluster sketches; KSS04 takes at most four clusters.
SKETCH_SOLVERS: Mapping[str, Callable[[Floats, int, int], Solution]] = MappingProxyType(
    {**SOLVERS, DEFAULT: run_estimator}
)
MAX_KSS04_CLUSTERS = 4


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes
    ----------
    instances : tuple of str
        Names of data sets whose optimum can be proven.
    dimensions : tuple of int
        Values of t below d; d itself is added where it is at most the largest of them.
    n_draws, n_kss04_draws, n_lemma_draws : int
        Draws of R for the solvers, for KSS04, which is slow, and for the lemmas.
    """

    instances: tuple[str, ...] = INSTANCES
    dimensions: tuple[int, ...] = (2, 5, 10, 20, 50, 100, 200, 300)
    n_draws: int = 20
    n_kss04_draws: int = 5
    n_lemma_draws: int = 400


FULL = Sizes()
QUICK = Sizes(
    instances=("iris", "wine", "seeds"),
    dimensions=(5, 10),
    n_draws=4,
    n_kss04_draws=1,
    n_lemma_draws=20,
)


def plan_optimum(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind the theorem on real data.

    Parameters
    ----------
    faces : Faces or None
        The face images, if they were found.
    key : int, default=0
        Draw i of R uses the key ``key + i``.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    found = find_data_sets(sizes.instances, faces)
    units = []
    for data in found.sets:
        units.append(Unit(f"optimum {data.name}", partial(_enclose, data, key)))
        for t in list_dimensions(data, sizes):
            draw = partial(_draw_solvers, data, t, key, sizes)
            units.append(Unit(f"draws {data.name} t={t}", draw))
            units.append(Unit(f"proof {data.name} t={t}", partial(_prove_sketch, data, t, key)))
        units.append(Unit(f"lemmas {data.name}", partial(_draw_lemmas, data, key, sizes)))
    parameters = {
        "key": key,
        "sizes": asdict(sizes),
        "data": [data.describe() for data in found.sets],
        "missing": list(found.missing),
    }
    return Experiment("optimum", parameters, units, partial(_summarize, found, sizes))


def list_dimensions(data: DataSet, sizes: Sizes) -> list[int]:
    """Return the values of t for a data set: never more than its columns.

    t = 2 is for data of fewer than ten columns only, because there is nothing else below d.
    """
    d = data.rows.shape[1]
    below = [t for t in sizes.dimensions if t < d and (t > 2 or d < 10)]
    return below + ([d] if d <= max(sizes.dimensions) else [])


def _enclose(data: DataSet, key: int) -> dict[str, Any]:
    found = enclose_optimum(data, key)
    return {name: value for name, value in found.items() if name != "labels"}


def _draw_solvers(
    data: DataSet, t: int, key: int, sizes: Sizes
) -> dict[str, dict[str, list[float]]]:
    """Return F(A, X~) and the inertia on the sketch, by solver, for every draw of R."""
    found: dict[str, dict[str, list[float]]] = {}
    for draw in range(sizes.n_draws):
        sketch = SignProjection(t, random_state=key + draw).fit_transform(data.rows)
        for name, solve in SKETCH_SOLVERS.items():
            if name == KSS04 and (
                data.n_clusters > MAX_KSS04_CLUSTERS or draw >= sizes.n_kss04_draws
            ):
                continue
            solution = solve(sketch, data.n_clusters, key + draw)
            record = found.setdefault(name, {"inertia": [], "sketch_inertia": []})
            record["inertia"].append(inertia(data.rows, solution.labels))
            record["sketch_inertia"].append(solution.inertia)
    return found


def _prove_sketch(data: DataSet, t: int, key: int) -> dict[str, float]:
    """Enclose the optimum of the first sketch; return its partition's inertia in A, too."""
    sketch = SignProjection(t, random_state=key).fit_transform(data.rows)
    proof = enclose_sketch(sketch, data.n_clusters, key)
    labels = np.array(proof["labels"], dtype=np.int32)
    return {
        "inertia": inertia(data.rows, labels),
        "sketch_inertia": proof["inertia"],
        "sketch_lower_bound": proof["lower_bound"],
    }


def _draw_lemmas(data: DataSet, key: int, sizes: Sizes) -> dict[str, dict[str, list[float]]]:
    """Return the quantities of the lemmas by t and name; the lemmas need t of at least k."""
    basis = decompose_exactly(data.rows, min(data.rows.shape))
    wanted = [t for t in list_dimensions(data, sizes) if t >= data.n_clusters]
    found: dict[str, dict[str, list[float]]] = {}
    for draw in range(sizes.n_lemma_draws if wanted else 0):
        projection = SignProjection(max(wanted), random_state=key + draw)
        turned = projection.fit(basis.right).transform(basis.right)
        for t in wanted:
            columns = turned[:, :t] * np.sqrt(max(wanted) / t)
            measured = measure_lemmas(columns, basis.values, data.n_clusters)
            for name, value in measured.items():
                found.setdefault(str(t), {}).setdefault(name, []).append(value)
    return found


def _summarize(found: Found, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    settings = [setting for data in found.sets for setting in _settings(data, sizes, measured)]
    draws = [
        {
            "case": data.name,
            "k": data.n_clusters,
            "ratio": int(t) / data.n_clusters,
            "values": {name: np.array(values) for name, values in quantities.items()},
        }
        for data in found.sets
        for t, quantities in measured[f"lemmas {data.name}"].items()
    ]
    constants = find_constants(draws)
    return {
        "instances": [_describe(data, measured) for data in found.sets],
        "statements": judge_promises(settings),
        "settings": [_describe_setting(one) for one in settings],
        "sketch_proofs": [
            _describe_proof(data, t, measured)
            for data in found.sets
            for t in list_dimensions(data, sizes)
        ],
        "constants": constants,
        "lemmas": sum_up_constants(constants),
        "moments": [judge_moments(one) for one in draws],
    }


def _describe(data: DataSet, measured: Mapping[str, Any]) -> dict[str, Any]:
    n, d = data.rows.shape
    return {
        "data": data.name,
        "n": n,
        "d": d,
        "k": data.n_clusters,
        **measured[f"optimum {data.name}"],
    }


def _settings(data: DataSet, sizes: Sizes, measured: Mapping[str, Any]) -> list[Setting]:
    """Return the draws of every solver at every t, with the proofs of single sketches."""
    dimensions = list_dimensions(data, sizes)
    optimum = measured[f"optimum {data.name}"]
    drawn = {t: measured[f"draws {data.name} t={t}"] for t in dimensions}
    proofs = {t: measured[f"proof {data.name} t={t}"] for t in dimensions}
    found = [value for t in dimensions for one in drawn[t].values() for value in one["inertia"]]
    known = min(optimum["inertia"], *found, *(proofs[t]["inertia"] for t in dimensions))
    settings = []
    for t in dimensions:
        smallest = _smallest_inertias(drawn[t], proofs[t])
        records = {**drawn[t], PROVED: {name: [proofs[t][name]] for name in _MEASURED}}
        for solver, record in records.items():
            in_rows, in_sketch = (np.array(record[name]) for name in _MEASURED)
            settings.append(
                Setting(
                    data.name,
                    solver,
                    data.n_clusters,
                    t,
                    in_rows / known,
                    in_rows / optimum["lower_bound"],
                    np.maximum(in_sketch / smallest[: len(in_sketch)], 1.0),
                )
            )
    return settings


_MEASURED = ("inertia", "sketch_inertia")


def _smallest_inertias(
    drawn: Mapping[str, Mapping[str, list[float]]], proof: Mapping[str, float]
) -> Floats:
    """Return the smallest inertia that any solver found on the sketch of every draw."""
    smallest = np.full(max(len(one["sketch_inertia"]) for one in drawn.values()), np.inf)
    for one in drawn.values():
        values = one["sketch_inertia"]
        smallest[: len(values)] = np.minimum(smallest[: len(values)], values)
    smallest[0] = min(smallest[0], proof["sketch_inertia"])
    return smallest


def _describe_setting(setting: Setting) -> dict[str, Any]:
    low, middle, high = np.quantile(setting.ratio_high, [0.05, 0.5, 0.95])
    return {
        "data": setting.data,
        "solver": setting.solver,
        "k": setting.k,
        "t": setting.t,
        "n_draws": len(setting.gamma),
        "ratio_low": float(low),
        "ratio_median": float(middle),
        "ratio_high": float(high),
        "worst_ratio": float(setting.ratio_high.max()),
        "median_gamma": float(np.median(setting.gamma)),
        "worst_gamma": float(setting.gamma.max()),
    }


def _describe_proof(data: DataSet, t: int, measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return how near to the optimum of the first sketch the smallest known inertia is."""
    proof = measured[f"proof {data.name} t={t}"]
    smallest = _smallest_inertias(measured[f"draws {data.name} t={t}"], proof)[0]
    return {
        "data": data.name,
        "t": t,
        "sketch_ratio": float(smallest / proof["sketch_lower_bound"]),
        "ratio": proof["inertia"] / measured[f"optimum {data.name}"]["lower_bound"],
    }

"""Table 2 beyond the face images: the same methods on four data sets, with bands over draws.

Measures and summarizes; `beyond_statements` judges, and the view draws tables and figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.baselines.svd_features import SVDFeatures
from projected_kmeans.paper.experiments.beyond_statements import judge_data_set
from projected_kmeans.paper.experiments.data_sets import DataSet, Found, find_data_sets
from projected_kmeans.paper.experiments.experiment import Experiment, Unit
from projected_kmeans.paper.experiments.faces import FOLDER_VARIABLE, MAX_ITER, Faces
from projected_kmeans.paper.experiments.published import DIMENSIONS
from projected_kmeans.paper.experiments.table2 import REDUCTIONS
from projected_kmeans.passes.scoring import clustering_accuracy, normalized_inertia

NAMES = ("ORL", "COIL20", "MNIST 10k", "newsgroups")
RP, HD, DEFAULT = "RP", "HD", "default"
# The reductions of Table 2, and the singular vectors with their scale, which have a guarantee.
FITTED: Mapping[str, Callable[[int], Any]] = MappingProxyType(
    {
        "SVD": REDUCTIONS["SVD"],
        "SVD with Sigma": lambda t: SVDFeatures(t, algorithm="arpack", random_state=0),
        "LLE": REDUCTIONS["LLE"],
        "LS": REDUCTIONS["LS"],
    }
)
DENSE_ONLY = ("LLE", "LS")
# LLE computes eigenvectors of a dense n x n matrix; beyond this n they take minutes.
MAX_LLE_ROWS = 3000


@dataclass(frozen=True)
class Sizes:
    """How much is measured: the data sets, values of t, and draws of few and of many rows."""

    names: tuple[str, ...] = NAMES
    dimensions: tuple[int, ...] = DIMENSIONS
    n_draws: int = 20
    n_draws_large: int = 10


# Data sets with more rows have ``n_draws_large`` draws.
LARGE_ROWS = 3000

FULL = Sizes()
QUICK = Sizes(names=("ORL", "COIL20"), dimensions=(10, 50), n_draws=3, n_draws_large=2)


def plan_beyond(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment that repeats Table 2 on other data.

    Parameters
    ----------
    faces : Faces or None
        The face images, if they were found.
    key : int, default=0
        Draw i uses the key ``key + i`` for the first centers and, with RP, for R.
    sizes : Sizes
        `FULL` or `QUICK`.
    """
    found = find_data_sets(sizes.names, faces)
    if not found.sets:
        raise ValueError(
            f"none of the data sets {', '.join(sizes.names)} was found; set {FOLDER_VARIABLE} to "
            "the folder of their files"
        )
    units = [unit for data in found.sets for unit in _plan_data_set(data, key, sizes)]
    parameters = {
        "key": key,
        "sizes": asdict(sizes),
        "data": [data.describe() for data in found.sets],
        "missing": list(found.missing),
    }
    return Experiment("beyond", parameters, units, partial(_summarize, found, sizes))


def explain_omission(method: str, data: DataSet) -> str | None:
    """Return why a method cannot be run on a data set, or None if it can.

    Parameters
    ----------
    method : str
        A name of `FITTED`.
    data : DataSet
        The rows.
    """
    n, d = data.rows.shape
    if data.is_sparse and method in DENSE_ONLY:
        return (
            f"it takes no sparse rows, and {n:,} x {d:,} dense numbers need {n * d / 2**27:.1f} GB"
        )
    if method == "LLE" and n > MAX_LLE_ROWS:
        return f"its eigenvectors of a dense {n:,} x {n:,} matrix take minutes"
    return None


def _plan_data_set(data: DataSet, key: int, sizes: Sizes) -> list[Unit]:
    large = data.rows.shape[0] > LARGE_ROWS
    keys = range(key, key + (sizes.n_draws_large if large else sizes.n_draws))
    units = [
        Unit(f"{data.name} {method} t={t}", partial(_measure_reduction, data, method, t, keys))
        for method in FITTED
        if explain_omission(method, data) is None
        for t in sizes.dimensions
    ]
    units += [
        Unit(f"{data.name} {RP} t={t}", partial(_measure_projection, data, t, keys))
        for t in sizes.dimensions
    ]
    units.append(Unit(f"{data.name} {HD}", partial(_measure_original, data, keys)))
    units.append(Unit(f"{data.name} {DEFAULT}", partial(_measure_default, data, keys)))
    return units


def _paper_kmeans(data: DataSet, key: int, **parameters: Any) -> ProjectedKMeans:
    """Return the paper's k-means, started by k-means++, because classes are not known in use.

    Single-point moves need dense rows, so that sparse ones in all dimensions get Lloyd's alone.
    """
    moves = not data.is_sparse or parameters.get("projection") is not None
    return ProjectedKMeans(
        data.n_clusters,
        n_init=1,
        solver="hartigan" if moves else "lloyd",
        max_iter=MAX_ITER,
        random_state=key,
        **parameters,
    )


def _measure_reduction(data: DataSet, method: str, t: int, keys: range) -> dict[str, list[float]]:
    begin = time.perf_counter()
    sketch = FITTED[method](t).fit_transform(data.rows)
    seconds = time.perf_counter() - begin
    dense = DataSet(data.name, sketch, data.n_clusters)
    models = [_paper_kmeans(dense, key, projection=None).fit(sketch) for key in keys]
    return _score(data, models) | {"reduce_seconds": [seconds]}


def _measure_projection(data: DataSet, t: int, keys: range) -> dict[str, list[float]]:
    options = {"projection": "sign", "n_components": t, "polish_iter": 0}
    return _score(data, [_paper_kmeans(data, key, **options).fit(data.rows) for key in keys])


def _measure_original(data: DataSet, keys: range) -> dict[str, list[float]]:
    return _score(data, [_paper_kmeans(data, key, projection=None).fit(data.rows) for key in keys])


def _measure_default(data: DataSet, keys: range) -> dict[str, Any]:
    models = [ProjectedKMeans(data.n_clusters, random_state=key).fit(data.rows) for key in keys]
    return _score(data, models) | {"t": models[0].n_components_}


def _score(data: DataSet, models: Sequence[ProjectedKMeans]) -> dict[str, list[float]]:
    """Return P and F~ of every fit, and the seconds of its two steps; reading is not counted."""
    assert data.classes is not None
    steps = ("seed", "cluster", "lift", "polish")
    return {
        "P": [clustering_accuracy(data.classes, model.labels_) for model in models],
        "F": [normalized_inertia(data.rows, model.labels_) for model in models],
        "reduce_seconds": [model.timings_.get("reduce", 0.0) for model in models],
        "cluster_seconds": [
            sum(model.timings_.get(step, 0.0) for step in steps) for model in models
        ],
    }


def _summarize(found: Found, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "dimensions": list(sizes.dimensions),
        "data": [_summarize_data_set(data, sizes, measured) for data in found.sets],
    }


def _summarize_data_set(data: DataSet, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    reasons = {method: explain_omission(method, data) for method in FITTED}
    n, d = data.rows.shape
    points = [
        _describe_point(method, t, measured[f"{data.name} {method} t={t}"])
        for method in (*FITTED, RP)
        if reasons.get(method) is None
        for t in sizes.dimensions
    ]
    points.append(_describe_point(HD, d, measured[f"{data.name} {HD}"]))
    default = measured[f"{data.name} {DEFAULT}"]
    points.append(_describe_point(DEFAULT, default["t"], default))
    one_cluster = normalized_inertia(data.rows, np.zeros(n, dtype=np.int32))
    return {
        "name": data.name,
        "n": n,
        "d": d,
        "k": data.n_clusters,
        "sparse": data.is_sparse,
        "one_cluster": one_cluster,
        "n_draws": len(measured[f"{data.name} {HD}"]["P"]),
        "points": points,
        "left_out": {method: reason for method, reason in reasons.items() if reason is not None},
        "statements": judge_data_set(points, sizes.dimensions, one_cluster),
    }


def _describe_point(method: str, t: int, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean and the 90 % band of P and F~, and median seconds."""
    point: dict[str, Any] = {"method": method, "t": t}
    for name in ("P", "F"):
        low, high = np.quantile(record[name], [0.05, 0.95])
        point |= {
            name: float(np.mean(record[name])),
            f"{name}_low": float(low),
            f"{name}_high": float(high),
        }
    for name in ("reduce_seconds", "cluster_seconds"):
        point[name] = float(np.median(record[name]))
    return point

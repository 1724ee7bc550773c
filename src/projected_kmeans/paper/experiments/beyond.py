"""Table 2 beyond the face images: the same methods on four data sets, with bands over draws.

What the paper found on the faces, and what later users expect, is judged on every data set; each
statement has a rule that decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.baselines import SVDFeatures
from projected_kmeans.paper.charts import Chart, Panel, draw_series
from projected_kmeans.paper.data_sets import (
    FOLDER_VARIABLE,
    DataSet,
    Faces,
    FoundData,
    find_data_sets,
)
from projected_kmeans.paper.experiment import (
    Document,
    Exhibit,
    Experiment,
    Unit,
    measure_band,
)
from projected_kmeans.paper.experiments.table2 import DIMENSIONS, MAX_ITER, REDUCTIONS, score_fit
from projected_kmeans.paper.tables import (
    MEASURED,
    STATEMENT,
    VERDICT,
    Record,
    Table,
    as_sentences,
    group_by,
    tabulate,
)
from projected_kmeans.passes.scoring import normalized_inertia

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
# Data sets with more rows have `Sizes.n_draws_large` draws.
LARGE_ROWS = 3000
# RP counts as near HD if it lowers F~ by at least this share of what HD does.
NEAR = 0.9


@dataclass(frozen=True)
class Sizes:
    """How much is measured: the data sets, values of t, and draws of few and of many rows."""

    names: tuple[str, ...] = NAMES
    dimensions: tuple[int, ...] = DIMENSIONS
    n_draws: int = 20
    n_draws_large: int = 10


FULL = Sizes()
QUICK = Sizes(names=("ORL", "COIL20"), dimensions=(10, 50), n_draws=3, n_draws_large=2)


def plan_beyond(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment that repeats Table 2 on other data.

    Draw i uses the key ``key + i`` for the first centers and, with RP, for R.
    """
    found = find_data_sets(sizes.names, faces)
    if not found.sets:
        raise ValueError(
            f"none of the data sets {', '.join(sizes.names)} was found; set {FOLDER_VARIABLE} to "
            "the folder of their files"
        )
    units = [unit for data in found.sets for unit in _plan_data_set(data, key, sizes)]
    parameters = {"key": key, "sizes": asdict(sizes), **found.describe()}
    return Experiment("beyond", parameters, units, partial(_summarize, found, sizes))


def explain_omission(method: str, data: DataSet) -> str | None:
    """Return why a method of `FITTED` cannot be run on a data set, or None if it can."""
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
    scores = [score_fit(data.rows, data.classes, model, steps) for model in models]
    return {name: [score[name] for score in scores] for name in scores[0]}


def _summarize(found: FoundData, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
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


def _describe_point(method: str, t: int, record: Record) -> dict[str, Any]:
    """Return the mean and the 90 % band of P and F~, and median seconds."""
    point: dict[str, Any] = {"method": method, "t": t}
    for name in ("P", "F"):
        low, _, high = measure_band(record[name])
        point |= {
            name: float(np.mean(record[name])),
            f"{name}_low": float(low),
            f"{name}_high": float(high),
        }
    for name in ("reduce_seconds", "cluster_seconds"):
        point[name] = float(np.median(record[name]))
    return point


class Points:
    """The measured points of one data set, by method and t, and F~ of all rows as one cluster."""

    def __init__(
        self, points: Sequence[Record], dimensions: Sequence[int], one_cluster: float
    ) -> None:
        self.one_cluster = one_cluster
        self.dimensions = tuple(dimensions)
        self.points = points
        self.methods = {point["method"] for point in points}

    def get(self, method: str, name: str, t: int | None = None) -> float:
        """Return a value of a method; t is not needed for methods that have one point only."""
        return next(
            float(point[name])
            for point in self.points
            if point["method"] == method and t in (None, point["t"])
        )

    def curve(self, method: str, name: str) -> list[float]:
        """Return the values of a method by t."""
        return [self.get(method, name, t) for t in self.dimensions]


class Verdict(NamedTuple):
    """What was measured, in words, and whether the statement holds."""

    measured: str
    holds: bool


def _judge_fastest(points: Points) -> Verdict:
    t = points.dimensions[len(points.dimensions) // 2]
    seconds = {
        method: points.get(method, "reduce_seconds", t)
        for method in ("SVD", "LLE", "LS")
        if method in points.methods
    }
    own = points.get(RP, "reduce_seconds", t)
    fastest = min(seconds, key=lambda method: seconds[method])
    rival = seconds[fastest]
    return Verdict(
        f"at t = {t}: {own:.3g} s; the next one is {fastest} with {rival:.3g} s, "
        f"{rival / own:.1f} times as long",
        own < rival,
    )


def _judge_fall(points: Points) -> Verdict:
    curve = points.curve(RP, "F")
    falls = all(after < before for before, after in pairwise(curve))
    return Verdict(" > ".join(f"{value:.4f}" for value in curve), falls)


def _judge_near(points: Points) -> Verdict:
    t = points.dimensions[-1]
    own, rival = points.get(RP, "F", t), points.get(HD, "F")
    share = (points.one_cluster - own) / (points.one_cluster - rival)
    return Verdict(
        f"F~ is {points.one_cluster:.4f} with one cluster, {own:.4f} with RP at t = {t} and "
        f"{rival:.4f} with HD: {share:.0%} of the fall",
        share >= NEAR,
    )


def _judge_accuracy(at: int, above: bool, points: Points) -> Verdict:
    """Judge whether P of RP is above or below that of SVD at one of the values of t."""
    t = points.dimensions[at]
    own, rival = points.get(RP, "P", t), points.get("SVD", "P", t)
    measured = f"P at t = {t}: RP {own:.3f}, SVD {rival:.3f}"
    return Verdict(measured, own > rival if above else own < rival)


def _judge_saving(points: Points) -> Verdict:
    t = points.dimensions[-1]
    own, rival = (
        points.get(method, "reduce_seconds", at) + points.get(method, "cluster_seconds", at)
        for method, at in ((RP, t), (HD, None))
    )
    return Verdict(
        f"{own:.3g} s at t = {t}, {rival:.3g} s in all dimensions: {rival / own:.1f} times as fast",
        own < rival,
    )


def _judge_lower(method: str, rival: str, points: Points) -> Verdict:
    """Judge whether F~ of a method is below that of a rival at every t."""
    pairs = list(zip(points.curve(method, "F"), points.curve(rival, "F"), strict=True))
    return Verdict(
        "F~ by t: " + ", ".join(f"{own:.4f} against {other:.4f}" for own, other in pairs),
        all(own < other for own, other in pairs),
    )


def _judge_embedding(points: Points) -> Verdict:
    best = max(points.points, key=lambda point: point["P"])
    own = max(points.curve("LLE", "P"))
    return Verdict(
        f"LLE reaches P = {own:.3f}; the highest of all is {best['P']:.3f} ({best['method']}, "
        f"t = {best['t']})",
        bool(best["method"] == "LLE"),
    )


def _judge_default(points: Points) -> Verdict:
    best = min(points.points, key=lambda point: point["F"])
    own = points.get(DEFAULT, "F")
    return Verdict(
        f"F~ {own:.4f}; the lowest of all is {best['F']:.4f} ({best['method']}, t = {best['t']})",
        bool(best["method"] == DEFAULT),
    )


class Statement(NamedTuple):
    """A sentence, the function that decides, and the methods that it needs besides RP and SVD."""

    sentence: str
    judge: Callable[[Points], Verdict]
    needs: tuple[str, ...] = ()


STATEMENTS: Mapping[str, Statement] = MappingProxyType(
    {
        "fastest": Statement("RP is the fastest reduction", _judge_fastest),
        "fall": Statement("F~ of RP falls as t grows", _judge_fall),
        "near": Statement(
            f"at the largest t, RP lowers F~ by at least {NEAR:.0%} of what HD does", _judge_near
        ),
        "few": Statement(
            "at the smallest t, P of RP is below that of SVD", partial(_judge_accuracy, 0, False)
        ),
        "many": Statement(
            "at the largest t, P of RP is above that of SVD", partial(_judge_accuracy, -1, True)
        ),
        "saving": Statement("RP and k-means take less time than HD", _judge_saving),
        "scale": Statement(
            "SVD with Sigma has a lower F~ than SVD at every t",
            partial(_judge_lower, "SVD with Sigma", "SVD"),
        ),
        "sigma": Statement(
            "SVD with Sigma has a lower F~ than RP at every t",
            partial(_judge_lower, "SVD with Sigma", RP),
        ),
        "scores": Statement(
            "RP has a lower F~ than LS at every t", partial(_judge_lower, RP, "LS"), ("LS",)
        ),
        "embedding": Statement("LLE reaches the highest P of all", _judge_embedding, ("LLE",)),
        "default": Statement("the library's default has the lowest F~", _judge_default),
    }
)


def judge_data_set(
    points: Sequence[Record], dimensions: Sequence[int], one_cluster: float
) -> list[dict[str, Any]]:
    """Return every statement on one data set; those whose methods were left out have no verdict.

    The last argument is F~ of all rows as one cluster.
    """
    measured = Points(points, dimensions, one_cluster)
    judged: list[dict[str, Any]] = []
    for name, statement in STATEMENTS.items():
        values: dict[str, Any] = {"measured": "left out", "holds": None}
        if measured.methods.issuperset(statement.needs):
            values = statement.judge(measured)._asdict()
        judged.append({"name": name, "statement": statement.sentence, **values})
    return judged


def _tabulate(document: Document) -> list[Table]:
    data_sets = document["results"]["data"]
    names = [statement["name"] for statement in data_sets[0]["statements"]]
    title = "What holds on which data"
    tables = [
        *map(_tabulate_points, data_sets),
        tabulate_statements(title, list_statements(names, data_sets)),
    ]
    left_out = tuple(
        (method, data["name"], reason)
        for data in data_sets
        for method, reason in data["left_out"].items()
    )
    if left_out:
        header = ("method", "data", "because")
        tables.append(Table("left_out", "Methods that were left out", header, left_out))
    return tables


def name_chart(data: str) -> str:
    """Return the name of the figure of a data set."""
    return f"beyond_{_name_file(data)}"


def _name_file(data: str) -> str:
    return data.lower().replace(" ", "_")


def _tabulate_points(data: Record) -> Table:
    columns = (
        ("method", "{method}"),
        ("t", "{t}"),
        ("P", "{P:.4f}"),
        ("90 % band", "{P_low:.4f} to {P_high:.4f}"),
        ("F~", "{F:.4f}"),
        ("90 % band", "{F_low:.4f} to {F_high:.4f}"),
        ("s to reduce", "{reduce_seconds:.3f}"),
        ("s to cluster", "{cluster_seconds:.3f}"),
    )
    title = (
        f"{data['name']}: {data['n']:,} x {data['d']:,}{', sparse' if data['sparse'] else ''}, "
        f"k = {data['k']}, mean of {data['n_draws']} draws; F~ of one cluster is "
        f"{data['one_cluster']:.4f}"
    )
    return tabulate(_name_file(data["name"]), title, data["points"], columns)


def list_statements(names: Sequence[str], data_sets: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the statements of these names on all data sets, each with the name of its data."""
    return [
        {**statement, "data": data["name"]}
        for name in names
        for data in data_sets
        for statement in data["statements"]
        if statement["name"] == name
    ]


def tabulate_statements(title: str, statements: Sequence[Record]) -> Table:
    """Return statements on data sets as a table."""
    columns = (STATEMENT, ("data", "{data}"), MEASURED, VERDICT)
    return tabulate("statements", title, statements, columns)


def _conclude(document: Document) -> list[str]:
    verdicts = [
        statement["holds"]
        for data in document["results"]["data"]
        for statement in data["statements"]
        if statement["holds"] is not None
    ]
    return [
        *as_sentences(document["parameters"]["missing"]),
        "P and F~ are means over draws of first centers (k-means++) and, for RP, of R; unlike in "
        "Table 2, no class is used to start. Sparse rows in all dimensions get Lloyd's method "
        "alone, because moves of single points need dense rows.",
        f"{sum(verdicts)} of {len(verdicts)} statements hold on the data where they can be tested",
    ]


def total_seconds(point: Record) -> float:
    """Return the seconds to reduce and to cluster."""
    return float(point["reduce_seconds"] + point["cluster_seconds"])


def _chart(document: Document) -> list[Chart]:
    return [
        Chart(name_chart(data["name"]), _draw_data_set(data), shared_legend=True)
        for data in document["results"]["data"]
    ]


def _draw_data_set(data: Record) -> tuple[Panel, ...]:
    points = [{**point, "seconds": total_seconds(point)} for point in data["points"]]
    by_method = group_by(points, itemgetter("method"))
    (high,), (default,) = by_method[HD], by_method[DEFAULT]
    levels = {f"HD, all {data['d']:,} dimensions": high, f"default, t = {default['t']}": default}
    panels = []
    for name, label, title in (
        ("F", "F~", "normalized inertia F~"),
        ("P", "P", "accuracy P"),
        ("seconds", "seconds", "reduce and cluster"),
    ):
        band = () if name == "seconds" else (f"{name}_low", f"{name}_high")
        panels.append(
            Panel(
                f"{data['name']}: {title}",
                "t",
                label,
                tuple(
                    draw_series(method, by_method[method], "t", name, *band, colour=colour)
                    for colour, method in enumerate((*FITTED, RP))
                    if method in by_method
                ),
                tuple((level, point[name]) for level, point in levels.items()),
                log_x=True,
                log_y=name == "seconds",
            )
        )
    return tuple(panels)


EXHIBIT = Exhibit(
    "beyond",
    "Table 2 and Figure 1 beyond the faces",
    "The methods of Table 2 at the same t on four data sets: faces, objects from 72 angles, "
    "handwritten digits, and texts as weighted counts of words. Rows are reduced, clustered by "
    "MatLab's two phases in at most 30 iterations, and scored on the original columns. SVD with "
    "Sigma keeps the scale of the singular vectors; the default is this library without any "
    "settings. [When which reduction wins](explanation/reductions.md) says the same in words.",
    plan_beyond,
    FULL,
    QUICK,
    _tabulate,
    _conclude,
    _chart,
)

"""The view of the experiment beyond the faces: a table, a figure and verdicts for each data set.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from projected_kmeans.paper.experiments.beyond import DEFAULT, FITTED, HD, RP
from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.tables import Table, format_verdict
from projected_kmeans.paper.views.view import Document, View

METHODS = (*FITTED, RP)


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    tables = [_tabulate_data_set(one) for one in results["data"]]
    tables.append(_tabulate_statements(results["data"]))
    left_out = _tabulate_left_out(results["data"])
    return [*tables, left_out] if left_out.rows else tables


def name_chart(data: str) -> str:
    """Return the name of the figure of a data set."""
    return f"beyond_{_name_file(data)}"


def _name_file(data: str) -> str:
    return data.lower().replace(" ", "_")


def _tabulate_data_set(data: Mapping[str, Any]) -> Table:
    rows = [
        (
            point["method"],
            str(point["t"]),
            *(
                text
                for name in "PF"
                for text in (
                    f"{point[name]:.4f}",
                    f"{point[f'{name}_low']:.4f} to {point[f'{name}_high']:.4f}",
                )
            ),
            f"{point['reduce_seconds']:.3f}",
            f"{point['cluster_seconds']:.3f}",
        )
        for point in data["points"]
    ]
    header = ("method", "t", "P", "90 % band", "F~", "90 % band", "s to reduce", "s to cluster")
    title = (
        f"{data['name']}: {data['n']:,} x {data['d']:,}{', sparse' if data['sparse'] else ''}, "
        f"k = {data['k']}, mean of {data['n_draws']} draws; F~ of one cluster is "
        f"{data['one_cluster']:.4f}"
    )
    return Table(_name_file(data["name"]), title, header, tuple(rows))


def _tabulate_statements(data_sets: list[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (one["statement"], data["name"], one["measured"], show_verdict(one["holds"]))
        for index in range(len(data_sets[0]["statements"]))
        for data in data_sets
        for one in (data["statements"][index],)
    )
    header = ("statement", "data", "measured", "verdict")
    return Table("statements", "What holds on which data", header, rows)


def show_verdict(holds: bool | None) -> str:
    """Return the words for a statement that holds, does not hold, or cannot be tested."""
    return "-" if holds is None else format_verdict(holds)


def _tabulate_left_out(data_sets: list[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (method, data["name"], reason)
        for data in data_sets
        for method, reason in data["left_out"].items()
    )
    return Table("left_out", "Methods that were left out", ("method", "data", "because"), rows)


def _conclude(document: Document) -> list[str]:
    missing = document["parameters"]["missing"]
    judged = [
        one["holds"]
        for data in document["results"]["data"]
        for one in data["statements"]
        if one["holds"] is not None
    ]
    return [
        *(f"{sentence[0].upper()}{sentence[1:]}." for sentence in missing),
        "P and F~ are means over draws of first centers (k-means++) and, for RP, of R; unlike in "
        "Table 2, no class is used to start. Sparse rows in all dimensions get Lloyd's method "
        "alone, because moves of single points need dense rows.",
        f"{sum(judged)} of {len(judged)} statements hold on the data where they can be tested",
    ]


def _chart(document: Document) -> list[Chart]:
    return [
        Chart(name_chart(data["name"]), _draw_data_set(data), shared_legend=True)
        for data in document["results"]["data"]
    ]


def _draw_data_set(data: Mapping[str, Any]) -> tuple[Panel, ...]:
    high, default = (
        next(point for point in data["points"] if point["method"] == method)
        for method in (HD, DEFAULT)
    )
    labels = (f"HD, all {data['d']:,} dimensions", f"default, t = {default['t']}")
    panels = [
        Panel(
            f"{data['name']}: {title}",
            "t",
            name if name == "P" else "F~",
            tuple(
                _draw_method(data, method, name)
                for method in METHODS
                if method not in data["left_out"]
            ),
            tuple(zip(labels, (high[name], default[name]), strict=True)),
            log_x=True,
        )
        for name, title in (("F", "normalized inertia F~"), ("P", "accuracy P"))
    ]
    seconds = tuple(zip(labels, (_total_seconds(high), _total_seconds(default)), strict=True))
    curves = tuple(
        _draw_seconds(data, method) for method in METHODS if method not in data["left_out"]
    )
    title = f"{data['name']}: reduce and cluster"
    panels.append(Panel(title, "t", "seconds", curves, seconds, log_x=True, log_y=True))
    return tuple(panels)


def _draw_method(data: Mapping[str, Any], method: str, name: str) -> Series:
    points = [point for point in data["points"] if point["method"] == method]
    mean, low, high = (
        [point[part] for point in points] for part in (name, f"{name}_low", f"{name}_high")
    )
    dimensions = [point["t"] for point in points]
    return Series(method, dimensions, mean, low, high, "o-", METHODS.index(method))


def _draw_seconds(data: Mapping[str, Any], method: str) -> Series:
    points = [point for point in data["points"] if point["method"] == method]
    seconds = [_total_seconds(point) for point in points]
    dimensions = [point["t"] for point in points]
    return Series(method, dimensions, seconds, style="o-", colour=METHODS.index(method))


def _total_seconds(point: Mapping[str, Any]) -> float:
    return float(point["reduce_seconds"] + point["cluster_seconds"])


VIEW = View(
    "beyond",
    "Table 2 and Figure 1 beyond the faces",
    "The methods of Table 2 at the same t on four data sets: faces, objects from 72 angles, "
    "handwritten digits, and texts as weighted counts of words. Rows are reduced, clustered by "
    "MatLab's two phases in at most 30 iterations, and scored on the original columns. SVD with "
    "Sigma keeps the scale of the singular vectors; the default is this library without any "
    "settings. [When which reduction wins](explanation/reductions.md) says the same in words.",
    _tabulate,
    _conclude,
    _chart,
)

"""The plots of a report, as JSON for Bokeh.

The page embeds them, together with Bokeh's script, and sets their colours for its light and dark
modes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.reports.sentences import ProvenPoint, list_points, min_dimensions
from projected_kmeans.reports.values import (
    CertificateFacts,
    DimensionCurve,
    FitFacts,
    PassLine,
    Report,
    RowMap,
)

# The colours of Okabe and Ito, which people with colour blindness can tell apart. Black is left
# out, and so is yellow, which is hard to see on white. Clusters of the same colour have different
# marks.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS = ("circle", "triangle", "square", "diamond", "inverted_triangle", "hex", "star")
ACCENT, BOUND, QUIET, LEADER = "#0072b2", "#d55e00", "#8a94a3", "#5b6675"

# Centers have numbers on the map if there are at most this many; more would hide the rows.
MAX_NUMBERED_CENTERS = 60

# The plot of the proven interval begins at this share of the inertia or below, so that
# rounding errors do not fill it.
HIGHEST_START = 0.999


def draw_plots(report: Report) -> dict[str, Any]:
    """Return the plots for which a report has numbers, by the element of the page for each.

    They are the items that ``Bokeh.embed.embed_item`` takes.
    """
    embed = _load("bokeh.embed")
    figures = {}
    if report.row_map is not None:
        figures["plot-map"] = _draw_map(report.row_map)
    if report.passes:
        figures["plot-passes"] = _draw_passes(report.passes)
    if report.curve is not None:
        figures["plot-curve"] = _draw_curve(report.curve, report.facts)
    points = list_points(report)
    if points:
        figures["plot-proof"] = _draw_proof(points, report.facts.results.certificate)
    return {place: embed.json_item(figure, place) for place, figure in figures.items()}


def load_script() -> str:
    """Return Bokeh's script, without its widgets and tables, which reports do not use."""
    resources = _load("bokeh.resources")
    return "\n".join(resources.Resources(mode="inline", components=["bokeh"]).js_raw)


def can_draw() -> bool:
    """Return whether the optional packages that draw a report are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("bokeh", "jinja2"))


def _load(module: str) -> Any:
    return load_extra(module, "report", "a report")


def _figure(**options: Any) -> Any:
    plotting = _load("bokeh.plotting")
    figure = plotting.figure(
        sizing_mode="stretch_width",
        toolbar_location=None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **options,
    )
    for axis in figure.axis:
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "13px"
        if axis.formatter.__class__.__name__ == "BasicTickFormatter":
            axis.formatter.power_limit_high = 9
        axis.minor_tick_line_color = axis.axis_line_color = axis.major_tick_line_color = None
    figure.grid.grid_line_alpha = 0.5
    figure.grid.grid_line_color = QUIET
    figure.grid.grid_line_dash = [1, 3]
    return figure


def _draw_map(points: RowMap) -> Any:
    models = _load("bokeh.models")
    figure = _figure(
        height=520,
        x_axis_label="first direction",
        y_axis_label="second direction",
        tools="pan,box_zoom,wheel_zoom,reset",
    )
    figure.toolbar.active_drag = None  # so that a finger scrolls the page and not the map
    figure.toolbar.active_scroll = None
    source = models.ColumnDataSource(
        data={
            "x": list(points.x),
            "y": list(points.y),
            "row": list(points.rows),
            "cluster": list(points.clusters),
            "colour": [COLOURS[label % len(COLOURS)] for label in points.clusters],
            **({"name": list(points.names)} if points.names else {}),
            "mark": [mark_of(label) for label in points.clusters],
        },
        name="rows",
    )
    rows = figure.scatter(
        "x",
        "y",
        source=source,
        marker="mark",
        color="colour",
        line_color=None,
        size=7,
        fill_alpha=0.7,
        nonselection_fill_alpha=0.06,
        selection_fill_alpha=0.95,
        name="map-rows",
    )
    tooltips = [("row", "@name" if points.names else "@row"), ("cluster", "@cluster")]
    figure.add_tools(models.HoverTool(renderers=[rows], tooltips=tooltips))
    for axis_range in (figure.x_range, figure.y_range):
        axis_range.renderers = [rows]  # a number that is moved must not move the map
    _number_centers(figure, points)
    return figure


def _number_centers(figure: Any, points: RowMap) -> None:
    """Mark the centers by their numbers.

    The page moves numbers that overlap; a line then leads to the center.
    """
    if len(points.center_x) > MAX_NUMBERED_CENTERS:
        return
    models = _load("bokeh.models")
    x, y = list(points.center_x), list(points.center_y)
    text = [str(label) for label in range(len(x))]
    data = {"x": x, "y": y, "center_x": x, "center_y": y, "text": text}
    source = models.ColumnDataSource(data=data)
    figure.segment("center_x", "center_y", "x", "y", source=source, line_color=LEADER)
    figure.scatter(
        "x", "y", source=source, size=20, color="#ffffff", alpha=0.9, line_color="#333b47"
    )
    figure.text(
        "x",
        "y",
        text="text",
        source=source,
        text_align="center",
        text_baseline="middle",
        text_font_size="11px",
        text_color="#1b2430",
        name="map-numbers",
    )


def _draw_passes(lines: tuple[PassLine, ...]) -> Any:
    models = _load("bokeh.models")
    figure = _figure(
        height=340,
        x_axis_label="pass over the rows",
        y_axis_label="inertia per row, on the sketch",
        tools="",
    )
    shown = sorted(lines, key=lambda line: line.won)  # the best run is drawn last, on top
    for line in shown:
        data = {
            "pass": list(line.passes),
            "inertia": list(line.inertia),
            "restart": [line.restart + 1] * len(line.passes),
            "rows": [f"{line.rows:,}"] * len(line.passes),
        }
        style = {"color": ACCENT, "width": 3.0} if line.won else {"color": QUIET, "width": 1.5}
        source = models.ColumnDataSource(data=data)
        figure.line(
            "pass", "inertia", source=source, line_color=style["color"], line_width=style["width"]
        )
        dots = figure.scatter("pass", "inertia", source=source, size=5, color=style["color"])
        tooltips = [
            ("restart", "@restart"),
            ("pass", "@pass"),
            ("inertia per row", "@inertia{0.00000}"),
            ("rows", "@rows"),
        ]
        figure.add_tools(models.HoverTool(renderers=[dots], tooltips=tooltips))
    return figure


def _draw_curve(curve: DimensionCurve, facts: FitFacts) -> Any:
    models = _load("bokeh.models")
    figure = _figure(
        height=340,
        x_axis_type="log",
        x_axis_label="dimensions t",
        y_axis_label="inertia, as a multiple",
        tools="",
    )
    source = models.ColumnDataSource(
        data={"t": list(curve.dimensions), "ratio": list(curve.ratios)}
    )
    figure.line("t", "ratio", source=source, line_color=ACCENT, line_width=3)
    dots = figure.scatter("t", "ratio", source=source, size=8, color=ACCENT)
    n_clusters = len(facts.results.cluster_sizes)
    dimensions, ratios = draw_guarantee(n_clusters, facts.data.shape[1])
    if dimensions:
        figure.line(dimensions, ratios, line_color=BOUND, line_width=2.5, line_dash=[8, 5])
    tooltips = [("dimensions", "@t"), ("times this fit's inertia", "@ratio{0.0000}")]
    figure.add_tools(models.HoverTool(renderers=[dots], tooltips=tooltips))
    figure.y_range.start = 0.9
    ticks = [*curve.dimensions, *([facts.data.shape[1]] if dimensions else [])]
    figure.xaxis.ticker = ticks
    figure.xaxis.major_label_overrides = {tick: str(tick) for tick in ticks}
    return figure


def _draw_proof(points: Sequence[ProvenPoint], certificate: CertificateFacts | None) -> Any:
    models = _load("bokeh.models")
    lowest = min(points[0].share, HIGHEST_START)
    margin = 5 * (1 - lowest)
    end = max(points[-1].seconds, 0.0 if certificate is None else certificate.seconds)
    figure = _figure(
        height=340,
        x_axis_label="seconds since the proof began",
        y_axis_label="percent of this clustering's inertia",
        x_range=(0.0, 1.02 * end or 1.0),
        y_range=(100 * lowest - margin, 100 + margin),
        tools="",
    )
    x, y = draw_stairs(points, end)
    figure.varea(x, y, [100.0] * len(x), fill_color=BOUND, fill_alpha=0.18)
    figure.line([x[0], end], [100.0, 100.0], line_color=ACCENT, line_width=3)
    figure.line(x, y, line_color=BOUND, line_width=2.5)
    data = {
        "seconds": [point.seconds for point in points],
        "percent": [100 * point.share for point in points],
        "bound": [point.write_bound() for point in points],
        "share": [point.write_share() for point in points],
    }
    source = models.ColumnDataSource(data=data)
    dots = figure.scatter("seconds", "percent", source=source, size=5, color=BOUND)
    tooltips = [
        ("seconds", "@seconds{0.00}"),
        ("no inertia is below", "@bound"),
        ("of this inertia", "@share"),
    ]
    figure.add_tools(models.HoverTool(renderers=[dots], tooltips=tooltips))
    return figure


def mark_of(label: int) -> str:
    """Return the shape of a cluster on the map; clusters of one colour have different shapes."""
    return MARKS[label // len(COLOURS) % len(MARKS)]


def draw_guarantee(n_clusters: int, n_columns: int) -> tuple[list[float], list[float]]:
    """Return dimensions t, and the multiple of the minimum inertia that Theorem 1 promises there.

    With t = k / eps^2 random signs (constant 1), eps below 1/3, and a solver that finds the best
    clustering of the sketch (gamma = 1), that is 1 + (1 + eps) gamma = 2 + eps, with probability
    0.97. Both lists are empty if the theorem needs more dimensions than there are columns.
    """
    if min_dimensions(n_clusters) > n_columns:
        return [], []
    t = np.geomspace(min_dimensions(n_clusters), n_columns, 40)
    return t.round(6).tolist(), (2 + np.sqrt(n_clusters / t)).tolist()


def draw_stairs(points: Sequence[ProvenPoint], end: float) -> tuple[list[float], list[float]]:
    """Return a staircase of seconds and percents, in which each bound holds until the next one.

    Examples
    --------
    >>> draw_stairs([ProvenPoint(0.5, 6.0, 0.5), ProvenPoint(1.0, 9.0, 0.75)], 4.0)
    ([0.5, 1.0, 1.0, 4.0], [50.0, 50.0, 75.0, 75.0])
    """
    seconds = [time for time in (*(point.seconds for point in points), end) for _ in range(2)]
    return seconds[1:-1], [100 * point.share for point in points for _ in range(2)]

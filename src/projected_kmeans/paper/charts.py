"""A chart, described by values, as PNG and SVG.

The only module that imports matplotlib, and only when a chart is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image

from projected_kmeans.optional_packages import install_command
from projected_kmeans.output_files import write_atomically

FORMATS = ("png", "svg")
INSTALL = install_command("paper")
DOTS_PER_INCH = 100
PANEL_INCHES = (4.0, 3.2)
LEGEND_INCHES = 0.5
LEGEND_COLUMNS = 4
PNG_COLOURS = 256
MAX_LABELS = 10


class NoFigures(ValueError):
    """Figures cannot be drawn here; the message says what to install."""


@dataclass(frozen=True)
class Series:
    """One line of a panel, with a band around it if low and high are given.

    Lines take colours in turn, unless ``colour`` is the number of one.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: str = "-"
    colour: int | None = None


def draw_series(
    label: str,
    records: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    low: str | None = None,
    high: str | None = None,
    *,
    colour: int | None = None,
) -> Series:
    """Return a line with a mark for each record, from the names of the fields that it shows."""

    def read(name: str | None) -> Any:
        return None if name is None else [record[name] for record in records]

    return Series(label, read(x), read(y), read(low), read(high), "o-", colour)


@dataclass(frozen=True)
class Panel:
    """Axes, the series in them, and labelled horizontal lines."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    levels: tuple[tuple[str, float], ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Chart:
    """Panels in ``n_columns`` columns and as many rows as needed.

    With ``shared_legend`` all panels have the same series, and one legend below them names these.
    """

    name: str
    panels: tuple[Panel, ...]
    n_columns: int = 3
    shared_legend: bool = False


def save_chart(chart: Chart, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw a chart into an existing folder and return the files."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise NoFigures(f"figures need matplotlib, which is not installed; {INSTALL}") from error
    files = []
    with rc_context({"svg.hashsalt": chart.name, "svg.fonttype": "none", "font.size": 9}):
        figure = _draw(chart)
        for kind in formats:
            path = folder / f"{chart.name}.{kind}"
            write_atomically(path, partial(_WRITERS[kind], figure))
            files.append(path)
    return files


def _write_png(figure: Any, handle: BinaryIO) -> None:
    """Write with 256 colours, which suffice for a chart and make the file a third of the size."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH)
    drawn.seek(0)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(PNG_COLOURS).save(handle, format="png", optimize=True)


def _write_svg(figure: Any, handle: BinaryIO) -> None:
    """Write without a date, so that the same chart gives the same bytes."""
    figure.savefig(handle, format="svg", metadata={"Date": None})


_WRITERS = {"png": _write_png, "svg": _write_svg}


def _draw(chart: Chart) -> Any:
    from matplotlib.figure import Figure

    n_columns = min(chart.n_columns, len(chart.panels))
    n_rows = -(-len(chart.panels) // n_columns)
    extra = LEGEND_INCHES if chart.shared_legend else 0.0
    figure = Figure(figsize=(PANEL_INCHES[0] * n_columns, PANEL_INCHES[1] * n_rows + extra))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel_axes, panel in zip(axes, chart.panels, strict=False):
        _draw_panel(panel_axes, panel)
        if not chart.shared_legend and _is_labelled(panel):
            panel_axes.legend(fontsize=7)
    for empty in axes[len(chart.panels) :]:
        empty.set_axis_off()
    if chart.shared_legend:
        lines, labels = axes[0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=LEGEND_COLUMNS, fontsize=8)
    return figure


def _draw_panel(axes: Any, panel: Panel) -> None:
    for series in panel.series:
        colour = {} if series.colour is None else {"color": f"C{series.colour}"}
        (line,) = axes.plot(
            series.x,
            series.y,
            series.style,
            label=series.label,
            markersize=3,
            linewidth=1.3,
            **colour,
        )
        if series.low is not None and series.high is not None:
            axes.fill_between(
                series.x, series.low, series.high, color=line.get_color(), alpha=0.2, linewidth=0
            )
    for index, (label, value) in enumerate(panel.levels):
        axes.axhline(
            value, color="0.3", linestyle=("--", ":", "-.")[index % 3], linewidth=1, label=label
        )
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
        _label_points(axes, panel)
    if panel.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.25, linewidth=0.5)


def _is_labelled(panel: Panel) -> bool:
    return bool(panel.levels) or any(series.label for series in panel.series)


def _label_points(axes: Any, panel: Panel) -> None:
    """Label a logarithmic axis at the points themselves if they are at most `MAX_LABELS`."""
    points = sorted({value for series in panel.series for value in series.x})
    if len(points) <= MAX_LABELS:
        axes.set_xticks(points, [f"{value:g}" for value in points], fontsize=7)
        axes.set_xticks([], minor=True)

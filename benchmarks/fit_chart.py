"""Draw the picture of whole fits: F~ against seconds, a panel per data set, a curve per system.

Draws stored results. The only benchmark that imports matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fit_systems import OURS, SYSTEMS
from fit_tables import name_data_set

N_COLUMNS = 3
PANEL_INCHES = (4.2, 3.2)
LEGEND_INCHES = 0.9
MARKERS = "osD^v<>PX*"


def draw_fits(document: Mapping[str, Any], path: Path) -> None:
    """Write the picture as SVG, the same bytes for the same document; nothing without rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    entries = [entry for entry in document["data_sets"].values() if entry.get("rows")]
    if not entries:
        return
    n_columns = min(N_COLUMNS, len(entries))
    n_rows = -(-len(entries) // n_columns)
    size = (PANEL_INCHES[0] * n_columns, PANEL_INCHES[1] * n_rows + LEGEND_INCHES)
    with rc_context({"svg.hashsalt": "fit", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        curves: dict[str, Any] = {}
        for panel, entry in zip(panels, entries, strict=False):
            curves |= draw_panel(panel, entry)
        for panel in panels[len(entries) :]:
            panel.set_axis_off()
        names = [name for name in SYSTEMS if name in curves]
        figure.legend(
            [curves[name] for name in names], names, loc="outside lower center", ncols=n_columns + 1
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})


def draw_panel(panel: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the curves of a data set; return them by system."""
    from matplotlib.ticker import LogLocator

    curves = {}
    for number, name in enumerate(SYSTEMS):
        rows: Sequence[Any] = [row for row in entry["rows"] if row["system"] == name]
        if rows:
            (curves[name],) = panel.plot(
                [row["seconds"] for row in rows],
                [row["normalized_inertia"] for row in rows],
                marker=MARKERS[number % len(MARKERS)],
                color=f"C{number}",
                markersize=6 if name == OURS else 4,
                linewidth=2.5 if name == OURS else 1,
                zorder=3 if name == OURS else 2,
            )
    panel.set_xscale("log", subs=())
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set_title(name_data_set(entry), fontsize=8)
    panel.set_xlabel("seconds")
    panel.set_ylabel("F~")
    panel.grid(alpha=0.25, linewidth=0.5)
    return curves

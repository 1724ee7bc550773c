"""The view of Table 2: every measured pair beside the paper's, the spread of RP, the seconds.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projected_kmeans.paper.experiments.published import METHODS, TIMED_DIMENSION
from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.tables import Table
from projected_kmeans.paper.views.view import Document, View


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    return [
        _compare(results, document["parameters"]["data"]["shape"][0]),
        _tabulate_draws(results),
        _tabulate_seconds(results),
        _tabulate_variants(results),
    ]


def _compare(results: Mapping[str, Any], n_rows: int) -> Table:
    by_method: dict[str, list[Mapping[str, Any]]] = {}
    for row in results["rows"]:
        by_method.setdefault(row["method"], []).append(row)
    rows = tuple(
        cells
        for method, entries in by_method.items()
        for cells in (
            (method, "measured", *(f"{row['P']:.4f} {row['F']:.4f}" for row in entries)),
            ("", "paper", *(_show_printed(row) for row in entries)),
        )
    )
    header = ("", "", *(f"t = {row['t']}: P F" for row in by_method["SVD"]))
    title = (
        "P and F, measured and printed; RP is the median of the draws; = matches to four digits, "
        f"! is not a multiple of 1/{n_rows}"
    )
    return Table("values", title, header, rows)


def _show_printed(row: Mapping[str, Any]) -> str:
    if "match_P" not in row:
        return f"{row['paper_P']:.4f} {row['paper_F']:.4f}"
    marks = ["=" if row[f"match_{name}"] else "" for name in "PF"]
    if not row["paper_P_possible"]:
        marks[0] = "!"
    return f"{row['paper_P']:.4f}{marks[0]} {row['paper_F']:.4f}{marks[1]}"


def _tabulate_draws(results: Mapping[str, Any]) -> Table:
    rows = [row for row in results["rows"] if row["method"] == "RP"]
    cells = tuple(
        (
            str(row["t"]),
            *(
                text
                for name, digits in (("P", 4), ("F", 5))
                for text in (
                    " / ".join(
                        f"{row[part]:.{digits}f}" for part in (f"{name}_low", name, f"{name}_high")
                    ),
                    f"{row[f'paper_{name}']:.4f}",
                    f"{row[f'paper_{name}_quantile']:.3f}",
                )
            ),
        )
        for row in rows
    )
    header = (
        "t",
        "P 5 / 50 / 95 %",
        "paper's P",
        "its quantile",
        "F 5 / 50 / 95 %",
        "paper's F",
        "its quantile",
    )
    return Table("draws", f"RP over {rows[0]['n_draws']} draws of R", header, cells)


def _tabulate_seconds(results: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            row["method"],
            f"{row['seconds']:.4f}",
            f"{row['ratio_to_RP']:.1f}",
            f"{row['paper_seconds']:g}",
            f"{row['paper_ratio_to_RP']:.1f}",
        )
        for row in results["seconds"]
    )
    header = ("method", "seconds", "over RP", "paper's seconds", "over RP there")
    return Table("seconds", f"The reduction step at t = {TIMED_DIMENSION}", header, rows)


def _tabulate_variants(results: Mapping[str, Any]) -> Table:
    by_method: dict[str, list[str]] = {}
    for row in results["variants"]:
        by_method.setdefault(row["method"], []).append(f"{row['P']:.4f} {row['F']:.4f}")
    dimensions = sorted({row["t"] for row in results["variants"]})
    header = ("", *(f"t = {t}: P F" for t in dimensions))
    rows = tuple((method, *values) for method, values in by_method.items())
    return Table("variants", "The same methods with other choices", header, rows)


def _conclude(document: Document) -> list[str]:
    results = document["results"]
    data = document["parameters"]["data"]
    if not results["same_crop"]:
        return [
            f"The data is {data['name']}, the paper's people in another crop, so that trends can "
            "be compared but not digits"
        ]
    matches = results["matches"]
    high = next(row for row in results["rows"] if row["method"] == "HD")
    sentences = []
    if not high["paper_P_possible"]:
        sentences.append(
            f"P of HD is {high['P']:.4f}; the paper prints {high['paper_P']:.4f}, which is not "
            f"a number of images divided by {data['shape'][0]}: a misprint."
        )
    sentences.append(
        f"{matches['matching']} of {matches['total']} deterministic values match the paper"
    )
    return sentences


def _chart(document: Document) -> list[Chart]:
    rows = document["results"]["rows"]
    panels = []
    for name, title in (("P", "accuracy P"), ("F", "normalized inertia F")):
        series = [_draw_method(name, method, rows) for method in METHODS]
        drawn = [row for row in rows if row["method"] == "RP"]
        paper = [row[f"paper_{name}"] for row in drawn]
        label = "RP, the paper's draw"
        series.append(Series(label, [row["t"] for row in drawn], paper, style="x"))
        panels.append(Panel(title, "t", name, tuple(series), log_x=True))
    return [Chart("table2", tuple(panels))]


def _draw_method(name: str, method: str, rows: Sequence[Mapping[str, Any]]) -> Series:
    """Return the line of a method, with the band of the draws where there are some."""
    here = [row for row in rows if row["method"] == method]
    dimensions = [row["t"] for row in here]
    values = [row[name] for row in here]
    if method != "RP":
        return Series(method, dimensions, values, style="o-")
    low, high = ([row[f"{name}_{end}"] for row in here] for end in ("low", "high"))
    return Series("RP, median and 90 % band", dimensions, values, low, high, "o-")


VIEW = View(
    "table2",
    "Table 2: five methods on the face images",
    "400 images of 40 people are reduced to t dimensions, clustered by MatLab's two phases from "
    "the 1st, 11th, ..., 391st image in at most 30 iterations, and scored on the original pixels. "
    "The paper's digits come out with U_t without Sigma (SVD), Roweis' code with 40 neighbours and "
    "the constant eigenvector kept (LLE), and the constructW of May 2007 (LS).",
    _tabulate,
    _conclude,
    _chart,
)

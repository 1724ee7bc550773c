"""The view of Figure 1: three panels against t, and which of the paper's statements hold.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.tables import Table, format_verdict
from projected_kmeans.paper.views.view import Document, View

SHOWN = (5, 10, 20, 50, 90, 150, 200, 275, 300)
DIGITS = {"F": 5, "P": 4, "seconds": 4}


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    curves = results["curves"]
    rows = tuple(
        (str(t), *(cell for name in DIGITS for cell in _show_point(name, curves[name], at)))
        for at, t in enumerate(results["t"])
        if t in SHOWN
    )
    n_draws = document["parameters"]["sizes"]["n_draws"]
    header = ("t", "F~", "90 % band", "P", "90 % band", "seconds to cluster", "90 % band")
    statements = tuple(
        (one["statement"], one["measured"], one["rule"], format_verdict(one["holds"]))
        for one in results["statements"]
    )
    return [
        Table("curves", f"Mean and band over {n_draws} draws of R", header, rows),
        Table(
            "statements",
            "What the paper says about the figure",
            ("statement", "measured", "it holds if", "verdict"),
            statements,
        ),
    ]


def _show_point(name: str, curve: Mapping[str, Sequence[float]], at: int) -> tuple[str, str]:
    mean, low, high = (f"{curve[part][at]:.{DIGITS[name]}f}" for part in ("mean", "low", "high"))
    return mean, f"{low} to {high}"


def _conclude(document: Document) -> list[str]:
    statements = document["results"]["statements"]
    n_held = sum(one["holds"] for one in statements)
    sentences = []
    if not document["results"]["same_crop"]:
        name = document["parameters"]["data"]["name"]
        sentences.append(f"The data is {name}, another crop: statements compare as trends only.")
    return [*sentences, f"{n_held} of {len(statements)} statements about Figure 1 hold"]


def _chart(document: Document) -> list[Chart]:
    results = document["results"]
    titles = {
        "F": ("normalized inertia F~", "F~"),
        "P": ("accuracy P", "P"),
        "seconds": ("clustering step", "seconds"),
    }
    n_features = document["parameters"]["data"]["shape"][1]
    panels = []
    for name, (title, label) in titles.items():
        curve = results["curves"][name]
        series = Series(
            "mean and 90 % band", results["t"], curve["mean"], curve["low"], curve["high"]
        )
        level = (f"all {n_features} dimensions", results["original"][name])
        panels.append(Panel(title, "t", label, (series,), (level,), log_y=name == "seconds"))
    return [Chart("figure1", tuple(panels))]


VIEW = View(
    "figure1",
    "Figure 1: F~, P and time against t",
    "Algorithm 1 on the face images for t = 5, 10, ..., 300. The paper shows one draw of R; this "
    "figure shows the mean and the 90 % band of many draws. The sign matrices of one draw are "
    "nested: a smaller t takes the first columns of the same matrix, so that differences between "
    "values of t come from t and not from another draw.",
    _tabulate,
    _conclude,
    _chart,
)

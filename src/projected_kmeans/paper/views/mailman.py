"""The view of section 5.2: seconds against the number of rows, and the paper's findings.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.tables import Table, format_verdict
from projected_kmeans.paper.views.view import Document, View


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    rows = tuple(
        (str(n), *(f"{seconds[at]:.2e}" for seconds in results["seconds"].values()))
        for at, n in enumerate(results["n"])
    )
    statements = tuple(
        (one["statement"], one["measured"], format_verdict(one["holds"]))
        for one in results["statements"]
    )
    title = f"Seconds of A R, d = {results['d']}, t = {results['t']}, one thread, float64"
    return [
        Table("seconds", title, ("n", *results["seconds"]), rows),
        Table(
            "statements",
            "What the paper found, and what the look-up product changes",
            ("statement", "measured", "verdict"),
            statements,
        ),
    ]


def _conclude(document: Document) -> list[str]:
    results = document["results"]
    worst = max(results["agreement"].values())
    statements = results["statements"]
    n_held = sum(one["holds"] for one in statements)
    return [
        f"All four products of the same R agree to {worst:.0e} of the largest entry.",
        "MM1 is timed in two ways: with the time to draw R, which the other products must do, and "
        "with R already in memory (at hand), as in MatLab's times(A, R). The paper does not say "
        "which one it timed, so that its findings are judged for both.",
        f"{n_held} of {len(statements)} statements about the mailman algorithm hold",
    ]


def _chart(document: Document) -> list[Chart]:
    results = document["results"]
    series = tuple(
        Series(name, results["n"], seconds, style="o--" if name.startswith("MM") else "o-")
        for name, seconds in results["seconds"].items()
    )
    per_row = tuple(
        Series(
            name,
            results["n"],
            [second / n for second, n in zip(seconds, results["n"], strict=True)],
            style="o--" if name.startswith("MM") else "o-",
        )
        for name, seconds in results["seconds"].items()
    )
    title = f"A R, d = {results['d']}, t = {results['t']}"
    panels = (
        Panel(title, "n", "seconds", series, log_x=True, log_y=True),
        Panel(f"{title}, by row", "n", "seconds a row", per_row, log_x=True, log_y=True),
    )
    return [Chart("mailman", panels)]


VIEW = View(
    "mailman",
    "Section 5.2: the mailman algorithm",
    "Four ways to compute A R for the same R: a BLAS product with R in memory (MM1), R regenerated "
    "column by column (MM2), the mailman algorithm of Liberty and Zucker as published, and the "
    "look-up product of this library, which uses the same idea for many rows at a time.",
    _tabulate,
    _conclude,
    _chart,
)

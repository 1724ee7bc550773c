"""The view of Table 1: stated beside measured values, growth of time, gamma of the solvers.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.tables import Table, format_verdict
from projected_kmeans.paper.views.view import Document, View


def _tabulate(document: Document) -> list[Table]:
    return [
        _compare(document),
        _compare_real(document["results"]["real"]),
        _tabulate_growth(document),
        _tabulate_gammas(document),
    ]


def _compare(document: Document) -> Table:
    results = document["results"]
    reference = results["reference"]
    eps = document["parameters"]["eps"]
    rows = tuple(
        (
            row["method"],
            row["stated_dimensions"],
            str(row["dimensions"]),
            row["stated_time"],
            f"{row['seconds']:.4f}",
            f"{row['stated_accuracy']} = {row['bound']:g}",
            f"{row['worst_ratio']:.3f}",
            f"{row['mean_ratio']:.3f}",
            f"{row['beyond_bound']} of {row['n_instances']}",
        )
        for row in results["rows"]
    )
    title = (
        f"Dimensions and seconds at n = {reference['n']}, d = {reference['d']}, "
        f"k = {reference['k']}; ratios to the optimum over small instances; eps = {eps:g}, "
        "constants one"
    )
    header = (
        "method",
        "stated dimensions",
        "dimensions",
        "stated time O(.)",
        "seconds",
        "stated accuracy",
        "worst ratio",
        "mean ratio",
        "beyond the bound",
    )
    return Table("accuracy", title, header, rows)


def _compare_real(real: Sequence[Mapping[str, Any]]) -> Table:
    methods = list(dict.fromkeys(one["method"] for one in real))
    columns = {(one["data"], one["k"]): one["optimum_ratio"] for one in real}
    found = {(one["method"], one["data"]): one for one in real}
    rows = tuple(
        (
            method,
            f"{found[method, next(iter(columns))[0]]['bound']:g}",
            *(_show_real(found[method, data]) for data, _ in columns),
            format_verdict(not any(found[method, data]["beyond_bound"] for data, _ in columns)),
        )
        for method in methods
    )
    header = (
        "method",
        "stated accuracy",
        *(f"{data}, k = {k} (known to {ratio:.5f})" for (data, k), ratio in columns.items()),
        "verdict",
    )
    title = (
        f"Ratios to the optimum on real data over {real[0]['n_draws']} draws: mean, worst, and the "
        "dimensions that the method asks for"
    )
    return Table("real", title, header, rows)


def _show_real(one: Mapping[str, Any]) -> str:
    return f"{one['mean_ratio']:.4f}, {one['worst_ratio']:.4f} ({one['dimensions']})"


def _tabulate_growth(document: Document) -> Table:
    rows = tuple(
        (
            row["method"],
            row["size"],
            f"{row['sizes'][0]} to {row['sizes'][-1]}",
            f"{row['stated_exponent']:.2f}",
            f"{row['exponent']:.2f}",
            f"{row['exponent_low']:.2f} to {row['exponent_high']:.2f}",
        )
        for row in document["results"]["growth"]
    )
    header = ("method", "size", "range", "stated exponent", "measured", "95 % interval")
    return Table("growth", "Seconds as a power of one size, log-log fit", header, rows)


def _tabulate_gammas(document: Document) -> Table:
    rows = tuple(
        (
            row["solver"],
            "-" if row["proved"] is None else f"{row['proved']:g}",
            f"{row['worst_ratio']:.3f}",
            f"{row['mean_ratio']:.3f}",
            f"{row['share_optimal']:.0%}",
        )
        for row in document["results"]["gammas"]
    )
    n_instances = document["results"]["gammas"][0]["n_instances"]
    header = ("solver", "proved gamma", "worst gamma", "mean gamma", "optimum found")
    return Table(
        "gamma", f"gamma of the solvers, one run each on {n_instances} instances", header, rows
    )


def _conclude(document: Document) -> list[str]:
    rows = document["results"]["rows"]
    beyond = [row["method"] for row in rows if row["beyond_bound"]]
    sentences = [
        "Stated exponents are fitted to the stated formula over the same sizes, so that they "
        "include the effect of its logarithms and ceilings."
    ]
    if beyond:
        sentences.append(
            f"Beyond its bound on some instances: {', '.join(beyond)}. The bounds are proved for "
            "constants that are large enough; here the constant is one."
        )
    sentences += [
        f"{sentence[0].upper()}{sentence[1:]}." for sentence in document["parameters"]["missing"]
    ]
    beyond_real = {one["method"] for one in document["results"]["real"] if one["beyond_bound"]}
    n_within, n_real = (len(rows) - len(some) for some in (beyond, beyond_real))
    sentences.append(
        f"{n_within} of {len(rows)} methods stay within their stated accuracy on every small "
        f"instance, and {n_real} of {len(rows)} on all real data"
    )
    return sentences


def _chart(document: Document) -> list[Chart]:
    panels = tuple(
        Panel(
            f"growth with {axis}",
            axis,
            "seconds",
            tuple(
                Series(row["method"], row["sizes"], row["seconds"], style="o-")
                for row in document["results"]["growth"]
                if row["size"] == axis
            ),
            log_x=True,
            log_y=True,
        )
        for axis in ("n", "d", "k")
    )
    return [Chart("table1", panels, shared_legend=True)]


VIEW = View(
    "table1",
    "Table 1: dimensions, time and accuracy",
    "Each reduction is run on small instances of six kinds (noise, mixtures, heavy tails, few "
    "features, planes, offsets) whose optimum an exact solver finds. The reduced rows are "
    "clustered optimally, and the inertia of that partition on the original rows is compared "
    "with the optimum. The same is done on real data whose optimum is enclosed by a proof; there "
    "the reduced rows are clustered by the library's default. Random projections have at most d "
    "columns, and sampled columns may repeat. Random projections (RP) are timed on ten times as "
    "many rows as the other methods, because they are so fast that overhead would dominate their "
    "seconds.",
    _tabulate,
    _conclude,
    _chart,
)

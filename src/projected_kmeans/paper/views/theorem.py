"""The view of Theorem 1: statement, bound, measured value and verdict; constants; curves.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.moments import sum_up_moments
from projected_kmeans.paper.views.tables import Table, format_verdict
from projected_kmeans.paper.views.view import Document, View
from projected_kmeans.projections.target_dimension import target_dimension

QUANTITIES = {
    "deviation": ("Lemma 1.1: max |1 - sigma_i|", 1.0),
    "inverse_gap": ("Lemma 2: ||pinv - transpose||", 3.0),
    "cross": ("Lemma 4's proof: ||(A - A_k) R R^T V_k||", 0.5),
    "error": ("Lemma 4: ||E||", 4.0),
}
SHOWN_EPS = 0.3


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    return [
        _tabulate_statements(results),
        _tabulate_failures(results["lemmas"]["failures"]),
        _tabulate_constants(results["lemmas"]["constants"]),
        _tabulate_theorem(results["theorem"]),
    ]


def _tabulate_statements(results: Mapping[str, Any]) -> Table:
    lemmas = results["lemmas"]
    rows = [_sum_up_constants(one) for one in lemmas["constants"] if one["eps"] == SHOWN_EPS]
    rows += sum_up_moments(lemmas["moments"])
    rows.append(_sum_up_theorem(results["theorem"]))
    header = ("statement", "bound on failures or value", "measured", "verdict")
    title = f"Statement, bound, measured, verdict, at eps = {SHOWN_EPS:g}"
    return Table("statements", title, header, tuple(rows))


def _sum_up_constants(one: Mapping[str, Any]) -> tuple[str, ...]:
    if one["ratio"] is None:
        measured = "fails more often at every measured t/k"
    else:
        measured = f"holds from t = {one['ratio']} k on (c = {one['c']:.2g})"
    if one["not_reached"]:
        missing = ", ".join(f"{case['case']} with k = {case['k']}" for case in one["not_reached"])
        measured += f"; not reached: {missing}"
    return (
        one["statement"],
        f"fails at most {one['allowed']:.0%}, t = c k / eps^2 with c large",
        measured,
        one["verdict"],
    )


def _sum_up_theorem(theorem: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    widest = max(one["t"] for one in theorem)
    here = [one for one in theorem if one["t"] == widest]
    measured = "; ".join(
        f"{one['solver']}: worst {one['worst_ratio']:.3f}, {one['n_failures']} of "
        f"{one['n_instances']} beyond"
        for one in here
    )
    fine = all(one["frequency"] <= one["allowed"] for one in here)
    return (
        "Theorem 1: F(A, X~) <= (1 + (1 + eps) gamma) F(A, X_opt)",
        f"fails at most {here[0]['allowed']:.0%}",
        f"t = {widest}: {measured}",
        format_verdict(fine),
    )


def _tabulate_failures(failures: Sequence[Mapping[str, Any]]) -> Table:
    settings = list(dict.fromkeys((one["case"], one["k"]) for one in failures))
    ratios = sorted({one["ratio"] for one in failures})
    statements = list(dict.fromkeys(one["statement"] for one in failures))
    found = {
        (one["statement"], one["case"], one["k"], one["ratio"]): one
        for one in failures
        if one["eps"] == SHOWN_EPS
    }
    rows = tuple(
        (
            statement,
            f"{case}, k = {k}",
            *(_show_frequency(found.get((statement, case, k, ratio))) for ratio in ratios),
        )
        for statement in statements
        for case, k in settings
    )
    header = ("statement", "data", *(f"t/k = {ratio}" for ratio in ratios))
    title = (
        f"How often each inequality fails at eps = {SHOWN_EPS:g}: percent (95 % interval) over "
        f"{failures[0]['n_draws']} draws of R"
    )
    return Table("failures", title, header, rows)


def _show_frequency(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return "-"
    return f"{100 * one['frequency']:.1f} ({100 * one['low']:.1f} to {100 * one['high']:.1f})"


def _tabulate_constants(constants: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            one["statement"],
            f"{one['eps']:g}",
            one["paper_c"],
            "-" if one["c"] is None else f"{one['c']:.2g}",
            "-" if one["ratio"] is None else str(one["ratio"]),
            one["verdict"],
        )
        for one in constants
    )
    title = (
        "The constant c of t = c k / eps^2: what the argument needs and what suffices on the grid "
        f"of t/k; Theorem 1 as a whole needs c = {_proof_constant():,.0f}"
    )
    header = ("statement", "eps", "c of the argument", "c that suffices", "t/k", "verdict")
    return Table("constants", title, header, rows)


def _proof_constant() -> float:
    """Return c of t = c k / eps^2 with the constants of the proof."""
    eps = 0.5
    return target_dimension(1, eps=eps, rule="boutsidis2010-proof") * eps**2


def _tabulate_theorem(theorem: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            str(one["t"]),
            one["solver"],
            f"{one['worst_gamma']:.3f}",
            f"{1 + (1 + one['eps']):g}"
            if one["solver"] == "exact"
            else f"1 + {1 + one['eps']:g} gamma",
            f"{one['mean_ratio']:.3f}",
            f"{one['worst_ratio']:.3f}",
            f"{one['n_failures']} of {one['n_instances']}",
            f"{100 * one['low']:.1f} to {100 * one['high']:.1f}",
        )
        for one in theorem
    )
    header = (
        "t",
        "solver on the sketch",
        "worst gamma",
        "bound",
        "mean ratio",
        "worst ratio",
        "beyond the bound",
        "95 % interval, percent",
    )
    title = "Theorem 1 on small instances with known optimum"
    return Table("theorem", title, header, rows)


def _conclude(document: Document) -> list[str]:
    statements = _tabulate_statements(document["results"]).rows
    n_held = sum(row[-1] == "holds" for row in statements)
    constants = [one["c"] for one in document["results"]["lemmas"]["constants"] if one["c"]]
    return [
        f"The proof of Theorem 1 as a whole needs c = {_proof_constant():,.0f}; the largest c that "
        f"any of the inequalities needed here, where it was reached, is {max(constants):.2g}.",
        f"{n_held} of {len(statements)} statements of Theorem 1 and Lemmas 1 to 4 hold at "
        f"eps = {SHOWN_EPS:g} on all data",
    ]


def _chart(document: Document) -> list[Chart]:
    curves = document["results"]["curves"]
    panels = []
    for quantity, (title, factor) in QUANTITIES.items():
        series = tuple(
            _draw_curve(quantity, case, k, curves)
            for case, k in dict.fromkeys((one["case"], one["k"]) for one in curves)
        )
        level = (f"bound at eps = {SHOWN_EPS:g}", factor * SHOWN_EPS)
        label = "median, 90 % band"
        panels.append(Panel(title, "t/k", label, series, (level,), log_x=True, log_y=True))
    return [Chart("theorem", tuple(panels), n_columns=2)]


def _draw_curve(quantity: str, case: str, k: int, curves: Sequence[Mapping[str, Any]]) -> Series:
    here = [one for one in curves if (one["case"], one["k"]) == (case, k)]
    ratios = [one["ratio"] for one in here]
    parts = ("median", "low", "high")
    median, low, high = ([one[quantity][part] for one in here] for part in parts)
    return Series(f"{case}, k = {k}", ratios, median, low, high, "o-")


VIEW = View(
    "theorem",
    "Theorem 1 and Lemmas 1 to 4",
    "Every quantity that the proof bounds is measured over draws of R, on the face images and on a "
    "random mixture, as a function of t/k, with the frequency at which each inequality fails. The "
    "theorem itself is tested on small instances, whose optimum is known.",
    _tabulate,
    _conclude,
    _chart,
)

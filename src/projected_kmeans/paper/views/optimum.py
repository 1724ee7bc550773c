"""The view of Theorem 1 on real data: promises and verdicts, ratios by t, constants of the lemmas.

Renders a stored document; it measures nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projected_kmeans.paper.experiments.optimum import DEFAULT, PROVED
from projected_kmeans.paper.experiments.promises import PROMISES, find_eps
from projected_kmeans.paper.views.charts import Chart, Panel, Series
from projected_kmeans.paper.views.moments import sum_up_moments
from projected_kmeans.paper.views.tables import Table
from projected_kmeans.paper.views.view import Document, View

PLAIN = "Lloyd from random rows"
# The promises that the figure shows as lines, at gamma = 1.
DRAWN = {
    "boutsidis2010": "2 + eps (this paper)",
    "cohen2015": "1 + eps (Cohen 2015)",
    "makarychev2019": "1 + eps (Makarychev 2019)",
}
# The figure draws smaller distances from the optimum as this one.
SMALLEST = 1e-4
QUANTITIES = {
    "deviation": "Lemma 1.1: max |1 - sigma_i(V_k^T R)|",
    "inverse_gap": "Lemma 2: ||pinv - transpose||",
    "cross": "Lemma 4's proof: ||(A - A_k) R R^T V_k||",
    "error": "Lemma 4: ||E||",
}


def _tabulate(document: Document) -> list[Table]:
    results = document["results"]
    return [
        _tabulate_instances(results["instances"]),
        _tabulate_statements(results["statements"]),
        _tabulate_settings(results["settings"]),
        _tabulate_proofs(results["sketch_proofs"]),
        _tabulate_lemmas(results),
    ]


def _tabulate_instances(instances: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            one["data"],
            f"{one['n']} x {one['d']}",
            str(one["k"]),
            f"{one['inertia']:.7g}",
            f"{one['lower_bound']:.7g}",
            f"{one['ratio']:.7f}",
        )
        for one in instances
    )
    header = ("data", "n x d", "k", "best inertia", "proven lower bound", "ratio")
    return Table("instances", "How closely the optimum is known", header, rows)


def _tabulate_statements(statements: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            one["statement"],
            one["solver"],
            f"{one['beyond']} of {one['n_draws']}",
            f"{one['worst_share']:.3f}",
            _show_beyond(one),
            one["verdict"],
        )
        for one in statements
    )
    header = (
        "statement",
        "solver on the sketch",
        "draws beyond the bound",
        "worst ratio over bound",
        "where (! if chance does not explain it)",
        "verdict",
    )
    title = (
        "F(A, X~) / OPT against each promise, constants one: a promise may fail with probability "
        f"{statements[0]['allowed']:.0%}, and does not hold where that does not explain the draws "
        "beyond it (binomial tests, joint level 5 %)"
    )
    return Table("statements", title, header, rows)


def _show_beyond(statement: Mapping[str, Any]) -> str:
    """Return where draws are beyond the bound; a mark where chance does not explain it."""
    failing = [(one["data"], one["t"]) for one in statement["failing"]]
    return (
        ", ".join(
            f"{one['data']} t = {one['t']} ({one['beyond']} of {one['n_draws']})"
            f"{'!' if (one['data'], one['t']) in failing else ''}"
            for one in statement["where_beyond"]
        )
        or "-"
    )


def _tabulate_settings(settings: Sequence[Mapping[str, Any]]) -> Table:
    by_setting: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in settings:
        by_setting.setdefault((one["data"], one["t"]), []).append(one)
    rows = tuple(_show_setting(data, t, here) for (data, t), here in by_setting.items())
    header = (
        "data",
        "t",
        "eps = sqrt(k / t)",
        "eps of log(k / eps) / eps^2",
        f"{DEFAULT}: median ratio",
        "worst",
        f"{PLAIN}: median ratio",
        "worst",
        "its worst gamma",
    )
    return Table("ratios", "F(A, X~) / OPT over draws of R", header, rows)


def _show_setting(data: str, t: int, here: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    by_solver = {one["solver"]: one for one in here}
    best, plain = by_solver[DEFAULT], by_solver[PLAIN]
    k = best["k"]
    return (
        f"{data}, k = {k}",
        str(t),
        f"{find_eps('boutsidis2010', k, t):.3f}",
        f"{find_eps('makarychev2019', k, t):.3f}",
        f"{best['ratio_median']:.4f}",
        f"{best['worst_ratio']:.4f}",
        f"{plain['ratio_median']:.4f}",
        f"{plain['worst_ratio']:.4f}",
        f"{plain['worst_gamma']:.3f}",
    )


def _tabulate_proofs(proofs: Sequence[Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(one["data"] for one in proofs))
    rows = tuple(
        (
            name,
            ", ".join(
                f"t = {one['t']}: {one['sketch_ratio']:.5f}"
                for one in proofs
                if one["data"] == name
            ),
        )
        for name in names
    )
    title = (
        "How near to the optimum of the sketch the smallest inertia known there is, at most "
        "(semidefinite bound, first draw)"
    )
    return Table("proofs", title, ("data", "smallest known inertia over proven bound"), rows)


def _tabulate_lemmas(results: Mapping[str, Any]) -> Table:
    names = [one["data"] for one in results["instances"]]
    rows: list[tuple[str, ...]] = [
        (
            one["statement"],
            f"fails at most {one['allowed']:.0%}, c = {one['argued_c']:g}",
            ", ".join(f"{name} {_show_constant(one['c'][name])}" for name in names),
            one["verdict"],
        )
        for one in results["lemmas"]
    ]
    rows += sum_up_moments(results["moments"])
    title = (
        "Lemmas 1 to 4 on the same data: the c of t = c k / eps^2 that suffices at the measured t "
        "(- where no t reaches eps < 1/3)"
    )
    header = ("statement", "bound", "measured", "verdict")
    return Table("lemmas", title, header, tuple(rows))


def _show_constant(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _conclude(document: Document) -> list[str]:
    results = document["results"]
    statements = results["statements"]
    n_held = sum(one["verdict"] == "holds" for one in statements)
    widest = max(one["ratio"] for one in results["instances"])
    ratios = [one["sketch_ratio"] for one in results["sketch_proofs"]]
    sentences = [
        f"{sentence[0].upper()}{sentence[1:]}." for sentence in document["parameters"]["missing"]
    ]
    near = sum(ratio < 1.001 for ratio in ratios)
    return [
        *sentences,
        f"The optimum is known to a factor of {widest:.4f} at worst; ratios are to the lower "
        "bound, so that they are never too small.",
        "gamma of a draw is the inertia of the solver on the sketch over the smallest inertia that "
        "any solver found there, so that the true gamma is at least that; on "
        f"{near} of {len(ratios)} sketches a proof shows that it is less than 0.1 % larger.",
        "The constants of the promises are one. With the constants of its proof, Theorem 1 asks "
        "for more than d dimensions on all of these data.",
        f"{n_held} of {len(statements)} statements (promise and solver) hold on real data",
    ]


def _chart(document: Document) -> list[Chart]:
    results = document["results"]
    panels = tuple(_draw_data_set(one, results["settings"]) for one in results["instances"])
    lemmas = tuple(
        _draw_quantity(quantity, title, results["constants"])
        for quantity, title in QUANTITIES.items()
    )
    return [
        Chart("optimum", panels, shared_legend=True),
        Chart("optimum_lemmas", lemmas, n_columns=2, shared_legend=True),
    ]


def _draw_data_set(instance: Mapping[str, Any], settings: Sequence[Mapping[str, Any]]) -> Panel:
    """Return F / OPT - 1 of three solvers against t, beside three promises at gamma = 1."""
    here = [one for one in settings if one["data"] == instance["data"]]
    series = []
    for solver, label, style in (
        (DEFAULT, "default of the library, median and 90 % band", "o-"),
        (PLAIN, "Lloyd from random rows, median and 90 % band", "o-"),
        (PROVED, "semidefinite search, first sketch", "x"),
    ):
        points = [one for one in here if one["solver"] == solver]
        median, low, high = (
            [max(one[name] - 1, SMALLEST) for one in points]
            for name in ("ratio_median", "ratio_low", "ratio_high")
        )
        dimensions = [one["t"] for one in points]
        if solver == PROVED:
            series.append(Series(label, dimensions, median, style=style))
        else:
            series.append(Series(label, dimensions, median, low, high, style))
    for promise in PROMISES[1:]:
        if promise.rule in DRAWN:
            epsilons = [find_eps(promise.rule, instance["k"], t) for t in dimensions]
            bounds = [promise.bound(eps, 1.0) - 1 for eps in epsilons]
            series.append(Series(DRAWN[promise.rule], dimensions, bounds, style="--"))
    title = f"{instance['data']}, k = {instance['k']}"
    return Panel(title, "t", "F(A, X~) / OPT - 1", tuple(series), log_x=True, log_y=True)


def _draw_quantity(quantity: str, title: str, constants: Sequence[Mapping[str, Any]]) -> Panel:
    here = [one for one in constants if one["quantity"] == quantity]
    series = tuple(
        Series(
            f"{case}, k = {k}",
            [one["ratio"] for one in here if one["case"] == case],
            [one["median"] for one in here if one["case"] == case],
            style="o-",
        )
        for case, k in dict.fromkeys((one["case"], one["k"]) for one in here)
    )
    return Panel(title, "t/k", "median over draws", series, log_x=True, log_y=True)


VIEW = View(
    "optimum",
    "Theorem 1 on real data",
    "The optimum of these data is enclosed by a proof (a semidefinite bound). Sketches A R of t "
    "columns, never more than A has, are clustered by several solvers, and the inertia of each "
    "partition on the original rows is compared with the optimum. Beside it stand the bound of "
    "Theorem 1 and those of later papers, each with the solver's own gamma. eps follows from t by "
    "each paper's formula with constant one. The figure shows how far ratios are above 1; what is "
    "below 0.0001 is drawn there.",
    _tabulate,
    _conclude,
    _chart,
)

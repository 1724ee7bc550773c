"""Theorem 1 on real data: F(A, X~) over the proven optimum, for many draws, t and solvers.

The theorem and its successors are promises about that ratio, and draws keep or break them. The
quantities of Lemmas 1 to 4 give the constant c of t = c k / eps^2 that each lemma needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.stats

from projected_kmeans.paper.baselines import decompose_exactly
from projected_kmeans.paper.charts import Chart, Panel, Series, draw_series
from projected_kmeans.paper.data_sets import DataSet, Faces, FoundData, find_data_sets
from projected_kmeans.paper.experiment import (
    Document,
    Exhibit,
    Experiment,
    Unit,
    measure_band,
)
from projected_kmeans.paper.experiments.theorem import (
    INEQUALITIES,
    THEOREM_FAILURE,
    Draws,
    Inequality,
    draw_lemmas,
    judge_moments,
    sum_up_moments,
)
from projected_kmeans.paper.known_optima import (
    KSS04,
    REAL_INSTANCES,
    SOLVERS,
    Solution,
    enclose_optimum,
    enclose_sketch,
    run_estimator,
)
from projected_kmeans.paper.tables import Record, Table, as_sentences, group_by, tabulate
from projected_kmeans.passes.scoring import inertia
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.projections.target_dimension import RULES
from projected_kmeans.results import Floats

DEFAULT = "default of the library"
PLAIN = "Lloyd from random rows"
PROVED = "semidefinite search"
# The solvers that cluster sketches; KSS04 takes at most four clusters.
SKETCH_SOLVERS: Mapping[str, Callable[[Floats, int, int], Solution]] = MappingProxyType(
    {**SOLVERS, DEFAULT: run_estimator}
)
MAX_KSS04_CLUSTERS = 4

# Theorem 1 takes eps in (0, 1/3); the other rules take eps in (0, 1).
THEOREM_LIMIT = 1 / 3
# The probability that chance alone breaks a promise that holds, over all settings together.
JOINT_LEVEL = 0.05
# The largest constant that the paper's argument names for the lemmas (Markov, Lemma 4).
ARGUED_CONSTANT = 800.0


class Promise(NamedTuple):
    """A bound on the ratio to the optimum, for an eps that follows from t."""

    name: str  # its source and its form
    rule: str  # the name in `RULES` of the formula from k and eps to t, with constant one
    bound: Callable[[float, Any], Any]  # from eps and gamma, which may be an array
    limit: float  # the promise is made for eps below it


PROMISES = (
    Promise(
        "Theorem 1 (2010), eps < 1/3: 1 + (1 + eps) gamma, t = k / eps^2",
        "boutsidis2010",
        lambda eps, gamma: 1 + (1 + eps) * gamma,
        THEOREM_LIMIT,
    ),
    Promise(
        "Theorem 1 (2010), eps < 1: 1 + (1 + eps) gamma, t = k / eps^2",
        "boutsidis2010",
        lambda eps, gamma: 1 + (1 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Cohen et al. 2015: (1 + eps) gamma, t = k / eps^2",
        "cohen2015",
        lambda eps, gamma: (1 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Cohen et al. 2015: (9 + eps) gamma, t = log(k) / eps^2",
        "cohen2015-log",
        lambda eps, gamma: (9 + eps) * gamma,
        1.0,
    ),
    Promise(
        "Makarychev et al. 2019: (1 + eps) gamma, t = log(k / eps) / eps^2",
        "makarychev2019",
        lambda eps, gamma: (1 + eps) * gamma,
        1.0,
    ),
)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    # Names of data sets whose optimum can be proven.
    instances: tuple[str, ...] = REAL_INSTANCES
    # Values of t below d; d itself is added where it is at most the largest of them.
    dimensions: tuple[int, ...] = (2, 5, 10, 20, 50, 100, 200, 300)
    # Draws of R for the solvers, for KSS04, which is slow, and for the lemmas.
    n_draws: int = 20
    n_kss04_draws: int = 5
    n_lemma_draws: int = 400


FULL = Sizes()
QUICK = Sizes(
    instances=("iris", "wine", "seeds"),
    dimensions=(5, 10),
    n_draws=4,
    n_kss04_draws=1,
    n_lemma_draws=20,
)


def plan_optimum(faces: Faces | None, *, key: int = 0, sizes: Sizes = FULL) -> Experiment:
    """Return the experiment behind the theorem on real data. Draw i of R uses ``key + i``."""
    found = find_data_sets(sizes.instances, faces)
    units = []
    for data in found.sets:
        units.append(Unit(f"optimum {data.name}", partial(_enclose, data, key)))
        for t in list_dimensions(data, sizes):
            draw = partial(_draw_solvers, data, t, key, sizes)
            units.append(Unit(f"draws {data.name} t={t}", draw))
            units.append(Unit(f"proof {data.name} t={t}", partial(_prove_sketch, data, t, key)))
        units.append(Unit(f"lemmas {data.name}", partial(_draw_lemmas, data, key, sizes)))
    parameters = {"key": key, "sizes": asdict(sizes), **found.describe()}
    return Experiment("optimum", parameters, units, partial(_summarize, found, sizes))


def list_dimensions(data: DataSet, sizes: Sizes) -> list[int]:
    """Return the values of t for a data set: never more than its columns.

    t = 2 is for data of fewer than ten columns only, because there is nothing else below d.
    """
    d = data.rows.shape[1]
    below = [t for t in sizes.dimensions if t < d and (t > 2 or d < 10)]
    return below + ([d] if d <= max(sizes.dimensions) else [])


def _enclose(data: DataSet, key: int) -> dict[str, Any]:
    optimum = enclose_optimum(data, key)
    return {name: value for name, value in optimum.items() if name != "labels"}


def _draw_solvers(data: DataSet, t: int, key: int, sizes: Sizes) -> dict[str, Draws]:
    """Return F(A, X~) and the inertia on the sketch, by solver, for every draw of R."""
    drawn: dict[str, Draws] = {}
    for draw in range(sizes.n_draws):
        sketch = SignProjection(t, random_state=key + draw).fit_transform(data.rows)
        for name, solve in SKETCH_SOLVERS.items():
            if name == KSS04 and (
                data.n_clusters > MAX_KSS04_CLUSTERS or draw >= sizes.n_kss04_draws
            ):
                continue
            solution = solve(sketch, data.n_clusters, key + draw)
            record = drawn.setdefault(name, {"inertia": [], "sketch_inertia": []})
            record["inertia"].append(inertia(data.rows, solution.labels))
            record["sketch_inertia"].append(solution.inertia)
    return drawn


def _prove_sketch(data: DataSet, t: int, key: int) -> dict[str, float]:
    """Enclose the optimum of the first sketch; return its partition's inertia in A, too."""
    sketch = SignProjection(t, random_state=key).fit_transform(data.rows)
    proof = enclose_sketch(sketch, data.n_clusters, key)
    labels = np.array(proof["labels"], dtype=np.int32)
    return {
        "inertia": inertia(data.rows, labels),
        "sketch_inertia": proof["inertia"],
        "sketch_lower_bound": proof["lower_bound"],
    }


def _draw_lemmas(data: DataSet, key: int, sizes: Sizes) -> dict[str, Draws]:
    """Return the quantities of the lemmas by t and name; the lemmas need t of at least k."""
    basis = decompose_exactly(data.rows, min(data.rows.shape))
    k = data.n_clusters
    settings = {str(t): (k, t) for t in list_dimensions(data, sizes) if t >= k}
    return draw_lemmas(basis, settings, range(key, key + sizes.n_lemma_draws))


class Setting(NamedTuple):
    """The draws of one solver on the sketches of one data set with t columns.

    The ratio to the optimum is between F(A, X~) over the best inertia known (``ratio_low``) and
    over the proven lower bound (``ratio_high``). ``gamma`` is the inertia on the sketch over the
    smallest one known there; the true gamma is at least it.
    """

    data: str
    solver: str
    k: int
    t: int
    ratio_low: Floats
    ratio_high: Floats
    gamma: Floats


def _summarize(found: FoundData, sizes: Sizes, measured: Mapping[str, Any]) -> dict[str, Any]:
    settings = [setting for data in found.sets for setting in _settings(data, sizes, measured)]
    drawn = [
        {
            "case": data.name,
            "k": data.n_clusters,
            "ratio": int(t) / data.n_clusters,
            "values": {name: np.array(values) for name, values in quantities.items()},
        }
        for data in found.sets
        for t, quantities in measured[f"lemmas {data.name}"].items()
    ]
    constants = find_constants(drawn)
    return {
        "instances": [
            {
                "data": data.name,
                "n": data.rows.shape[0],
                "d": data.rows.shape[1],
                "k": data.n_clusters,
                **measured[f"optimum {data.name}"],
            }
            for data in found.sets
        ],
        "statements": judge_promises(settings),
        "settings": [_describe_setting(setting) for setting in settings],
        "sketch_proofs": [
            _describe_proof(data, t, measured)
            for data in found.sets
            for t in list_dimensions(data, sizes)
        ],
        "constants": constants,
        "lemmas": sum_up_constants(constants),
        "moments": [judge_moments(setting) for setting in drawn],
    }


_INERTIAS = ("inertia", "sketch_inertia")


def _settings(data: DataSet, sizes: Sizes, measured: Mapping[str, Any]) -> list[Setting]:
    """Return the draws of every solver at every t, with the proofs of single sketches."""
    dimensions = list_dimensions(data, sizes)
    optimum = measured[f"optimum {data.name}"]
    drawn = {t: measured[f"draws {data.name} t={t}"] for t in dimensions}
    proofs = {t: measured[f"proof {data.name} t={t}"] for t in dimensions}
    inertias = [
        value for t in dimensions for draws in drawn[t].values() for value in draws["inertia"]
    ]
    known = min(optimum["inertia"], *inertias, *(proofs[t]["inertia"] for t in dimensions))
    settings = []
    for t in dimensions:
        smallest = _smallest_inertias(drawn[t], proofs[t])
        records = {**drawn[t], PROVED: {name: [proofs[t][name]] for name in _INERTIAS}}
        for solver, record in records.items():
            in_rows, in_sketch = (np.array(record[name]) for name in _INERTIAS)
            settings.append(
                Setting(
                    data.name,
                    solver,
                    data.n_clusters,
                    t,
                    in_rows / known,
                    in_rows / optimum["lower_bound"],
                    np.maximum(in_sketch / smallest[: len(in_sketch)], 1.0),
                )
            )
    return settings


def _smallest_inertias(drawn: Mapping[str, Draws], proof: Mapping[str, float]) -> Floats:
    """Return the smallest inertia that any solver found on the sketch of every draw."""
    smallest = np.full(max(len(draws["sketch_inertia"]) for draws in drawn.values()), np.inf)
    for draws in drawn.values():
        values = draws["sketch_inertia"]
        smallest[: len(values)] = np.minimum(smallest[: len(values)], values)
    smallest[0] = min(smallest[0], proof["sketch_inertia"])
    return smallest


def _describe_setting(setting: Setting) -> dict[str, Any]:
    low, median, high = measure_band(setting.ratio_high)
    return {
        "data": setting.data,
        "solver": setting.solver,
        "k": setting.k,
        "t": setting.t,
        "n_draws": len(setting.gamma),
        "ratio_low": float(low),
        "ratio_median": float(median),
        "ratio_high": float(high),
        "worst_ratio": float(setting.ratio_high.max()),
        "median_gamma": float(np.median(setting.gamma)),
        "worst_gamma": float(setting.gamma.max()),
    }


def _describe_proof(data: DataSet, t: int, measured: Mapping[str, Any]) -> dict[str, Any]:
    """Return how near to the optimum of the first sketch the smallest known inertia is."""
    proof = measured[f"proof {data.name} t={t}"]
    smallest = _smallest_inertias(measured[f"draws {data.name} t={t}"], proof)[0]
    return {
        "data": data.name,
        "t": t,
        "sketch_ratio": float(smallest / proof["sketch_lower_bound"]),
        "ratio": proof["inertia"] / measured[f"optimum {data.name}"]["lower_bound"],
    }


def find_eps(rule: str, n_clusters: int, n_components: int) -> float:
    """Return the eps for which a rule that depends on k asks for this number of dimensions."""
    formula = RULES[rule].formula
    # All these formulas fall as eps grows, and are below 1 at eps = k + 1.
    root = scipy.optimize.brentq(
        lambda eps: formula(n_clusters, eps) - n_components, 1e-6, n_clusters + 1.0, xtol=1e-12
    )
    return round(float(root), 10)


def judge_promises(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Return for every promise and solver how many draws are beyond the bound, and the verdict.

    A promise may fail with a probability of 3 %. It does not hold if, on some data set and at some
    t, more draws are beyond the bound than that explains: binomial tests of all settings, at a
    joint level of 5 %. The ratio to the optimum is known between two values. A promise holds if it
    does with the larger one, does not hold if it does not with the smaller one, and is undecided
    otherwise.
    """
    judged = []
    for promise in PROMISES:
        for solver in dict.fromkeys(setting.solver for setting in settings):
            counts = [
                count
                for setting in settings
                if setting.solver == solver
                and (count := count_beyond(promise, setting)) is not None
            ]
            if counts:
                judged.append(_judge_promise(promise.name, solver, counts))
    return judged


def count_beyond(promise: Promise, setting: Setting) -> dict[str, Any] | None:
    """Return how many draws are beyond a bound, or None if the promise is not made at this t."""
    eps = find_eps(promise.rule, setting.k, setting.t)
    if eps >= promise.limit:
        return None
    bound = promise.bound(eps, setting.gamma)
    return {
        "data": setting.data,
        "t": setting.t,
        "eps": eps,
        "n_draws": len(bound),
        "beyond": int(np.sum(setting.ratio_high > bound)),
        "surely_beyond": int(np.sum(setting.ratio_low > bound)),
        "worst_share": float(np.max(setting.ratio_high / bound)),
    }


def _judge_promise(promise: str, solver: str, counts: Sequence[Record]) -> dict[str, Any]:
    level = JOINT_LEVEL / len(counts)
    failing, surely = (
        [count for count in counts if is_too_often(count[name], count["n_draws"], level)]
        for name in ("beyond", "surely_beyond")
    )
    verdict = "holds" if not failing else ("does not hold" if surely else "undecided")
    return {
        "statement": promise,
        "solver": solver,
        "allowed": THEOREM_FAILURE,
        "n_settings": len(counts),
        "n_draws": sum(count["n_draws"] for count in counts),
        "beyond": sum(count["beyond"] for count in counts),
        "surely_beyond": sum(count["surely_beyond"] for count in counts),
        "worst_share": max(count["worst_share"] for count in counts),
        "where_beyond": [count for count in counts if count["beyond"]],
        "failing": [{name: count[name] for name in ("data", "t")} for count in failing],
        "verdict": verdict,
    }


def is_too_often(n_beyond: int, n_draws: int, level: float) -> bool:
    """Return whether failures with a probability of 3 % are this many too seldom to believe it."""
    return bool(scipy.stats.binom.sf(n_beyond - 1, n_draws, THEOREM_FAILURE) < level)


def find_constants(drawn: Sequence[Record]) -> list[dict[str, Any]]:
    """Return eps and c that suffice, for every inequality, data set and t.

    Every inequality bounds a quantity by a function of eps. The quantile of its draws that the
    lemma allows to be exceeded gives the smallest eps for which it holds, and so c = t eps^2 / k.
    """
    return [_find_constant(inequality, setting) for inequality in INEQUALITIES for setting in drawn]


def _find_constant(inequality: Inequality, setting: Record) -> dict[str, Any]:
    values = np.sort(setting["values"][inequality.quantity])
    # As many draws as the lemma allows may be larger.
    reached = float(values[-1 - math.floor(inequality.failure * len(values))])
    eps = inequality.needed(reached)
    return {
        "statement": inequality.statement,
        "quantity": inequality.quantity,
        **{name: setting[name] for name in ("case", "k", "ratio")},
        "n_draws": len(values),
        "median": float(np.median(values)),
        "reached": reached,
        "eps": eps,
        "c": setting["ratio"] * eps**2,
    }


def sum_up_constants(constants: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the largest c over all t, by inequality and data set, and the verdict.

    The lemmas are stated for eps below 1/3, so that only the values of t count at which the
    inequality holds for such an eps. An inequality holds if its c is at most that of the argument
    on every data set, and holds in part if no measured t reaches an eps below 1/3 on some of them.
    """
    return [
        _judge_constant(
            inequality,
            [constant for constant in constants if constant["statement"] == inequality.statement],
        )
        for inequality in INEQUALITIES
    ]


def _judge_constant(inequality: Inequality, constants: Sequence[Record]) -> dict[str, Any]:
    largest: dict[str, float | None] = {constant["case"]: None for constant in constants}
    for constant in constants:
        if constant["eps"] < THEOREM_LIMIT:
            largest[constant["case"]] = max(constant["c"], largest[constant["case"]] or 0.0)
    reached = [c for c in largest.values() if c is not None]
    if not reached:
        verdict = "not reached"
    elif max(reached) > ARGUED_CONSTANT:
        verdict = "does not hold"
    else:
        verdict = "holds" if len(reached) == len(largest) else "holds in part"
    return {
        "statement": inequality.statement,
        "allowed": inequality.failure,
        "argued_c": ARGUED_CONSTANT,
        "c": largest,
        "verdict": verdict,
    }


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
    instance_columns = (
        ("data", "{data}"),
        ("n x d", "{n} x {d}"),
        ("k", "{k}"),
        ("best inertia", "{inertia:.7g}"),
        ("proven lower bound", "{lower_bound:.7g}"),
        ("ratio", "{ratio:.7f}"),
    )
    title = "How closely the optimum is known"
    return [
        tabulate("instances", title, results["instances"], instance_columns),
        _tabulate_statements(results["statements"]),
        _tabulate_settings(results["settings"]),
        _tabulate_proofs(results["sketch_proofs"]),
        _tabulate_lemmas(results),
    ]


def _tabulate_statements(statements: Sequence[Record]) -> Table:
    columns = (
        ("statement", "{statement}"),
        ("solver on the sketch", "{solver}"),
        ("draws beyond the bound", "{beyond} of {n_draws}"),
        ("worst ratio over bound", "{worst_share:.3f}"),
        ("where (! if chance does not explain it)", _show_beyond),
        ("verdict", "{verdict}"),
    )
    title = (
        "F(A, X~) / OPT against each promise, constants one: a promise may fail with probability "
        f"{statements[0]['allowed']:.0%}, and does not hold where that does not explain the draws "
        "beyond it (binomial tests, joint level 5 %)"
    )
    return tabulate("statements", title, statements, columns)


def _show_beyond(statement: Record) -> str:
    """Return where draws are beyond the bound; a mark where chance does not explain it."""
    places = [
        "{data} t = {t} ({beyond} of {n_draws})".format_map(place)
        + ("!" if {"data": place["data"], "t": place["t"]} in statement["failing"] else "")
        for place in statement["where_beyond"]
    ]
    return ", ".join(places) or "-"


def _tabulate_settings(settings: Sequence[Record]) -> Table:
    by_solver = {
        solver: [setting for setting in settings if setting["solver"] == solver]
        for solver in (DEFAULT, PLAIN)
    }
    columns = (
        ("data", lambda pair: "{data}, k = {k}".format_map(pair[0])),
        ("t", lambda pair: str(pair[0]["t"])),
        ("eps = sqrt(k / t)", partial(_show_eps, "boutsidis2010")),
        ("eps of log(k / eps) / eps^2", partial(_show_eps, "makarychev2019")),
        (f"{DEFAULT}: median ratio", lambda pair: f"{pair[0]['ratio_median']:.4f}"),
        ("worst", lambda pair: f"{pair[0]['worst_ratio']:.4f}"),
        (f"{PLAIN}: median ratio", lambda pair: f"{pair[1]['ratio_median']:.4f}"),
        ("worst", lambda pair: f"{pair[1]['worst_ratio']:.4f}"),
        ("its worst gamma", lambda pair: f"{pair[1]['worst_gamma']:.3f}"),
    )
    pairs = zip(*by_solver.values(), strict=True)
    return tabulate("ratios", "F(A, X~) / OPT over draws of R", pairs, columns)


def _show_eps(rule: str, pair: Sequence[Record]) -> str:
    return f"{find_eps(rule, pair[0]['k'], pair[0]['t']):.3f}"


def _tabulate_proofs(proofs: Sequence[Record]) -> Table:
    shown = "t = {t}: {sketch_ratio:.5f}"
    rows = tuple(
        (name, ", ".join(map(shown.format_map, of_data)))
        for name, of_data in group_by(proofs, itemgetter("data")).items()
    )
    title = (
        "How near to the optimum of the sketch the smallest inertia known there is, at most "
        "(semidefinite bound, first draw)"
    )
    return Table("proofs", title, ("data", "smallest known inertia over proven bound"), rows)


def _tabulate_lemmas(results: Record) -> Table:
    names = [instance["data"] for instance in results["instances"]]
    rows: list[tuple[str, ...]] = [
        (
            lemma["statement"],
            f"fails at most {lemma['allowed']:.0%}, c = {lemma['argued_c']:g}",
            ", ".join(f"{name} {_show_constant(lemma['c'][name])}" for name in names),
            lemma["verdict"],
        )
        for lemma in results["lemmas"]
    ]
    rows += sum_up_moments(results["moments"])
    title = (
        "Lemmas 1 to 4 on the same data: the c of t = c k / eps^2 that suffices at the measured t "
        "(- where no t reaches eps < 1/3)"
    )
    return Table("lemmas", title, ("statement", "bound", "measured", "verdict"), tuple(rows))


def _show_constant(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _conclude(document: Document) -> list[str]:
    results = document["results"]
    statements = results["statements"]
    n_held = sum(statement["verdict"] == "holds" for statement in statements)
    widest = max(instance["ratio"] for instance in results["instances"])
    ratios = [proof["sketch_ratio"] for proof in results["sketch_proofs"]]
    near = sum(ratio < 1.001 for ratio in ratios)
    return [
        *as_sentences(document["parameters"]["missing"]),
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
    panels = tuple(
        _draw_data_set(instance, results["settings"]) for instance in results["instances"]
    )
    lemmas = tuple(
        _draw_quantity(quantity, title, results["constants"])
        for quantity, title in QUANTITIES.items()
    )
    return [
        Chart("optimum", panels, shared_legend=True),
        Chart("optimum_lemmas", lemmas, n_columns=2, shared_legend=True),
    ]


def _draw_data_set(instance: Record, settings: Sequence[Record]) -> Panel:
    """Return F / OPT - 1 of three solvers against t, beside three promises at gamma = 1."""
    of_data = [setting for setting in settings if setting["data"] == instance["data"]]
    series = []
    for solver, label, style in (
        (DEFAULT, "default of the library, median and 90 % band", "o-"),
        (PLAIN, "Lloyd from random rows, median and 90 % band", "o-"),
        (PROVED, "semidefinite search, first sketch", "x"),
    ):
        points = [setting for setting in of_data if setting["solver"] == solver]
        median, low, high = (
            [max(point[name] - 1, SMALLEST) for point in points]
            for name in ("ratio_median", "ratio_low", "ratio_high")
        )
        dimensions = [point["t"] for point in points]
        if solver == PROVED:
            series.append(Series(label, dimensions, median, style=style))
        else:
            series.append(Series(label, dimensions, median, low, high, style))
    for promise in PROMISES[1:]:
        if promise.rule in DRAWN:
            epsilons = [find_eps(promise.rule, instance["k"], t) for t in dimensions]
            bounds = [promise.bound(eps, 1.0) - 1 for eps in epsilons]
            series.append(Series(DRAWN[promise.rule], dimensions, bounds, style="--"))
    title = "{data}, k = {k}".format_map(instance)
    return Panel(title, "t", "F(A, X~) / OPT - 1", tuple(series), log_x=True, log_y=True)


def _draw_quantity(quantity: str, title: str, constants: Sequence[Record]) -> Panel:
    of_quantity = [constant for constant in constants if constant["quantity"] == quantity]
    curves = group_by(of_quantity, "{case}, k = {k}".format_map)
    series = tuple(draw_series(name, curve, "ratio", "median") for name, curve in curves.items())
    return Panel(title, "t/k", "median over draws", series, log_x=True, log_y=True)


EXHIBIT = Exhibit(
    "optimum",
    "Theorem 1 on real data",
    "The optimum of these data is enclosed by a proof (a semidefinite bound). Sketches A R of t "
    "columns, never more than A has, are clustered by several solvers, and the inertia of each "
    "partition on the original rows is compared with the optimum. Beside it stand the bound of "
    "Theorem 1 and those of later papers, each with the solver's own gamma. eps follows from t by "
    "each paper's formula with constant one. The figure shows how far ratios are above 1; what is "
    "below 0.0001 is drawn there.",
    plan_optimum,
    FULL,
    QUICK,
    _tabulate,
    _conclude,
    _chart,
)

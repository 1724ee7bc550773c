"""What a report says: its answer, its notes, and its small tables, as plain text.

Words only; they are escaped and set by the page.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.values import FitFacts, Report

# Names of maps as a reader knows them.
MAPS = {
    "SpectralProjection": "principal directions",
    "SignProjection": "random signs",
    "SparseSignProjection": "sparse random signs",
    "HadamardProjection": "a random Hadamard transform",
    "GaussianProjection": "Gaussian combinations",
    "ColumnSampling": "sampled columns",
}
STOPS = {
    "converged": "came to a standstill",
    "max_iter": "reached its limit of passes",
    "time": "was stopped by its time budget",
    "callback": "was stopped early and kept its best result",
    "interrupted": "was interrupted and kept its best result",
}


# Of the variance: a map that shows more hides nothing that a reader must be warned of.
CLEAR_SHARE = 0.9

TIMES, DASH = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Card(NamedTuple):
    """A number of the overview, with its name and a remark."""

    name: str
    value: str
    note: str


class Step(NamedTuple):
    """A step with its seconds, and the lengths of its bars in percent."""

    name: str
    seconds: float
    planned: float | None
    width: float
    planned_width: float


def write_number(value: float, digits: int) -> str:
    """Return a number as people write it: in full, or as a multiple of a power of ten.

    Examples
    --------
    >>> write_number(12345.678, 6), write_number(47646769187.1, 4)[:5], write_number(0.0, 3)
    ('12,345.7', '4.765', '0')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa} {TIMES} 10{str(int(exponent)).translate(RAISED)}"


def tell_answer(report: Report) -> str:
    """Return the answer in two sentences."""
    facts = report.facts
    results = facts.results
    n, d = facts.data.shape
    certificate = results.certificate
    found = (
        f"{len(report.clusters):,} clusters of {n:,} rows ({d:,} columns) with inertia "
        f"{write_number(results.inertia, 5)}, {results.normalized_inertia:.3g} of the sum of "
        "squares"
    )
    if certificate is not None and certificate.ratio is not None:
        found += f", {_proof(report)}"
    end = STOPS.get(results.stopped, results.stopped)
    return (
        f"{found}. The fit {end}: it took {_seconds(_took(facts))}, where "
        f"{_seconds(facts.plan.seconds)} were planned{_proving(facts)}."
    )


def describe_cards(report: Report) -> list[Card]:
    """Return the numbers of the overview."""
    facts = report.facts
    results, sizes = facts.results, facts.results.cluster_sizes
    n, d = facts.data.shape
    way = "no sketch" if results.projection is None else _map_of(facts)
    cards = [
        Card("Clusters", f"{len(sizes):,}", f"of {min(sizes):,} to {max(sizes):,} rows"),
        Card("Rows", f"{n:,}", f"{d:,} columns, {facts.data.dtype}"),
        Card(
            "Inertia",
            write_number(results.inertia, 4),
            f"{results.normalized_inertia:.4g} normalized",
        ),
        Card("Dimensions", f"{results.n_components:,}", way),
    ]
    certificate = results.certificate
    if certificate is not None and certificate.ratio is not None:
        kind = "certain" if certificate.certain else f"probability {certificate.confidence:g}"
        cards.append(
            Card("Proven within", f"{_round_up(certificate.ratio):g} {TIMES}", f"the best, {kind}")
        )
    if results.accuracy is not None:
        cards.append(
            Card("Accuracy", f"{results.accuracy:.1%}", "rows that agree with their truth")
        )
    took = _took(facts)
    cards.append(Card("Time", _seconds(took), f"{_seconds(facts.plan.seconds)} planned"))
    if facts.original is not None:
        other = sum(facts.original.seconds.values())
        times = f"{other / took:.1f} {TIMES}" if took > 0 else DASH
        cards.append(Card("Faster by", times, f"than {facts.original.name}, {_seconds(other)}"))
    return cards


def tell_map(report: Report) -> str:
    """Return what the map shows."""
    if report.row_map is None:
        return ""
    shown, n = len(report.row_map.rows), report.facts.data.shape[0]
    some = "All rows" if shown == n else f"{shown:,} of {n:,} rows, drawn uniformly,"
    space = "sketch varies" if report.facts.results.projection else "rows vary"
    kept = report.row_map.kept
    warning = ", so clusters that overlap here may lie far apart" if kept < CLEAR_SHARE else ""
    return (
        f"{some} along the two directions in which the {space} most; these show {kept:.0%} of the "
        f"variance{warning}."
    )


def tell_members(report: Report) -> str:
    """Return what the members are."""
    shown, all_of_them = len(report.members), len(report.clusters)
    some = "" if shown == all_of_them else f" The {shown} largest of {all_of_them:,} clusters."
    look = (
        "Each picture is stretched to its own range of values."
        if report.image_shape
        else "Columns are those in which the center stands out most."
    )
    return f"The rows nearest to each center, and those farthest from it. {look}{some}"


def tell_passes_down(report: Report) -> str:
    """Return how the solver came to its result."""
    results, lines = report.facts.results, report.passes
    sampled = [line for line in lines if line.rows != report.facts.data.shape[0]]
    text = f"Lower is better; the run that won made {results.n_iter} passes on the sketch."
    if sampled:
        text += (
            f" {len(sampled)} restarts competed on a sample of {sampled[0].rows:,} rows, and the "
            "best went on with all rows; inertia is given a row, so that both fit one plot."
        )
    elif len(lines) > 1:
        text += f" {len(lines)} restarts were made."
    if len(report.original_inertia) > 1:
        first, last = report.original_inertia[0], report.original_inertia[-1]
        text += (
            f" Carried back to the original columns the inertia was {write_number(first, 6)}; "
            f"polishing there brought it to {write_number(last, 6)}."
        )
    return text


def tell_curve(report: Report) -> str:
    """Return what the curve over dimensions measures."""
    if report.curve is None:
        return ""
    return (
        "What fewer dimensions would have cost: rows of a uniform sample go to the center that the "
        "first t dimensions of this sketch find nearest, and their squared distances are measured "
        "in the original columns. A curve that is flat at 1 before its end means that the sketch "
        "was wide enough."
    )


def tell_bound(report: Report) -> str:
    """Return what the paper promises for these sizes."""
    k, d = len(report.clusters), report.facts.data.shape[1]
    least = 9 * k
    if least > d:
        return (
            "Theorem 1 of Boutsidis, Zouzias and Drineas (2010) speaks of eps below 1/3, so of "
            f"t = {least:,} random signs or more for k = {k:,} (constant 1); rows have {d:,} "
            "columns."
        )
    return (
        "Theorem 1 of Boutsidis, Zouzias and Drineas (2010): with t = k / eps² random signs "
        "(constant 1, eps below 1/3) and the best clustering of the sketch (gamma = 1), the "
        "inertia is at most 1 + (1 + eps) gamma = 2 + eps times the best possible, with "
        "probability 0.97."
    )


def tell_time(report: Report) -> str:
    """Return why the fit did what it did."""
    plan = report.facts.plan
    return f"The plan: {plan.reason}; {plan.megabytes:.3g} MB beyond the data."


def describe_steps(facts: FitFacts) -> list[Step]:
    """Return the steps with their seconds, done and planned."""
    planned = facts.plan.steps
    names = list(facts.seconds)
    if planned is not None:
        names += [name for name, time in planned.items() if name not in facts.seconds and time > 0]
    longest = max([*facts.seconds.values(), *(planned or {}).values(), 1e-9])
    found = []
    for name in names:
        seconds = facts.seconds.get(name, 0.0)
        plan = None if planned is None else planned.get(name, 0.0)
        widths = (100 * seconds / longest, 100 * (plan or 0.0) / longest)
        found.append(Step(name, seconds, plan, round(widths[0], 2), round(widths[1], 2)))
    return found


def tell_snippet(facts: FitFacts) -> str:
    """Return the lines of Python that repeat the fit."""
    plain = ProjectedKMeans().get_params()
    changed = {
        name: value
        for name, value in facts.parameters.items()
        if name not in ("callback", "random_state") and value != plain.get(name)
    }
    words = [f"{name}={value!r}" for name, value in changed.items()]
    words += [f"{name}=...  # {text}" for name, text in facts.unserialised.items()]
    inside = "".join(f"    {word},\n" for word in (*words, f"random_state={facts.key}"))
    return (
        "from projected_kmeans import ProjectedKMeans\n\n"
        f"model = ProjectedKMeans(\n{inside}).fit(X)"
    )


def describe_origin(report: Report) -> list[tuple[str, str]]:
    """Return where the result comes from: data, key, versions, machine."""
    facts = report.facts
    shape = " x ".join(f"{side:,}" for side in facts.data.shape)
    versions = ", ".join(f"{name} {number}" for name, number in facts.versions.items())
    machine = ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in facts.machine.items()
    )
    origin = [
        ("Data", f"{facts.data.name}, {shape}, {facts.data.dtype}"),
        ("Fingerprint", report.fingerprint or "not taken"),
        ("Key", str(facts.key)),
        ("projected_kmeans", facts.package_version),
        ("Versions", versions),
        ("Machine", machine),
    ]
    certificate: Any = facts.results.certificate
    if certificate is not None:
        origin.insert(2, ("Certificate", certificate.sentence))
    return origin


def _proof(report: Report) -> str:
    certificate = report.facts.results.certificate
    if certificate is None or certificate.ratio is None:
        return ""
    within = f"within {_round_up(certificate.ratio):g} times the best possible"
    if certificate.certain:
        return f"proven {within}"
    return f"{within} with a probability of {100 * certificate.confidence:g} %"


def _took(facts: FitFacts) -> float:
    """Return the seconds of what was planned: the plan does not know of certificates."""
    return sum(time for step, time in facts.seconds.items() if step != "certify")


def _proving(facts: FitFacts) -> str:
    spent = facts.seconds.get("certify")
    return "" if spent is None else f"; proving took another {_seconds(spent)}"


def _round_up(ratio: float) -> float:
    """Return a proven ratio with three decimals, of which none promises too much."""
    return math.ceil(ratio * 1000) / 1000


def _map_of(facts: FitFacts) -> str:
    return MAPS.get(facts.results.projection or "", facts.results.projection or "")


def _seconds(value: float) -> str:
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.3g} s"

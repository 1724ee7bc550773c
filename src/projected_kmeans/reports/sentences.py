"""The texts of a report: its notes and its small tables, as plain text.

The page escapes them.
"""

from __future__ import annotations

from typing import NamedTuple

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.theorem import min_dimensions
from projected_kmeans.reports.values import FitFacts, Report

# What readers call the maps.
MAPS = {
    "SpectralProjection": "principal directions",
    "SignProjection": "random signs",
    "SparseSignProjection": "sparse random signs",
    "HadamardProjection": "a random Hadamard transform",
    "GaussianProjection": "a random Gaussian matrix",
    "ColumnSampling": "sampled columns",
}

# If the map shows at least this share of the variance, it needs no warning.
CLEAR_SHARE = 0.9

TIMES, DASH = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Step(NamedTuple):
    """A step of the fit, with its seconds and the length of its bar in percent."""

    name: str
    seconds: float
    width: float


def write_number(value: float, digits: int) -> str:
    """Return a number in full, or as a multiple of a power of ten if it is very large or small.

    Examples
    --------
    >>> write_number(12345.678, 6), write_number(47646769187.1, 4)[:5], write_number(0.0, 3)
    ('12,345.7', '4.765', '0')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa} {TIMES} 10{str(int(exponent)).translate(RAISED)}"


def write_map_note(report: Report) -> str:
    """Explain what the map shows."""
    if report.row_map is None:
        return ""
    shown, n = len(report.row_map.rows), sum(report.facts.results.cluster_sizes)
    if shown < n:
        some = f"{shown:,} of {n:,} rows, drawn at random,"
    else:
        aside = report.facts.results.set_aside
        some = f"All {n:,} rows that are in a cluster," if aside else "All rows"
    space = "sketch varies" if report.facts.results.projection else "rows vary"
    kept = report.row_map.kept
    warning = ", so clusters that overlap here may lie far apart" if kept < CLEAR_SHARE else ""
    return (
        f"{some} along the two directions in which the {space} most. These show {kept:.0%} of the "
        f"variance{warning}."
    )


def write_clusters_note(report: Report) -> str:
    """Explain the columns of the table of clusters."""
    if report.row_map is None:
        return "Click a column heading to sort."
    text = (
        "Spread is the root of the mean squared distance of a cluster's rows to its center. "
        "Nearest is the cluster with the nearest center."
    )
    if report.silhouette is not None:
        text += (
            f" The silhouette, from -1 to 1, is measured on {report.silhouette.rows:,} rows: near "
            "1 a cluster stands apart, near 0 it touches another one."
        )
    if any(one.purity is not None for one in report.clusters):
        text += " Main label is the most frequent true label and the share of rows that have it."
    aside = report.facts.results.set_aside
    if aside:
        rows = f"{aside:,} of {report.facts.data.shape[0]:,} rows are in no cluster"
        text += f" Shares are those of the rows that are in a cluster: {rows}."
    return f"{text} Click a column heading to sort."


def write_members_note(report: Report) -> str:
    """Explain which members are shown, and how."""
    shown, total = len(report.members), len(report.clusters)
    look = (
        "Each picture is scaled so that its smallest value is black and its largest white."
        if report.image_shape
        else "The columns are those in which a cluster stands out from all rows."
    )
    some = "" if shown == total else f" Only the {shown} largest of {total:,} clusters are shown."
    return (
        f"Open a cluster to see the rows nearest to its center and the rows farthest from it. "
        f"{look}{some}"
    )


def write_passes_note(report: Report) -> str:
    """Explain the plot of inertia by pass."""
    results, lines = report.facts.results, report.passes
    sampled = [line for line in lines if line.rows != report.facts.data.shape[0]]
    space = "" if results.projection is None else " on the sketch"
    text = f"Lower is better. The best run made {results.n_iter} passes{space}."
    if sampled:
        text += (
            f" {len(sampled)} restarts competed on a sample of {sampled[0].rows:,} rows, and the "
            "best one continued with all rows. The plot shows the inertia per row, so that both "
            "can be compared."
        )
    elif len(lines) > 1:
        text += f" {len(lines)} restarts were made."
    if len(report.original_inertia) > 1:
        first, last = report.original_inertia[0], report.original_inertia[-1]
        text += (
            f" In the original columns the inertia was {write_number(first, 6)} before polishing "
            f"and {write_number(last, 6)} after it."
        )
    return text


def write_curve_note(report: Report) -> str:
    """Explain what the curve over dimensions measures."""
    if report.curve is None:
        return ""
    return (
        "What fewer dimensions would have cost. For a random sample of rows, the first t "
        "dimensions of this sketch choose the nearest center, and the squared distance to that "
        "center is measured in the original columns. If the curve is flat at 1 before its end, the "
        "sketch had enough dimensions."
    )


def write_theorem_note(report: Report) -> str:
    """Explain what the paper promises for these sizes."""
    k, d = len(report.clusters), report.facts.data.shape[1]
    needed = min_dimensions(k)
    if needed > d:
        return (
            "Theorem 1 of Boutsidis, Zouzias and Drineas (2010) holds for eps below 1/3. For "
            f"k = {k:,} this means at least t = {needed:,} random signs (constant 1). The rows "
            f"have {d:,} columns, so the theorem promises nothing here."
        )
    return (
        "Theorem 1 of Boutsidis, Zouzias and Drineas (2010): with t = k / eps² random signs "
        "(constant 1, eps below 1/3) and the best clustering of the sketch (gamma = 1), the "
        "inertia is at most 1 + (1 + eps) gamma = 2 + eps times the best possible, with "
        "probability 0.97."
    )


def write_plan_note(report: Report) -> str:
    """Return in how many dimensions rows were clustered, the plan and its reason."""
    plan, results = report.facts.plan, report.facts.results
    where = f"The rows were clustered in {results.n_components:,} dimensions"
    if results.projection is None:
        where += ", as they are"
    else:
        where += f" ({MAPS.get(results.projection, results.projection)})"
    return f"{where}. Plan: {plan.reason}; {plan.megabytes:.3g} MB of memory beyond the data."


def describe_steps(facts: FitFacts) -> list[Step]:
    """Return the steps with the seconds that they took."""
    longest = max([*facts.seconds.values(), 1e-9])
    return [
        Step(name, seconds, round(100 * seconds / longest, 2))
        for name, seconds in facts.seconds.items()
    ]


def write_snippet(facts: FitFacts) -> str:
    """Return the lines of Python that repeat the fit."""
    plain = ProjectedKMeans().get_params()
    changed = {
        name: value
        for name, value in facts.parameters.items()
        if name not in ("callback", "random_state") and value != plain.get(name)
    }
    words = [f"{name}={value!r}" for name, value in changed.items()]
    words += [f"{name}=...  # {' '.join(t.split())}" for name, t in facts.unserialised.items()]
    inside = "".join(f"    {word},\n" for word in (*words, f"random_state={facts.key}"))
    return (
        "from projected_kmeans import ProjectedKMeans\n\n"
        f"model = ProjectedKMeans(\n{inside}).fit(X)"
    )


def describe_origin(report: Report) -> list[tuple[str, str]]:
    """Return what the result depends on: data, key, versions, machine."""
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
    if facts.results.certificate is not None:
        origin.insert(2, ("Certificate", facts.results.certificate.sentence))
    return origin


def write_seconds(value: float) -> str:
    """Return a time in seconds or minutes."""
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.3g} s"

"""The texts of a report: its notes and its small tables, as plain text.

The page escapes them.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context
from typing import NamedTuple

from projected_kmeans.certificates.bound_trace import thin_out
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.values import CertificateFacts, FitFacts, Report

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

# The largest eps for which Theorem 1 holds.
MAX_EPS = 1 / 3

TIMES, DASH = "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# Fewer bounds are not drawn.
MIN_POINTS = 2

# Rows of the table beside the plot, which is for readers who do not see the plot.
MAX_LISTED_POINTS = 12

ROUND_DOWN = Context(prec=6, rounding=ROUND_FLOOR)


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
    if any(cluster.purity is not None for cluster in report.clusters):
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


def min_dimensions(n_clusters: int) -> int:
    """Return the smallest t for which Theorem 1 holds, k / eps^2 with the largest eps."""
    return round(n_clusters / MAX_EPS**2)


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


class ProvenPoint(NamedTuple):
    """A moment when the best bound rose: seconds, the bound, and its share of the inertia.

    Examples
    --------
    >>> point = ProvenPoint(0.5, 7654.329, 0.9999999)
    >>> point.write_bound(), point.write_share()
    ('7,654.32', '99.999 %')
    """

    seconds: float
    bound: float
    share: float

    def write_bound(self) -> str:
        """Return the bound with six digits, rounded down so that it stays true."""
        return write_number(float(ROUND_DOWN.create_decimal(self.bound)), 6)

    def write_share(self) -> str:
        """Return the share in percent, rounded down so that it stays true."""
        return f"{math.floor(1e5 * self.share) / 1e3:.3f} %"


class ProofTexts(NamedTuple):
    """The texts of the section about the certificate; the last three are empty without a plot."""

    note: str
    caption: str
    words: str
    points: list[ProvenPoint]


def list_points(report: Report) -> list[ProvenPoint]:
    """Return the moments when the best bound rose; nothing if there is nothing to draw.

    A single bound has no history: its sentence says it all.
    """
    certificate, inertia = report.facts.results.certificate, report.facts.results.inertia
    if certificate is None or not inertia > 0 or len(certificate.trace) < MIN_POINTS:
        return []
    # A bound may exceed the inertia by the rounding error of the inertia.
    return [
        ProvenPoint(seconds, bound, min(1.0, bound / inertia))
        for seconds, bound in certificate.trace
    ]


def describe_proof(report: Report) -> ProofTexts | None:
    """Return the texts of the section about the certificate; None without a certificate."""
    certificate = report.facts.results.certificate
    if certificate is None:
        return None
    sentence = certificate.sentence
    note = f"{sentence[:1].upper()}{sentence[1:]}. {_write_parts(certificate)}".strip()
    points = list_points(report)
    if not points:
        return ProofTexts(note, "", "", [])
    inertia = report.facts.results.inertia
    caption = (
        "The line at 100 % is the inertia of this clustering, the steps are the best bound proven "
        "by then, and the smallest possible inertia lies in the shaded area between them."
    )
    first, last = points[0], points[-1]
    words = (
        f"the proven bound rises from {first.write_share()} of the inertia after "
        f"{write_seconds(first.seconds)} to {last.write_share()} after "
        f"{write_seconds(last.seconds)}; the inertia is {write_number(inertia, 6)}"
    )
    return ProofTexts(note, caption, words, thin_out(points, MAX_LISTED_POINTS))


def _write_parts(certificate: CertificateFacts) -> str:
    """Return what proving rows in parts costs; an empty text if all were proven at once."""
    if certificate.part_rows == 0:
        return ""
    percent = 100 * (1 - 1 / certificate.deal_ratio)
    return (
        f"The rows were proven in parts of up to {certificate.part_rows:,} rows, which is faster. "
        f"The parts alone leave {percent:.2g} % of the inertia open, which no bound of these parts "
        "could close."
    )

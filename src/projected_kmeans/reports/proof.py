"""What a report tells about its certificate: the texts and points of the proven interval.

Words what `values` holds; `plots` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context
from typing import NamedTuple

from projected_kmeans.certificates.bound_trace import thin_out
from projected_kmeans.reports.sentences import write_number, write_seconds
from projected_kmeans.reports.values import CertificateFacts, Report

# Fewer bounds are not drawn.
MIN_POINTS = 2

# Rows of the table beside the plot, which is for readers who do not see the plot.
MAX_LISTED_POINTS = 12

ROUND_DOWN = Context(prec=6, rounding=ROUND_FLOOR)


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


def draw_stairs(points: Sequence[ProvenPoint], end: float) -> tuple[list[float], list[float]]:
    """Return a staircase of seconds and percents, in which each bound holds until the next one.

    Examples
    --------
    >>> draw_stairs([ProvenPoint(0.5, 6.0, 0.5), ProvenPoint(1.0, 9.0, 0.75)], 4.0)
    ([0.5, 1.0, 1.0, 4.0], [50.0, 50.0, 75.0, 75.0])
    """
    seconds = [time for time in (*(point.seconds for point in points), end) for _ in range(2)]
    return seconds[1:-1], [100 * point.share for point in points for _ in range(2)]


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

"""What a report says first: the answer in a few sentences, and its most important numbers.

The page escapes the texts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from projected_kmeans.reports.sentences import DASH, TIMES, write_number, write_seconds
from projected_kmeans.reports.values import CertificateFacts, FitFacts, Report

# Why a fit ended.
STOPS = {
    "converged": "converged",
    "max_iter": "reached its maximum number of passes",
    "time": "was stopped by its time budget",
    "callback": "was stopped early and kept its best result",
    "interrupted": "was interrupted and kept its best result",
}

# Mean silhouettes above these values, in words.
SILHOUETTE_WORDS = (
    (0.7, "strongly separated"),
    (0.5, "reasonably separated"),
    (0.25, "weakly separated"),
    (-2.0, "hardly separated"),
)


class Card(NamedTuple):
    """A number of the overview, with its name and a note."""

    name: str
    value: str
    note: str


def write_answer(report: Report) -> str:
    """Return the result of the fit in a few sentences, the most important first."""
    facts = report.facts
    results, sizes = facts.results, facts.results.cluster_sizes
    n, d = facts.data.shape
    told = [
        f"{len(report.clusters):,} clusters of {n:,} rows ({d:,} columns), {min(sizes):,} to "
        f"{max(sizes):,} rows each"
    ]
    explained, cosine = results.explained_variance_ratio, results.mean_cosine
    clear = [] if explained is None else [f"explain {100 * explained:.3g} % of the variance"]
    if report.silhouette is not None:
        mean = report.silhouette.mean
        clear.append(f"are {judge_silhouette(mean)} (mean silhouette {mean:.2f})")
    if clear:
        told.append(f"They {' and '.join(clear)}")
    proof = _write_proof(results.certificate)
    share = f"{results.normalized_inertia:.3g} of the largest possible"
    if cosine is not None:
        share = f"with a mean cosine of {cosine:.3f} to the centers"
    told.append(f"The inertia is {write_number(results.inertia, 5)}, " + (proof or share))
    took = write_seconds(_sum_work(facts))
    proving = facts.seconds.get("certify")
    if proving is not None:
        took += f", and the certificate another {write_seconds(proving)}"
    told.append(f"The fit {STOPS.get(results.stopped, results.stopped)}; it took {took}")
    return ". ".join(told) + "."


def judge_silhouette(mean: float) -> str:
    """Return a mean silhouette in words, by the scale of Kaufman and Rousseeuw (1990).

    Examples
    --------
    >>> judge_silhouette(0.31)
    'weakly separated'
    """
    return next(words for least, words in SILHOUETTE_WORDS if mean > least)


def describe_cards(report: Report) -> list[Card]:
    """Return the numbers of the overview, the most important first."""
    facts = report.facts
    results, sizes = facts.results, facts.results.cluster_sizes
    n, d = facts.data.shape
    cards = [
        Card("Clusters", f"{len(sizes):,}", f"of {min(sizes):,} to {max(sizes):,} rows"),
        Card("Rows", f"{n:,}", f"{d:,} columns, {facts.data.dtype}"),
    ]
    explained, cosine = results.explained_variance_ratio, results.mean_cosine
    if explained is not None:
        cards.append(Card("Explained", f"{100 * explained:.3g} %", "of the variance"))
    if report.silhouette is not None:
        mean = report.silhouette.mean
        cards.append(Card("Silhouette", f"{mean:.2f}", judge_silhouette(mean)))
    certificate = results.certificate
    if certificate is not None and certificate.ratio is not None:
        kind = "certain" if certificate.certain else f"probability {certificate.confidence:g}"
        cards.append(
            Card("Proven within", f"{_round_up(certificate.ratio):g} {TIMES}", f"the best, {kind}")
        )
    if results.accuracy is not None:
        cards.append(Card("Accuracy", f"{results.accuracy:.1%}", "rows with the right label"))
    purity = find_purity(report)
    if purity is not None:
        cards.append(Card("Purity", f"{purity:.1%}", "rows with their cluster's main label"))
    note = f"{results.normalized_inertia:.4g} normalized"
    if cosine is not None:
        note = f"mean cosine {cosine:.3f}"
    cards.append(Card("Inertia", write_number(results.inertia, 4), note))
    return [*cards, *_describe_work(facts)]


def _describe_work(facts: FitFacts) -> list[Card]:
    """Return the time of the fit, and of another program."""
    took = _sum_work(facts)
    cards = [Card("Time", write_seconds(took), "from the check to the last labels")]
    if facts.original is not None:
        other = sum(facts.original.seconds.values())
        times = f"{other / took:.1f} {TIMES}" if took > 0 else DASH
        cards.append(
            Card("Faster by", times, f"than {facts.original.name}, {write_seconds(other)}")
        )
    return cards


def find_purity(report: Report) -> float | None:
    """Return the share of rows that have the main label of their cluster; None if unknown."""
    known = [(facts.rows, facts.purity) for facts in report.clusters if facts.purity is not None]
    n_rows = sum(rows for rows, _ in known)
    return sum(rows * purity for rows, purity in known) / n_rows if n_rows else None


def _write_proof(certificate: CertificateFacts | None) -> str:
    """Return what a certificate proves; an empty text if it proves nothing."""
    if certificate is None or certificate.ratio is None:
        return ""
    within = f"within {_round_up(certificate.ratio):g} times the best possible"
    if certificate.certain:
        return f"proven {within}"
    return f"{within} with a probability of {100 * certificate.confidence:g} %"


def _sum_work(facts: FitFacts) -> float:
    """Return the seconds of all steps but the certificate."""
    return sum(time for step, time in facts.seconds.items() if step != "certify")


def _round_up(ratio: float) -> float:
    """Return a proven ratio with three decimals, rounded up so that it stays true."""
    return math.ceil(ratio * 1000) / 1000 if ratio < 1e12 else ratio

"""The curves over the number of clusters, the number that they suggest, and the sentence why.

The rule reads curves that were measured elsewhere; it looks at no row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.certificates.certificate import Certificate, LowerBound
from projected_kmeans.result_tables import ResultTable
from projected_kmeans.results import Floats

# The gap must exceed that of one cluster by 4 standard errors, because the largest noise among a
# hundred numbers rarely reaches that.
MIN_STANDARD_ERRORS = 4.0

# A further cluster must raise the gap by at least 0.3 of the mean rise of the clusters before it,
# because beyond the last true cluster curves of finite samples still rise by about a tenth of it.
MIN_RISE_SHARE = 0.3

# The gap ends its rise abruptly if its slope over the next 5 numbers is below 0.3 of its slope over
# the last 5.
MAX_SLOPE_SHARE = 0.3
SLOPE_WINDOW = 5

# A silhouette counts only if it is 1.25 times that of random rows.
MIN_SILHOUETTE_RATIO = 1.25


# A display lists this many numbers, around the suggestion.
SHOWN_COUNTS = 10


@dataclass(frozen=True, eq=False, repr=False)
class ClusterCounts:
    """Numbers of clusters compared on one sketch of the rows.

    Attributes
    ----------
    n_clusters : ndarray of int (m,)
        The numbers, ascending.
    inertia, normalized_inertia : ndarray (m,)
        F in the sketch, which never rises with the number; and F divided by that of one cluster.
    lower_bound : ndarray (m,)
        No clustering of the sketch into this number of clusters has a lower inertia (spectral
        bound).
    silhouette, random_silhouette : ndarray (m,)
        Simplified silhouette: mean over rows of 1 - a / b, with the distances a to the nearest and
        b to the second nearest center; and that of random rows.
    gap, gap_error : ndarray (m,)
        Gap statistic, less that of one cluster: how much more the logarithm of the inertia has
        fallen than that of random rows in the box of the rows; and its standard error. If there
        are more than 2,048 rows, and more than 20 for each cluster of the largest number, it is
        measured on a sample of that size.
    n_components : int
        Dimensions of the sketch.
    lost_variance : float
        The share of the variance that is not in the sketch.
    key : int
        As ``random_state`` it repeats the comparison.
    seconds : float
        How long the comparison took.
    suggestion : int or None
        The number of clusters; None if the curves show none.
    is_clear : bool
        Whether gap statistic and silhouette agree on it.
    reason : str
        Why, as a sentence.
    proven_bound, proven_inertia : ndarray (m,) or None
        The smallest possible inertia of the rows themselves, not of the sketch, with this number of
        clusters lies between these two; proven, with rounding errors included. None if there are
        too many rows for proofs that take seconds.
    """

    n_clusters: NDArray[np.int64]
    inertia: Floats
    normalized_inertia: Floats
    lower_bound: Floats
    silhouette: Floats
    random_silhouette: Floats
    gap: Floats
    gap_error: Floats
    n_components: int
    lost_variance: float
    key: int
    seconds: float
    suggestion: int | None = None
    is_clear: bool = False
    reason: str = ""
    proven_bound: Floats | None = None
    proven_inertia: Floats | None = None

    def describe(self) -> str:
        """Return the suggestion and its reason as a sentence."""
        return self.reason

    def describe_proof(self) -> str:
        """Return what is proven for the suggestion, else for all numbers; "" if nothing is."""
        bounds, inertias = self.proven_bound, self.proven_inertia
        if bounds is None or inertias is None:
            return ""
        proofs = [
            Certificate.of(
                float(inertia),
                0.0,
                LowerBound(float(bound), "lower", True, 1.0, 0.0, n_clusters=int(count)),
            )
            for count, inertia, bound in zip(self.n_clusters, inertias, bounds, strict=True)
        ]
        if self.suggestion is not None:
            return proofs[int(np.searchsorted(self.n_clusters, self.suggestion))].describe()
        return f"the weakest proof: {max(proofs, key=lambda proof: proof.ratio).describe()}"

    def tabulate(self, limit: int | None = None) -> ResultTable:
        """Return the scores as a table of texts, the suggestion marked.

        Parameters
        ----------
        limit : int, optional
            The most numbers to list: those around the suggestion, else around the highest
            silhouette. By default all are listed.
        """
        counts = self.n_clusters.tolist()
        at = int(np.argmax(self.silhouette))
        if self.suggestion is not None:
            at = counts.index(self.suggestion)
        wanted = len(counts) if limit is None else min(limit, len(counts))
        first = min(max(0, at - wanted // 2), len(counts) - wanted)
        bounds = ("lower bound", [f"{bound:.5g}" for bound in self.lower_bound])
        if self.proven_bound is not None and self.proven_inertia is not None:
            pairs = zip(self.proven_bound, self.proven_inertia, strict=True)
            bounds = ("best possible", [write_interval(low, high) for low, high in pairs])
        rows = tuple(
            (
                str(counts[i]),
                f"{self.inertia[i]:.5g}",
                f"{self.normalized_inertia[i]:.4f}",
                bounds[1][i],
                f"{self.silhouette[i]:.3f}",
                f"{self.gap[i]:.4f} ± {self.gap_error[i]:.4f}",
            )
            for i in range(first, first + wanted)
        )
        title = f"numbers of clusters, on a sketch of {self.n_components} dimensions"
        if wanted < len(counts):
            title += f"; {wanted} of {len(counts)} numbers"
        heads = ("k", "inertia", "share", bounds[0], "silhouette", "gap statistic")
        return ResultTable(title, heads, rows, None if self.suggestion is None else at - first)

    def __repr__(self) -> str:
        """Return the suggestion and what was compared in a line."""
        compared = f"{len(self.n_clusters)} numbers from {self.n_clusters[0]} to"
        return f"<ClusterCounts: {self.reason}; {compared} {self.n_clusters[-1]}>"

    def _repr_html_(self) -> str:
        told = f'<p style="margin:0 0 0.4em"><b>{escape(self.reason)}</b></p>'
        return told + self.tabulate(SHOWN_COUNTS).to_html()

    def to_document(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them: curves as lists, infinite entries as None."""
        document: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                value = [entry if np.isfinite(entry) else None for entry in value.tolist()]
            document[name] = value
        return document


def write_interval(low: float, high: float) -> str:
    """Return an interval with five digits, rounded outwards so that it stays true.

    Examples
    --------
    >>> write_interval(118.23456, 120.00001), write_interval(0.0, 0.0)
    ('118.23 to 120.01', '0 to 0')
    """
    down, up = Context(prec=5, rounding=ROUND_FLOOR), Context(prec=5, rounding=ROUND_CEILING)
    ends = (down.create_decimal(float(low)), up.create_decimal(float(high)))
    return " to ".join(f"{float(end):.5g}" for end in ends)


def judge(curves: ClusterCounts) -> ClusterCounts:
    """Return the curves with the number that they suggest.

    If gap statistic and silhouette point to the same number, the suggestion is clear. Otherwise the
    gap statistic decides if its rise ends abruptly; if it keeps rising gently, the silhouette does.
    """
    counts = curves.n_clusters
    by_gap, by_silhouette = _follow_gap(curves), int(np.argmax(curves.silhouette))
    last = len(counts) - 1 if len(counts) > 1 else None
    none = f"no clear number of clusters up to {counts[-1]}"
    suggestion: int | None = None
    if by_gap is None:
        told = f"{none}: inertia falls no faster than that of random rows"
    elif by_gap == by_silhouette != last:
        suggestion = by_gap
        told = f"{counts[by_gap]} clusters: gap statistic and silhouette agree"
    elif by_gap != last and _ends_abruptly(curves, by_gap):
        suggestion = by_gap
        told = (
            f"{counts[by_gap]} clusters by the gap statistic, {counts[by_silhouette]} by the "
            "silhouette: they disagree, so look at both"
        )
    elif by_silhouette != last and _stands_out(curves, by_silhouette):
        suggestion = by_silhouette
        told = (
            f"{counts[by_silhouette]} clusters by the silhouette, but not clearly: the gap "
            "statistic keeps rising"
        )
    else:
        told = f"{none}: the curves keep rising"
    return replace(
        curves,
        suggestion=None if suggestion is None else int(counts[suggestion]),
        is_clear=suggestion is not None and by_gap == by_silhouette,
        reason=f"{told} {_tell_numbers(curves, by_gap, by_silhouette)}",
    )


def _tell_numbers(curves: ClusterCounts, by_gap: int | None, by_silhouette: int) -> str:
    at = int(np.argmax(curves.gap)) if by_gap is None else by_gap
    return (
        f"(gap {curves.gap[at]:.3f} +- {curves.gap_error[at]:.3f} at {curves.n_clusters[at]}; "
        f"silhouette {curves.silhouette[by_silhouette]:.2f} at {curves.n_clusters[by_silhouette]}, "
        f"of random rows {curves.random_silhouette[by_silhouette]:.2f})"
    )


def _ends_abruptly(curves: ClusterCounts, at: int) -> bool:
    """Return whether the gap statistic rises far less after a number than before it."""
    if not np.isfinite(curves.gap[at]):
        return True
    counts = np.concatenate([[1], curves.n_clusters])
    gap = np.concatenate([[0.0], curves.gap])
    here = at + 1
    before, after = max(0, here - SLOPE_WINDOW), min(len(gap) - 1, here + SLOPE_WINDOW)
    rise = (gap[here] - gap[before]) / (counts[here] - counts[before])
    return bool(gap[after] - gap[here] < MAX_SLOPE_SHARE * rise * (counts[after] - counts[here]))


def _stands_out(curves: ClusterCounts, at: int) -> bool:
    return bool(curves.silhouette[at] > MIN_SILHOUETTE_RATIO * curves.random_silhouette[at])


def _follow_gap(curves: ClusterCounts) -> int | None:
    """Return the index at which the gap statistic stops rising; None if it never exceeds noise.

    The search starts at the first number whose gap exceeds `MIN_STANDARD_ERRORS`. It moves on to a
    larger number if the gap there is higher by more than its standard error, and by at least
    `MIN_RISE_SHARE` of the mean rise a cluster so far. (The rule of Tibshirani, Walther and Hastie
    2001 stops at the first number that the next one does not exceed. With many clusters at equal
    distances that is one cluster.)
    """
    gap, error = curves.gap, curves.gap_error
    here: int | None = None
    for there, count in enumerate(curves.n_clusters):
        if here is None:
            here = there if gap[there] > MIN_STANDARD_ERRORS * error[there] else None
            continue
        start = int(curves.n_clusters[here])
        rise = MIN_RISE_SHARE * gap[here] / (start - 1) * (int(count) - start)
        if gap[there] > gap[here] + max(rise, error[there]):
            here = there
    return here

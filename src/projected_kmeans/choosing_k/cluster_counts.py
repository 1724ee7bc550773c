"""What curves over the number of clusters suggest, and the sentence that says why.

Judges numbers that were measured elsewhere; it looks at no row.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Floats

# So many standard errors above random rows a gap must be to be one; noise of the best of a hundred
# numbers rarely reaches it.
SURE = 4.0

# A further cluster must raise the gap by this share of what clusters did before: behind the last
# true one curves of finite samples still rise by about a tenth.
WORTH = 0.3

# The rise of the gap ends at once where over the next few numbers it is less than this share of
# what it was over the last few.
SHARP = 0.3
WINDOW = 5

# A silhouette must be so many times that of random rows to be one.
OUTSTANDING = 1.25


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Numbers of clusters compared on one sketch of the rows.

    Attributes
    ----------
    n_clusters : ndarray of int (m,)
        The numbers, ascending.
    inertia, normalized_inertia : ndarray (m,)
        F in the sketch, which never rises; and the same over the inertia of one cluster.
    lower_bound : ndarray (m,)
        No clustering of the sketch into as many clusters has less (spectral bound).
    silhouette, random_silhouette : ndarray (m,)
        Simplified silhouette: mean over rows of 1 - a / b, with the distances a to the nearest and
        b to the second nearest center; and that of random rows.
    gap, gap_error : ndarray (m,)
        Gap statistic, less that of one cluster: how much more the logarithm of the inertia has
        fallen than that of random rows in the box of the rows; and its standard error. Measured
        on 2,048 rows, or 20 for each cluster of the largest number, where there are more.
    n_components : int
        Dimensions of the sketch.
    lost_variance : float
        The share of the variance that is not in the sketch.
    key : int
        Passed as ``random_state`` it repeats the comparison.
    seconds : float
        It took so long.
    suggestion : int or None
        The number of clusters; None where the curves show none.
    is_clear : bool
        Whether gap statistic and silhouette agree on it.
    reason : str
        Why, as a sentence.
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

    def describe(self) -> str:
        """Return the suggestion and its reason as a sentence."""
        return self.reason

    def to_document(self) -> dict[str, Any]:
        """Return what JSON can hold: curves as lists, what is infinite as None."""
        document: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.ndarray):
                value = [entry if np.isfinite(entry) else None for entry in value.tolist()]
            document[one.name] = value
        return document


def judge(curves: ClusterCounts) -> ClusterCounts:
    """Return the curves with the number that they suggest.

    Where gap statistic and silhouette point to the same number, this is clear. Else the gap
    statistic decides if it ends its rise there at once; if it rises on gently, the silhouette does.
    """
    counts = curves.n_clusters
    by_gap, by_silhouette = _follow_gap(curves), int(np.argmax(curves.silhouette))
    last = len(counts) - 1 if len(counts) > 1 else None
    nothing = f"no clear number of clusters up to {counts[-1]}"
    suggestion: int | None = None
    if by_gap is None:
        told = f"{nothing}: inertia falls no faster than that of random rows"
    elif by_gap == by_silhouette != last:
        suggestion = by_gap
        told = f"{counts[by_gap]} clusters: gap statistic and silhouette agree"
    elif by_gap != last and _ends_at_once(curves, by_gap):
        suggestion = by_gap
        told = (
            f"{counts[by_gap]} clusters by the gap statistic, {counts[by_silhouette]} by the "
            "silhouette: they disagree, so look at both"
        )
    elif by_silhouette != last and _stands_out(curves, by_silhouette):
        suggestion = by_silhouette
        told = (
            f"{counts[by_silhouette]} clusters by the silhouette, but not clearly: the gap "
            "statistic rises on without an end"
        )
    else:
        told = f"{nothing}: the curves rise on without an end"
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


def _ends_at_once(curves: ClusterCounts, at: int) -> bool:
    """Tell whether the gap statistic rises by far less after a number than before it."""
    if not np.isfinite(curves.gap[at]):
        return True
    counts = np.concatenate([[1], curves.n_clusters])
    gap = np.concatenate([[0.0], curves.gap])
    here, before, after = at + 1, max(0, at + 1 - WINDOW), min(len(gap) - 1, at + 1 + WINDOW)
    rise = (gap[here] - gap[before]) / (counts[here] - counts[before])
    return bool(gap[after] - gap[here] < SHARP * rise * (counts[after] - counts[here]))


def _stands_out(curves: ClusterCounts, at: int) -> bool:
    return bool(curves.silhouette[at] > OUTSTANDING * curves.random_silhouette[at])


def _follow_gap(curves: ClusterCounts) -> int | None:
    """Return where the gap statistic ceases to rise; None where it never does.

    From one cluster it goes to the first number with a gap beyond all noise, and from there on to a
    larger number where that is worth more than noise, and at least `WORTH` of what a cluster was
    worth before. (The rule of Tibshirani, Walther and Hastie 2001 stops at the first number that
    the next does not exceed: among many clusters at equal distances, that is one.)
    """
    gap, error = curves.gap, curves.gap_error
    here: int | None = None
    for there, count in enumerate(curves.n_clusters):
        if here is None:
            here = there if gap[there] > SURE * error[there] else None
            continue
        start = int(curves.n_clusters[here])
        worth = WORTH * gap[here] / (start - 1) * (int(count) - start)
        if gap[there] > gap[here] + max(worth, error[there]):
            here = there
    return here

"""The rule that reads a number of clusters from the curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from projected_kmeans import ClusterCounts
from projected_kmeans.choosing_k.cluster_counts import judge


def make_curves(gap: list[float], silhouette: list[float]) -> ClusterCounts:
    """Return curves from 2 clusters on, with a standard error of 0.01."""
    size = len(gap)
    nothing = np.zeros(size)
    return ClusterCounts(
        n_clusters=np.arange(2, 2 + size),
        inertia=nothing,
        normalized_inertia=nothing,
        lower_bound=nothing,
        silhouette=np.array(silhouette),
        random_silhouette=nothing,
        gap=np.array(gap),
        gap_error=np.full(size, 0.01),
        n_components=2,
        lost_variance=0.0,
        key=0,
        seconds=0.0,
    )


@pytest.mark.parametrize(
    ("gap", "silhouette", "suggestion", "is_clear", "part"),
    [
        ([0.1, 0.4, 0.41, 0.4], [0.2, 0.5, 0.3, 0.2], 3, True, "agree"),
        ([0.1, 0.4, 0.41, 0.4], [0.6, 0.5, 0.3, 0.2], 3, False, "they disagree"),
        ([0.0, 0.0, 0.4, 0.39], [0.1, 0.1, 0.3, 0.2], 4, True, "agree"),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], None, False, "curves keep rising"),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.1], 3, False, "by the silhouette, but not"),
        ([0.01, -0.1, 0.02, 0.03], [0.9, 0.2, 0.3, 0.4], None, False, "no faster"),
    ],
)
def test_judgements(
    gap: list[float], silhouette: list[float], suggestion: int | None, is_clear: bool, part: str
) -> None:
    """Agreement is clear, disagreement is named; noise and an endless rise give no number."""
    judged = judge(make_curves(gap, silhouette))
    assert (judged.suggestion, judged.is_clear) == (suggestion, is_clear)
    assert part in judged.describe()


def test_a_gentle_rise_ends_at_no_number() -> None:
    """A gap that grows as a logarithm never stops, so the silhouette decides, not clearly."""
    counts = np.arange(2, 41)
    judged = judge(make_curves(list(np.log(counts)), list(-np.abs(counts - 9) + 50.0)))
    assert (judged.suggestion, judged.is_clear) == (9, False)
    assert "9 clusters by the silhouette, but not clearly" in judged.describe()
    assert "at 40;" not in judged.describe()


def test_a_silhouette_like_that_of_random_rows_does_not_count() -> None:
    """If the gap keeps rising, the silhouette must clearly exceed that of random rows."""
    curves = make_curves([0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.1])
    judged = judge(replace(curves, random_silhouette=np.full(4, 0.28)))
    assert judged.suggestion is None


def test_a_single_number_is_judged_against_one_cluster() -> None:
    """A single number is suggested if its gap exceeds that of one cluster."""
    assert judge(make_curves([0.4], [0.5])).suggestion == 2
    assert judge(make_curves([0.01], [0.5])).suggestion is None

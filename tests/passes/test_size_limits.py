"""Limits of cluster sizes: what they are in rows and in weight, and which are impossible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans.passes.size_limits import SizeLimits, resolve_limits


def limits(minimum: Any, maximum: Any, n_rows: int = 10, **given: Any) -> SizeLimits | None:
    """Return the limits for 3 clusters."""
    given = {"balanced": False, "weights": None, **given}
    return resolve_limits(minimum, maximum, n_clusters=3, n_rows=n_rows, **given)


def test_limits_of_rows_are_whole() -> None:
    """A minimum is rounded up and a maximum down; no cluster is empty."""
    assert limits(None, None) is None
    assert limits(2.5, 4.5) == SizeLimits(3, 4)
    assert limits(None, 5) == SizeLimits(1, 5)
    assert limits(2, None) == SizeLimits(2, 10)
    assert limits(None, None, balanced=True) == SizeLimits(3, 4)
    assert limits(None, None, n_rows=9, balanced=True) == SizeLimits(3, 3)


def test_limits_of_weight() -> None:
    """With weights, sizes are sums of weights; balanced clusters differ by the heaviest row."""
    weights = np.array([1.0, 2.0, 3.0])
    assert limits(0.5, 3.0, 3, weights=weights) == SizeLimits(0.5, 3.0)
    assert limits(None, None, 3, balanced=True, weights=weights) == SizeLimits(0.0, 5.0)


@pytest.mark.parametrize(
    ("minimum", "maximum", "weights", "sentence"),
    [
        (
            4,
            None,
            None,
            "n_clusters=3 with min_cluster_size=4 need more than all rows, 10 in total; use at ",
        ),
        (
            None,
            3.9,
            None,
            "n_clusters=3 with max_cluster_size=3 have no room for all rows, 10 in total",
        ),
        (4, None, np.ones(10), "min_cluster_size=4 need more than all weight, 10 in total"),
        (None, 3, np.ones(10), "max_cluster_size=3 have no room for all weight, 10 in total"),
        (None, 8, np.array([9.0] + [1.0] * 9), "is below the weight 9 of a single row"),
    ],
)
def test_impossible_limits_are_refused(
    minimum: Any, maximum: Any, weights: Any, sentence: str
) -> None:
    """Limits that no partition can keep raise one sentence with what to do."""
    with pytest.raises(ValueError, match="use ") as raised:
        limits(minimum, maximum, weights=weights)
    assert sentence in str(raised.value)


def test_sizes_at_the_limits_are_within() -> None:
    """A size may be as small and as large as the limits say, and no more."""
    assert SizeLimits(2, 4).hold(np.array([2.0, 4.0]))
    assert not SizeLimits(2, 4).hold(np.array([1.0, 4.0]))
    assert not SizeLimits(2, 4).hold(np.array([2.0, 5.0]))

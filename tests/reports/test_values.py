"""Parts of a report whose lengths do not fit together are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from projected_kmeans.reports.values import Report


def test_lengths_are_compared(report: Report) -> None:
    """A map, a restart and a curve with columns of different lengths are refused."""
    assert report.row_map is not None
    assert report.curve is not None
    many = (1.0,) * 99
    with pytest.raises(ValueError, match="the columns of the map have different lengths"):
        replace(report.row_map, x=many)
    with pytest.raises(ValueError, match="not one inertia for each pass"):
        replace(report.passes[0], inertia=many)
    with pytest.raises(ValueError, match="not one ratio for each dimension"):
        replace(report.curve, ratios=many)

"""The benchmark of limits of cluster sizes."""

from __future__ import annotations

import bench_sizes
import pytest
import size_tables


def test_both_fits_are_measured_and_drawn() -> None:
    """A fit without limits and one within them are timed, and the table has a line for each."""
    found = bench_sizes.run([(120, 5, 3)], 1, None, 60)
    free, limited = found[0]["rows"]
    assert (free["system"], limited["system"]) == ("free", "limited")
    assert 32 <= limited["smallest"] <= limited["largest"] <= 48
    assert limited["inertia"] >= free["inertia"] * (1 - 1e-12)
    peer = {"system": "k-means-constrained", "seconds": 60.0, "ended": True}
    found[0]["rows"].append(peer)
    table = size_tables.sizes_table(found)
    assert len(table.splitlines()) == 5
    assert "more than 60.00" in table


@pytest.mark.parametrize("name", ["free", "limited"])
def test_names_in_the_table(name: str) -> None:
    """Each of our fits has a name that a reader understands."""
    assert "ours" in size_tables.NAMES[name]

"""The experiments by name, and the sizes of a full run."""

from __future__ import annotations

import pytest

from projected_kmeans.paper.experiments import figure1, mailman, table2
from projected_kmeans.paper.experiments.plans import PLANS, plan_experiment


def test_full_sizes() -> None:
    """A full run has 1,000 draws in Table 2, 30 draws of 60 dimensions, and 10,000 rows."""
    assert table2.FULL.n_draws >= 1000
    assert figure1.FULL.dimensions == tuple(range(5, 301, 5))
    assert figure1.FULL.n_draws >= 30
    assert (mailman.FULL.n[0], mailman.FULL.n[-1]) == (1, 10_000)


@pytest.mark.parametrize("name", ["table1", "mailman", "theorem", "optimum"])
def test_the_quick_plan_has_fewer_units(name: str) -> None:
    """An experiment is planned by its name; a quick one measures less with the same key."""
    full, quick = (plan_experiment(name, None, key=3, quick=quick) for quick in (False, True))
    assert (full.name, quick.name) == (name, name)
    assert full.parameters["key"] == quick.parameters["key"] == 3
    assert len(quick.units) < len(full.units)


def test_experiments_have_unique_unit_names() -> None:
    """A stopped run finds its units by name, so that no two units of a plan share one."""
    for name in set(PLANS) - {"table2", "figure1", "beyond"}:
        names = [unit.name for unit in plan_experiment(name, None).units]
        assert len(set(names)) == len(names)

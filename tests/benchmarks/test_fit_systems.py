"""The systems whose fits are measured: each labels all rows."""

from __future__ import annotations

import warnings

import data_sets
import numpy as np
import peers
import pytest
from fit_systems import SYSTEMS

from tests.support.benchmark_rows import MIXTURE, TEXTS

ABSENT = peers.load_peers()


@pytest.mark.parametrize(
    ("name", "effort"), [(name, effort) for name in SYSTEMS for effort in SYSTEMS[name].efforts]
)
def test_systems_partition_all_rows(name: str, effort: str) -> None:
    """Every system with every effort labels all rows, at lower inertia than labels by chance."""
    system = SYSTEMS[name]
    if system.package in ABSENT:
        pytest.skip(ABSENT[system.package])
    rows = MIXTURE if system.dense else TEXTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few iterations did not converge
        fitted = system.fit(rows, 5, system.efforts[effort], 1)
    assert fitted.labels.shape == (rows.shape[0],)
    assert set(np.unique(fitted.labels)) <= set(range(5))
    by_chance = np.random.default_rng(0).integers(5, size=rows.shape[0])
    reached = data_sets.measure_partition(rows, fitted.labels)
    assert reached < 0.995 * data_sets.measure_partition(rows, by_chance)


@pytest.mark.parametrize("name", [name for name in SYSTEMS if SYSTEMS[name].sparse])
def test_sparse_rows_are_taken(name: str) -> None:
    """A system that is measured on CSR rows labels them."""
    system = SYSTEMS[name]
    if system.package in ABSENT:
        pytest.skip(ABSENT[system.package])
    labels = system.fit(TEXTS, 5, system.efforts[system.main], 1).labels
    assert labels.shape == (TEXTS.shape[0],)

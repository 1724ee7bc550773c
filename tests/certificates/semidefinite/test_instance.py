"""Rows without labels get a clustering, from which a proof can start."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from projected_kmeans.certificates.semidefinite.instance import Instance, cluster_quickly
from projected_kmeans.running.deadlines import Deadline, OutOfTime


@pytest.mark.parametrize("sparse", [False, True])
def test_groups_are_found(sparse: bool) -> None:
    """Rows in three far groups get the labels of their groups, the same with any threads."""
    groups = np.arange(60) % 3
    rows = np.random.default_rng(0).normal(size=(60, 3)) + 50 * np.eye(3)[groups]
    given = csr_array(rows) if sparse else rows
    for n_threads in (1, 2):
        found = cluster_quickly(
            given, 3, np.ones(60), key=1, n_threads=n_threads, deadline=Deadline()
        )
        assert len(set(zip(groups, found.labels.tolist(), strict=True))) == 3


def test_without_time_there_are_no_labels() -> None:
    """A deadline that is over ends the seeding."""
    with pytest.raises(OutOfTime):
        cluster_quickly(np.eye(5), 2, None, key=0, n_threads=1, deadline=Deadline(0.0))


def test_some_rows_are_taken_with_all_that_belongs_to_them() -> None:
    """Rows, labels and weights of the chosen rows stay together."""
    labels = np.array([0, 0, 1, 1], np.int32)
    instance = Instance(np.arange(4.0)[:, None], 2, labels, np.arange(4.0))
    some = instance.take(np.array([1, 3]))
    assert some.rows.ravel().tolist() == [1, 3]
    assert (some.labels.tolist(), some.weights.tolist()) == ([0, 1], [1, 3])

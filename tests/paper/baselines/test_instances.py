"""Small instances depend on their key and index alone."""

from __future__ import annotations

import numpy as np

from projected_kmeans.paper.baselines.instances import FAMILIES, draw_instance


def test_instances_are_values_of_their_key() -> None:
    """An instance depends on key and index alone, and all families take turns."""
    first, again = draw_instance(1, 4), draw_instance(1, 4)
    np.testing.assert_array_equal(first.rows, again.rows)
    assert {draw_instance(1, index).family for index in range(6)} == set(FAMILIES)
    assert {draw_instance(1, index).n_clusters for index in range(12)} == {2, 3}

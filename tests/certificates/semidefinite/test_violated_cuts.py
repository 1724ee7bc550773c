"""Which cuts are found and kept."""

from __future__ import annotations

import numpy as np

from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW
from projected_kmeans.certificates.semidefinite.violated_cuts import find_cuts, merge_cuts


def test_broken_cuts_are_found() -> None:
    """In a matrix that breaks one pair cut and one triangle cut, these come out, and no others."""
    matrix = np.eye(6, dtype=np.float32)
    matrix[0, 1] = matrix[1, 0] = 1.25
    matrix[1, 1] = 1.5
    matrix[2, 3] = matrix[3, 2] = matrix[2, 4] = matrix[4, 2] = 0.625
    found = find_cuts(matrix, 1e-6)
    assert sorted(found.tolist()) == [[0, 1, NO_ROW], [2, 3, 4]] or [2, 3, 4] in found.tolist()
    assert [0, 1, NO_ROW] in found.tolist()
    assert [1, 0, NO_ROW] not in found.tolist()
    assert not len(find_cuts(np.eye(6, dtype=np.float32), 1e-6))


def test_cuts_without_effect_are_dropped_and_none_is_kept_twice() -> None:
    """A merged list is in ascending order, keeps multipliers above 0, and has each cut once."""
    cuts = np.array([[3, 1, 2], [0, 1, 2], [2, 1, NO_ROW]], np.int32)
    values = np.array([0.5, 0.0, 0.25], np.float32)
    new = np.array([[3, 1, 2], [1, 0, 2], [2, 1, 0]], np.int32)
    merged, kept = merge_cuts(cuts, values, new, 4)
    assert merged.tolist() == [[1, 0, 2], [2, 1, NO_ROW], [2, 1, 0], [3, 1, 2]]
    assert kept.tolist() == [0.0, 0.25, 0.0, 0.5]

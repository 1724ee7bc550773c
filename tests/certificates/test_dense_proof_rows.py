"""Dense rows for proofs stop between blocks."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.running.deadlines import OutOfTime
from tests.support.proofs import Patience


def test_preparing_rows_stops_between_blocks() -> None:
    """The four walks that find ranges, two means and norms check the time at every block."""
    X = np.random.default_rng(0).normal(size=(700, 4))
    for too_few in range(4):
        with pytest.raises(OutOfTime):
            DenseProofRows(X, None, Patience(too_few))
    assert DenseProofRows(X, None, Patience(4)).shape == (700, 4)

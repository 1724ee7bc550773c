"""Transforming refuses rows and sketches that are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import HadamardProjection, SignProjection, SparseSignProjection
from projected_kmeans.projections.named_maps import MAPS
from tests.support.layouts import draw_rows


@pytest.mark.parametrize("kind", MAPS.values())
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("t", [1, 20])
def test_a_bad_entry_is_found_in_any_column(kind: Any, form: Any, bad: float, t: int) -> None:
    """Transforming refuses an entry that is not finite, wherever it stands, without a warning.

    The sketch is looked at, not the rows, so no map may lose such an entry.
    """
    X = draw_rows(6, 40, 30, "float32")
    fitted = kind(t, random_state=0).fit(X)
    for row, column in ((0, 0), (17, 29), (38, 3), (39, 29)):
        rows = X.copy()
        rows[row, column] = bad
        with pytest.raises(ValueError, match=rf"X contains .* at row {row}, column {column};"):
            fitted.transform(form(rows))


@pytest.mark.parametrize("kind", [SignProjection, SparseSignProjection, HadamardProjection])
def test_a_sketch_that_overflows_is_refused(kind: Any) -> None:
    """Finite rows whose sums overflow float32 give a sentence; in float64 they have a sketch."""
    X = np.zeros((5, 64), np.float32)
    X[3] = 3e38
    fitted = kind(16, random_state=0).fit(X)
    with pytest.raises(ValueError, match="sketch of row 3 of X overflows float32; divide X by"):
        fitted.transform(X)
    assert np.isfinite(fitted.transform(X.astype(np.float64))).all()

"""SVD features agree with NumPy's decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.paper import (
    SVDFeatures,
)
from tests.support.normal_rows import draw_normal_rows


@pytest.mark.parametrize("algorithm", ["exact", "arpack", "randomized"])
def test_svd_is_that_of_numpy(algorithm: str) -> None:
    """U_t Sigma_t and U_t are NumPy's up to signs, and transform repeats them on new rows."""
    rows = draw_normal_rows(30, 12) * np.geomspace(10, 0.01, 12)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    for scaled, wanted in ((True, left * values), (False, left)):
        svd = SVDFeatures(3, scaled=scaled, algorithm=algorithm, random_state=0)
        found = svd.fit_transform(rows)
        np.testing.assert_allclose(np.abs(found), np.abs(wanted[:, :3]), atol=1e-6)
        np.testing.assert_allclose(svd.transform(rows), found, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["arpack", "randomized"])
def test_sparse_rows_give_what_dense_ones_do(algorithm: str) -> None:
    """Sparse rows have the same coordinates; LAPACK refuses them with scikit-learn's sentence."""
    rows = draw_normal_rows(30, 12) * np.geomspace(10, 0.01, 12)
    rows[np.abs(rows) < 0.05] = 0.0
    sparse = scipy.sparse.csr_matrix(rows)
    svd = SVDFeatures(3, algorithm=algorithm, random_state=0)
    wanted = svd.fit_transform(rows)
    np.testing.assert_allclose(svd.fit_transform(sparse), wanted, atol=1e-8)
    np.testing.assert_allclose(svd.transform(sparse), wanted, atol=1e-8)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        SVDFeatures(3).fit(sparse)


def test_svd_limits_are_told() -> None:
    """More components than the rank allows give one sentence, and ARPACK allows one fewer."""
    with pytest.raises(ValueError, match=r"n_components=5 is too much .*; use at most 4"):
        SVDFeatures(5).fit(draw_normal_rows(4, 9))
    with pytest.raises(ValueError, match="algorithm='arpack'; use at most 3"):
        SVDFeatures(4, algorithm="arpack").fit(draw_normal_rows(4, 9))

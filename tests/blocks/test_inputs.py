"""What users pass as rows: damaged sparse rows are refused by every function that takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import (
    ProjectedKMeans,
    SignProjection,
    certify,
    choose_n_clusters,
    inertia,
    kmeans_lower_bound,
    normalized_inertia,
    plan_fit,
)
from projected_kmeans.blocks.element_types import as_native_sparse
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import SourceDefaults
from tests.support.sparse_rows import draw_sparse

N, D = 60, 10
GOOD = draw_sparse(1, N, D, density=0.4).sparse
LABELS = np.arange(N) % 3
MODEL = ProjectedKMeans(3, random_state=0).fit(GOOD)


class BadRows(SourceDefaults):
    """A row source of a user that returns damaged rows."""

    shape, dtype, sparse = (N, D), np.dtype(np.float64), True

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def read(self, start: int, stop: int) -> Any:
        """Return the rows as they are."""
        return self.rows

    def identity(self) -> str:
        """Return a name."""
        return "bad"


def on_dask(rows: Any) -> Any:
    """Return a Dask array whose one chunk is sparse rows."""
    meta = scipy.sparse.csr_array((0, 0))
    return da.from_array(np.zeros((N, D)), chunks=(N, D)).map_blocks(lambda _: rows, meta=meta)


ENTRIES: dict[str, Callable[[Any], Any]] = {
    "fit": lambda X: ProjectedKMeans(3).fit(X),
    "fit_predict": lambda X: ProjectedKMeans(3).fit_predict(X),
    "fit_transform": lambda X: ProjectedKMeans(3).fit_transform(X),
    "partial_fit": lambda X: ProjectedKMeans(3).partial_fit(X),
    "cosine": lambda X: ProjectedKMeans(3, metric="cosine").fit(X),
    "predict": MODEL.predict,
    "transform": MODEL.transform,
    "score": MODEL.score,
    "certify": lambda X: certify(X, LABELS),
    "inertia": lambda X: inertia(X, LABELS),
    "normalized_inertia": lambda X: normalized_inertia(X, LABELS),
    "kmeans_lower_bound": lambda X: kmeans_lower_bound(X, 3),
    "choose_n_clusters": lambda X: choose_n_clusters(X, [2, 3]),
    "plan_fit": lambda X: plan_fit(X, n_clusters=3),
    "projection": lambda X: SignProjection(4).fit(X),
    "projected rows": SignProjection(4).fit(GOOD).transform,
    "row source": lambda X: ProjectedKMeans(3).fit(as_row_source(X)),
    "own row source": lambda X: ProjectedKMeans(3).fit(BadRows(X)),
    "dask": lambda X: ProjectedKMeans(3).fit(on_dask(X)),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("value", [10**6, 0, -5])
def test_a_bad_indptr_is_refused_everywhere(entry: str, value: int) -> None:
    """The rows are checked before SciPy, scikit-learn or a kernel follows their indices."""
    rows = GOOD.copy()
    rows.indptr[20] = value
    with pytest.raises(ValueError, match="damaged csr matrix: its indptr does not ascend"):
        ENTRIES[entry](rows)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo"])
def test_an_index_outside_is_refused_in_all_formats(kind: str) -> None:
    """Formats that are converted are checked before the conversion."""
    rows = GOOD.asformat(kind, copy=True)
    (rows.col if kind == "coo" else rows.indices)[7] = 10**6
    with pytest.raises(ValueError, match=f"damaged {kind} matrix: it has the index 1000000"):
        ProjectedKMeans(3).fit(rows)


def test_complex_sparse_rows_are_refused() -> None:
    """Entries that are not real numbers are told before they are converted."""
    with pytest.raises(ValueError, match="complex128; give real numbers"):
        ProjectedKMeans(3).fit(GOOD.astype(complex))


def test_strided_parts_and_other_index_types_are_read() -> None:
    """Kernels get contiguous arrays of one index type, whatever the caller has set."""
    rows = GOOD.copy()
    rows.indices = np.repeat(rows.indices, 2)[::2].astype(np.uint16)
    rows.data = np.repeat(rows.data, 2)[::2]
    found = as_native_sparse(rows)
    assert found.indices.dtype == found.indptr.dtype == np.int64
    assert found.data.flags.c_contiguous
    np.testing.assert_array_equal(found.toarray(), GOOD.toarray())

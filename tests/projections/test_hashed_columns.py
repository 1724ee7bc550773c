"""Principal directions of very wide rows, whose columns are hashed first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, SpectralProjection, clustering_accuracy, open_rows
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.projections.hashed_columns import (
    HASHED_COLUMNS,
    MIN_DENSE_COLUMNS,
    MIN_SPARSE_COLUMNS,
    count_hashed_columns,
    hash_dense,
    hash_selected,
)
from projected_kmeans.projections.map_protocol import fill_sketch
from tests.support.blobs import assert_same_fit
from tests.support.sparse_rows import draw_topics

N, K = 120, 3


def draw_wide(d: int = MIN_DENSE_COLUMNS, dtype: str = "float32") -> tuple[NDArray[Any], Any]:
    """Return rows around three centers, which a sixth of the squared distances tell apart."""
    stream = np.random.default_rng(0)
    labels = stream.integers(K, size=N)
    centers = stream.normal(size=(K, d)) * 0.4
    return (centers[labels] + stream.normal(size=(N, d)) + 1).astype(dtype), labels


def draw_wide_sparse(n: int = N) -> Any:
    """Return CSR rows of three topics in so many columns that they are hashed."""
    return draw_topics(0, n, MIN_SPARSE_COLUMNS, K, n_words=40, dtype="float32")


def test_only_wide_rows_are_hashed() -> None:
    """Narrow rows are not, sparse rows later than dense ones, and not for many directions."""
    assert count_hashed_columns(MIN_DENSE_COLUMNS, 64, sparse=False) == HASHED_COLUMNS
    assert count_hashed_columns(MIN_DENSE_COLUMNS - 1, 64, sparse=False) == 0
    assert count_hashed_columns(MIN_DENSE_COLUMNS, 64, sparse=True) == 0
    assert count_hashed_columns(MIN_SPARSE_COLUMNS, 64, sparse=True) == HASHED_COLUMNS
    assert count_hashed_columns(10**6, 257, sparse=True) == 0
    X, _ = draw_wide()
    assert SpectralProjection(4).fit(X).n_hashed_columns_ == HASHED_COLUMNS
    assert SpectralProjection(4, hashed_columns=None).fit(X[:, :900]).n_hashed_columns_ == 0
    assert SpectralProjection(4, hashed_columns=800).fit(X[:, :700]).n_hashed_columns_ == 0
    assert SpectralProjection(4).fit(draw_wide_sparse()).n_hashed_columns_ == HASHED_COLUMNS


def test_the_map_is_that_of_the_hashed_rows() -> None:
    """Directions, mean, loss and coordinates are those of a map of rows that were hashed before."""
    X, _ = draw_wide()
    hashed = np.empty((N, 500), np.float32)
    hash_dense(X, 5, hashed, 1)
    found = SpectralProjection(4, hashed_columns=500, random_state=5).fit(X)
    expected = SpectralProjection(4, random_state=5).fit(hashed)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.mean_, expected.mean_)
    assert found.lost_variance_ == expected.lost_variance_
    np.testing.assert_array_equal(found.transform(X), expected.transform(hashed))
    assert found.components_.shape == (4, 500)


def test_squared_distances_keep_their_size() -> None:
    """Hashing changes the squared distance of two rows by little, on average by nothing.

    The relative standard deviation is at most sqrt(2 / 8192) = 1.6 %. The mean over 60 pairs of
    independent noise deviates by more than 1.2 % with a probability below 1e-8 (6 standard
    deviations), and one of the 60 by more than 9.6 % likewise.
    """
    X, _ = draw_wide(dtype="float64")
    hashed = hash_selected(open_blocks(X), None, 7, HASHED_COLUMNS, 1)
    ratios = np.sum((hashed[:60] - hashed[60:]) ** 2, axis=1)
    ratios /= np.sum((X[:60] - X[60:]) ** 2, axis=1)
    assert abs(ratios.mean() - 1) < 0.012
    assert np.abs(ratios - 1).max() < 0.096


@pytest.mark.parametrize("n_threads", [1, 3])
def test_bits_do_not_depend_on_blocks_or_threads(n_threads: int) -> None:
    """Map and sketch are the same for any threads, and a row's sketch for any block."""
    X, _ = draw_wide()
    one = SpectralProjection(5, random_state=1, n_threads=1).fit(X)
    other = SpectralProjection(5, random_state=1, n_threads=n_threads).fit(X)
    np.testing.assert_array_equal(one.components_, other.components_)
    sketch = one.transform(X)
    np.testing.assert_array_equal(sketch, other.transform(X))
    for rows in (slice(0, 1), slice(7, 40), slice(119, 120)):
        np.testing.assert_array_equal(sketch[rows], other.transform(X[rows]))


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_a_sample_is_hashed_block_by_block(form: Any) -> None:
    """Selected rows are those of all rows, for dense and for sparse rows."""
    X = draw_wide_sparse(30)
    rows = form(X.toarray()[:, :3000]) if form is np.asarray else X
    source, indices = open_blocks(rows), np.array([3, 4, 17, 29])
    everything = hash_selected(source, None, 2, 100, 1)
    some = hash_selected(source, indices, 2, 100, 1)
    dense = [part.toarray() if scipy.sparse.issparse(part) else part for part in (everything, some)]
    np.testing.assert_array_equal(dense[0][indices], dense[1])


def test_sparse_and_dense_rows_have_one_map() -> None:
    """A map of sparse rows gives the same rows given dense the same coordinates, up to rounding."""
    X = draw_wide_sparse()
    found = SpectralProjection(4, random_state=0).fit(X)
    sparse, dense = found.transform(X), found.transform(X.toarray())
    np.testing.assert_allclose(sparse, dense, atol=1e-4 * np.abs(dense).max())
    sketch = np.empty((N, 4), np.float32)
    fill_sketch(found, open_blocks(X[:50]), sketch[:50])
    np.testing.assert_array_equal(sketch[:50], sparse[:50])


def test_weights_count_as_repeated_rows() -> None:
    """Directions of weighted rows are those of rows that are repeated, up to rounding."""
    X, _ = draw_wide(dtype="float64")
    weights = np.arange(N) % 3
    weighted = SpectralProjection(2, random_state=0).fit(X, sample_weight=weights)
    repeated = SpectralProjection(2, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-9)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_too_few_hashed_columns_are_refused() -> None:
    """There cannot be more directions than columns to find them in."""
    X, _ = draw_wide(300)
    with pytest.raises(ValueError, match="hashed_columns=3 are fewer than the 4 directions"):
        SpectralProjection(4, hashed_columns=3).fit(X)
    with pytest.raises(ValueError, match="hashed_columns=0"):
        SpectralProjection(4, hashed_columns=0).fit(X)


@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}])
def test_wide_fits_have_one_result(tmp_path: Path, options: dict[str, Any]) -> None:
    """The fit finds the clusters, and is that of files, of Dask, of any threads and memory."""
    X, labels = draw_wide()
    np.save(tmp_path / "rows.npy", X)

    def fit(rows: Any, **others: Any) -> ProjectedKMeans:
        return ProjectedKMeans(K, random_state=3, **options, **others).fit(rows)

    model = fit(X, n_threads=1)
    assert model.approach_.projection == "svd"
    assert model.projection_.n_hashed_columns_ == HASHED_COLUMNS
    assert clustering_accuracy(labels, model.labels_) == 1
    assert_same_fit(model, fit(X, n_threads=2))
    assert_same_fit(model, fit(open_rows(tmp_path / "rows.npy")))
    assert_same_fit(model, fit(open_rows(tmp_path / "rows.npy"), memory_limit="100MB"))
    assert_same_fit(model, fit(da.from_array(X, chunks=(50, -1))))


def test_a_checkpoint_keeps_the_map(tmp_path: Path) -> None:
    """A fit that goes on from its checkpoint ends with the map and the bits of one without."""
    X = draw_wide_sparse()
    plain = ProjectedKMeans(K, random_state=3).fit(X)
    options = {"random_state": 3, "checkpoint": tmp_path / "checkpoint"}
    first, again = (ProjectedKMeans(K, **options).fit(X) for _ in range(2))
    for model in (first, again):
        assert_same_fit(plain, model)
        assert model.projection_.n_hashed_columns_ == HASHED_COLUMNS
        np.testing.assert_array_equal(
            model.projection_.transform(X), plain.projection_.transform(X)
        )

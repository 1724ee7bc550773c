"""The estimator on CSR rows: the fit of the same rows given dense, never made dense."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD

from projected_kmeans import ProjectedKMeans, inertia, normalized_inertia
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit
from tests.support.small_blocks import use_small_blocks
from tests.support.sparse_rows import draw_topics

EXACT = ("sign", "sparse-sign")


def fit_both(rows: Any, k: int, weights: Any = None, **options: Any) -> list[ProjectedKMeans]:
    """Return the fits of CSR rows and of the same rows given dense."""
    settings = {"random_state": 0, "n_components": 16} | options
    return [
        ProjectedKMeans(k, **settings).fit(form, sample_weight=weights)
        for form in (rows, rows.toarray())
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "k"), [(300, 3), (400, 20), (600, 130)])
@pytest.mark.parametrize("projection", EXACT)
def test_the_fit_is_that_of_dense_rows(projection: str, n: int, k: int, dtype: str) -> None:
    """Labels, centers and inertia have the same bits, with full passes and among candidates."""
    rows = draw_topics(k, n, 700, k, dtype=dtype)
    sparse, dense = fit_both(rows, k, projection=projection, n_init=2, polish_iter=3)
    assert_same_fit(sparse, dense)
    assert_consistent(sparse, rows.toarray())
    assert sparse.cluster_centers_.dtype == dtype


@pytest.mark.parametrize("projection", ["hadamard", "gaussian", "svd", "columns"])
def test_other_maps_agree_up_to_rounding(projection: str) -> None:
    """Maps whose sketches differ in their last digits find the same clusters."""
    rows = draw_topics(1, 400, 300, 5, n_words=40)
    sparse, dense = fit_both(rows, 5, projection=projection, solver="lloyd", n_init=1)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-12)


@pytest.mark.parametrize("k", [4, 30])
def test_nothing_is_projected(k: int) -> None:
    """In the original space, from the same first rows, both forms have the same bits."""
    rows = draw_topics(k, 500, 60, k)
    first = np.random.default_rng(0).choice(500, k, replace=False)
    sparse, dense = fit_both(rows, k, projection=None, init=first)
    assert_same_fit(sparse, dense)
    given = fit_both(rows, k, projection=None, init=rows[first].toarray())
    assert_same_fit(given[0], sparse)

    def choose(X: Any, n_clusters: int, random_state: np.random.RandomState) -> Any:
        return first

    assert_same_fit(fit_both(rows, k, projection=None, init=choose, n_init=1)[0], sparse)


def test_seeding_is_on_a_sketch(caplog: pytest.LogCaptureFixture) -> None:
    """Sparse rows that are not projected are seeded on a sketch; with key 1 all find the topics."""
    rows = draw_topics(2, 500, 400, 6)
    with caplog.at_level(logging.DEBUG, logger="projected_kmeans"):
        model = ProjectedKMeans(6, projection=None, random_state=1).fit(rows)
    assert "seed: on a sign sketch of 64 columns" in caplog.text
    assert_consistent(model, rows.toarray())
    for init in ("random", "k-means||", "afk-mc2", "orss06"):
        other = ProjectedKMeans(6, projection=None, init=init, random_state=1).fit(rows)
        assert other.inertia_ == pytest.approx(model.inertia_, rel=1e-9)


@pytest.mark.parametrize("solver", ["hartigan"])
def test_other_solvers_need_dense_rows_or_a_projection(solver: str) -> None:
    """They move rows one at a time, which needs dense rows: an error says so."""
    rows = draw_topics(3, 300, 200, 4)
    with pytest.raises(ValueError, match=f"solver='{solver}' needs a projection with sparse rows"):
        ProjectedKMeans(4, projection=None, solver=solver).fit(rows)
    assert_same_fit(*fit_both(rows, 4, projection="sign", solver=solver))


@pytest.mark.parametrize("projection", ["sign", "svd", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_blocks_change_no_bit(
    projection: str | None, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the number of threads nor the size of blocks shows in a fit, weights or not."""
    rows = draw_topics(4, 300, 200, 6)
    weights = np.random.default_rng(0).random(300) if weighted else None
    options = {"projection": projection, "n_components": 12, "random_state": 0}
    whole = ProjectedKMeans(6, n_threads=1, **options).fit(rows, sample_weight=weights)
    use_small_blocks(monkeypatch, 4000)
    other = ProjectedKMeans(6, n_threads=3, **options).fit(rows, sample_weight=weights)
    assert_same_fit(whole, other)


def test_weights_agree_up_to_rounding() -> None:
    """Weighted fits of sparse and dense rows agree up to rounding."""
    rows = draw_topics(5, 400, 300, 5, n_words=40)
    weights = np.random.default_rng(0).random(400)
    sparse, dense = fit_both(rows, 5, weights)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-12)
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-13)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_array", "coo_array", "lil_array"])
def test_any_sparse_form_is_read(form: str) -> None:
    """All of SciPy's forms give the fit of CSR rows, and are not changed."""
    rows = draw_topics(6, 200, 100, 4)
    other = getattr(scipy.sparse, form)(rows)
    options = {"n_components": 16, "random_state": 0}
    found = ProjectedKMeans(4, **options).fit(other)
    assert_same_fit(found, ProjectedKMeans(4, **options).fit(rows))
    assert other.format == form[:3]


def test_indices_in_any_order() -> None:
    """Rows with unsorted indices give the fit of rows with sorted ones."""
    rows = draw_topics(7, 200, 100, 4)
    spans = itertools.pairwise(rows.indptr)
    order = np.concatenate([np.arange(first, last)[::-1] for first, last in spans])
    mixed = scipy.sparse.csr_array((rows.data[order], rows.indices[order], rows.indptr), rows.shape)
    options = {"n_components": 16, "random_state": 0}
    found = ProjectedKMeans(4, **options).fit(mixed)
    assert_same_fit(found, ProjectedKMeans(4, **options).fit(rows))
    assert not mixed.has_sorted_indices


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fitted_on_one_form_asked_in_another(dtype: str) -> None:
    """Labels, distances and score of new rows do not depend on their form."""
    rows, new = draw_topics(8, 300, 200, 5, dtype=dtype), draw_topics(9, 80, 200, 5, dtype=dtype)
    for trained in (rows, rows.toarray()):
        model = ProjectedKMeans(5, random_state=0).fit(trained)
        np.testing.assert_array_equal(model.predict(new), model.predict(new.toarray()))
        centers = model.cluster_centers_
        distances = np.sqrt(reference.squared_distances(new.toarray(), centers).T.astype(float))
        np.testing.assert_allclose(model.transform(new), distances, rtol=1e-5)
        assert model.transform(new).dtype == dtype
        assert model.score(new) == model.score(new.toarray())
        assert model.score(new) == pytest.approx(-np.sum(distances.min(axis=1) ** 2), rel=1e-6)


def test_a_transformer_gets_the_rows_as_they_are() -> None:
    """A transformer that is not ours is fitted to the CSR rows."""
    rows = draw_topics(10, 300, 200, 5, n_words=40)
    model = ProjectedKMeans(5, projection=TruncatedSVD(8, random_state=0), random_state=0).fit(rows)
    assert model.n_components_ == 8
    assert_consistent(model, rows.toarray())


def test_scores_of_partitions() -> None:
    """F and F~ of sparse rows have the bits of dense ones."""
    rows = draw_topics(11, 300, 200, 5)
    labels = np.random.default_rng(0).integers(5, size=300)
    assert inertia(rows, labels) == inertia(rows.toarray(), labels)
    assert normalized_inertia(rows.tocsc(), labels) == normalized_inertia(rows.toarray(), labels)
    with pytest.raises(ValueError, match="labels has 299 entries but X 300 rows"):
        inertia(rows, labels[:-1])


def test_empty_clusters_and_empty_rows() -> None:
    """Too few distinct rows leave clusters empty with a warning, as with dense rows."""
    rows = scipy.sparse.csr_array(np.repeat(np.eye(3, 40), [5, 5, 5], axis=0) * [1.0] * 40)
    rows = scipy.sparse.vstack([rows, scipy.sparse.csr_array((5, 40))]).tocsr()
    for form in (rows, rows.toarray()):
        with pytest.warns(match=r"Number of distinct clusters \(4\)"):
            model = ProjectedKMeans(6, random_state=0, n_components=8).fit(form)
        assert model.inertia_ == pytest.approx(0, abs=1e-20)


def test_quality_beside_scikit_learn() -> None:
    """The inertia on topics is within a twentieth of scikit-learn's best of three (fixed keys)."""
    rows = draw_topics(12, 2000, 1000, 12, n_words=30)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    peer = KMeans(12, n_init=3, random_state=0).fit(rows)
    for projection in ("sign", "svd"):
        model = ProjectedKMeans(12, projection=projection, n_components=32, random_state=0)
        assert model.fit(rows).inertia_ <= 1.05 * peer.inertia_


PROGRAM = """
import resource
import numpy as np
import scipy.sparse
from projected_kmeans import ProjectedKMeans, inertia

stream = np.random.default_rng(0)
n, d = 1000, 400_000
words = np.sort(stream.integers(d, size=(n, 20)), axis=1)
words[:, 0] = np.repeat(np.arange(2), n // 2)
rows = scipy.sparse.csr_array((np.ones(words.size, np.float32), (np.repeat(np.arange(n), 20),
    words.ravel())), shape=(n, d))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for projection in ("sign", "sparse-sign", "svd", None):
    model = ProjectedKMeans(
        2, projection=projection, n_components=4, n_init=1, max_iter=2, random_state=0
    ).fit(rows)
    model.predict(rows), model.transform(rows), model.score(rows)
    inertia(rows, model.labels_)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_nothing_is_made_dense() -> None:
    """A fit of 1,000 x 400,000 takes less than 0.4 GB, where dense rows would take 1.6."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 0.4e6

"""partial_fit: the result does not depend on how rows are divided, and memory is bounded."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from projected_kmeans import ProjectedKMeans, as_row_source, load_model, save_model
from projected_kmeans.streaming import row_stream as row_streams

K = 4
MEANS = np.random.default_rng(5).normal(size=(K, 30))
LABELS = np.random.default_rng(6).integers(K, size=900)
ROWS = MEANS[LABELS] + 0.5 * np.random.default_rng(7).normal(size=(900, 30))
WEIGHTS = np.random.default_rng(8).integers(0, 4, size=900).astype(float)
KINDS = {
    "plain": {},
    "sign": {"projection": "sign", "n_components": 5},
    "cosine": {"metric": "cosine"},
    "none": {"projection": None},
}


@pytest.fixture(autouse=True)
def small_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep no more than 20 rows a cluster, so that 900 rows fill buffers of 320."""
    monkeypatch.setattr(row_streams, "MIN_KEPT_ROWS", 20)


def cut(n_rows: int, size: int) -> Iterator[slice]:
    """Yield consecutive spans of a size."""
    return (slice(start, start + size) for start in range(0, n_rows, size))


def stream(rows: Any, size: int, weights: Any = None, **options: Any) -> ProjectedKMeans:
    """Return a model that has seen all rows in blocks of a size."""
    options = {"n_clusters": K, "random_state": 0} | options
    model = ProjectedKMeans(**options)
    for span in cut(rows.shape[0], size):
        part = None if weights is None else weights[span]
        model.partial_fit(rows[span], sample_weight=part)
    return model


def assert_same(one: ProjectedKMeans, two: ProjectedKMeans) -> None:
    """Compare bits."""
    assert (one.cluster_centers_ == two.cluster_centers_).all()
    assert (one.inertia_, one.normalized_inertia_) == (two.inertia_, two.normalized_inertia_)
    assert one.n_samples_seen_ == two.n_samples_seen_


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_cuts_do_not_matter(options: dict[str, Any], sparse: bool) -> None:
    """Blocks of any size, single rows among them, give the same bits."""
    rows = scipy.sparse.csr_array(ROWS * (ROWS > 0)) if sparse else ROWS
    options = {"solver": "lloyd"} | options
    whole = stream(rows, 900, WEIGHTS, **options)
    for size in (7, 320, 321):
        assert_same(stream(rows, size, WEIGHTS, **options), whole)
    assert_same(stream(rows[:330], 1, **options), stream(rows[:330], 330, **options))


def test_threads_do_not_matter() -> None:
    """One thread gives the bits of two."""
    assert_same(stream(ROWS, 100, n_threads=1), stream(ROWS, 100, n_threads=2))


def test_few_rows_are_fitted_as_they_are() -> None:
    """As long as nothing was condensed, the model is that of fit."""
    part = ROWS[:300]
    model = stream(part, 64)
    fitted = ProjectedKMeans(K, random_state=0).fit(part, sample_weight=np.ones(300))
    assert (model.cluster_centers_ == fitted.cluster_centers_).all()
    assert model.inertia_ == fitted.inertia_
    assert model.normalized_inertia_ == pytest.approx(fitted.normalized_inertia_)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_inertia_is_that_of_a_partition_of_all_rows(options: dict[str, Any]) -> None:
    """It is at least that of the nearest centers, and near it if clusters are far apart."""
    model = stream(ROWS, 100, WEIGHTS, **options)
    nearest = -model.score(ROWS, sample_weight=WEIGHTS)
    assert nearest * (1 - 1e-12) <= model.inertia_ <= 1.02 * nearest
    squares = WEIGHTS @ np.sum(ROWS**2, axis=1)
    largest = 2 * WEIGHTS.sum() if options == KINDS["cosine"] else squares
    assert model.normalized_inertia_ == pytest.approx(model.inertia_ / largest, rel=1e-9)


def test_centers_are_means_of_all_rows() -> None:
    """Blobs that are apart have their exact means for centers, though most rows are not kept."""
    model = stream(ROWS, 50)
    exact = np.array([ROWS[label == LABELS].mean(axis=0) for label in range(K)])
    order = model.predict(exact)
    assert sorted(order) == list(range(K))
    np.testing.assert_allclose(model.cluster_centers_[order], exact, rtol=1e-10, atol=1e-12)
    assert (model.predict(ROWS) == order[LABELS]).all()


def test_fewer_rows_than_clusters_are_centers_themselves() -> None:
    """The first rows are centers; the model can be used from the first one on."""
    model = ProjectedKMeans(5, random_state=0)
    with pytest.raises(NotFittedError):
        model.predict(ROWS)
    for n_rows in range(1, 8):
        model.partial_fit(ROWS[n_rows - 1 : n_rows])
        assert model.cluster_centers_.shape == (min(n_rows, 5), 30)
        assert model.n_samples_seen_ == n_rows
        assert len(set(model.predict(ROWS[:n_rows]))) == min(n_rows, 5)


def test_fit_discards_a_stream_and_partial_fit_continues_a_fit() -> None:
    """A fit after a stream is as without it, and rows after a fit are added to those of the fit."""
    model = stream(ROWS, 100)
    fitted = ProjectedKMeans(K, random_state=0).fit(ROWS[:50])
    model.fit(ROWS[:50])
    assert_same(model, fitted)
    assert vars(model).keys() >= vars(fitted).keys()
    assert not model.has_pending_rows_
    model.partial_fit(ROWS[50:90])
    assert model.n_samples_seen_ == 90
    assert not hasattr(model, "labels_")
    with pytest.raises(AttributeError, match="ask predict"):
        model.labels_  # noqa: B018


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_row_leaves_the_model_as_it_was(bad: float) -> None:
    """The error names the entry, and no row of its block is added, in memory or stored."""
    model, rows = stream(ROWS[:400], 100), ROWS[400:].copy()
    rows[321, 3] = bad
    for block in (rows, scipy.sparse.csr_array(rows), as_row_source(rows)):
        with pytest.raises(ValueError, match="at row 321, column 3"):
            model.partial_fit(block)
    assert_same(model, stream(ROWS[:400], 100))
    assert_same(model.partial_fit(ROWS[400:]), stream(ROWS, 900))


def test_what_a_stream_cannot_take_is_a_sentence() -> None:
    """Other columns, another number of clusters or metric, and first centers by row are refused."""
    model = stream(ROWS, 100)
    with pytest.raises(ValueError, match="29 features"):
        model.partial_fit(ROWS[:, 1:])
    with pytest.raises(ValueError, match="clone"):
        clone(model).partial_fit(ROWS).set_params(metric="cosine").partial_fit(ROWS)
    with pytest.raises(ValueError, match="clone"):
        clone(model).partial_fit(ROWS).set_params(n_clusters=9).partial_fit(ROWS)
    with pytest.raises(ValueError, match="init names rows"):
        ProjectedKMeans(2, init=[0, 1]).partial_fit(ROWS)
    with pytest.raises(ValueError, match="n_components=31 exceeds"):
        ProjectedKMeans(2, n_components=31).partial_fit(ROWS)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_'"):
        model.nothing_  # noqa: B018


def test_given_centers_are_taken() -> None:
    """First centers in the original space may be given to a stream."""
    model = stream(ROWS, 100, init=MEANS)
    assert (model.predict(MEANS) == np.arange(K)).all()


def test_kinds_of_rows_may_change() -> None:
    """A stream of dense rows takes sparse blocks and row sources, and gives the same bits."""
    model = stream(ROWS[:300], 300)
    model.partial_fit(scipy.sparse.csr_array(ROWS[300:600]))
    model.partial_fit(as_row_source(ROWS[600:]))
    assert_same(model, stream(ROWS, 900))
    sparse = ProjectedKMeans(K, random_state=0).partial_fit(scipy.sparse.csr_array(ROWS[:500]))
    assert_same(sparse.partial_fit(ROWS[500:]), stream(scipy.sparse.csr_array(ROWS), 900))


def test_a_stream_can_be_pickled_in_its_middle(tmp_path: Path) -> None:
    """A copy continues to the same bits, and a saved model predicts the same."""
    model = pickle.loads(pickle.dumps(stream(ROWS[:500], 100)))
    assert_same(model.partial_fit(ROWS[500:]), stream(ROWS, 900))
    save_model(model, tmp_path)
    assert (load_model(tmp_path).predict(ROWS) == model.predict(ROWS)).all()


def test_asking_does_not_change_the_stream() -> None:
    """Reading results between blocks does not change the final result."""
    model = ProjectedKMeans(K, random_state=0)
    for span in cut(900, 150):
        model.partial_fit(ROWS[span])
        assert model.inertia_ > 0
        assert model.key_ == 0
    assert_same(model, stream(ROWS, 900))


def test_the_callers_block_may_be_written_to() -> None:
    """Rows are copied: a buffer that is filled again for every block gives the same."""
    model, buffer = ProjectedKMeans(K, random_state=0), np.empty((90, 30))
    for span in cut(900, 90):
        buffer[:] = ROWS[span]
        model.partial_fit(buffer)
    assert_same(model, stream(ROWS, 900))


def test_memory_is_bounded() -> None:
    """Rows kept are a full buffer and one part a level at most, however many were seen."""
    model, most = ProjectedKMeans(K, random_state=0), []
    source = np.random.default_rng(0)
    for _ in range(80):
        model.partial_fit(source.normal(size=(320, 6)))
        kept = model._stream
        n_levels = int(np.log2(kept.n_seen / 320)) + 1
        assert kept.n_floats <= (4 + n_levels) * kept.n_kept * 7
        most.append(kept.n_floats)
    assert max(most) <= 6 * kept.n_kept * 7  # of 25,600 rows, when 63 buffers are six parts

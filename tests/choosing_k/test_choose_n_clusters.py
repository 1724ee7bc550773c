"""Comparing numbers of clusters: planted numbers are found, single clouds have none."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from projected_kmeans import FitState, choose_n_clusters, kmeans_lower_bound
from tests.support.blobs import draw_blobs
from tests.support.commands import ROWS
from tests.support.stored_rows import SpyRows


@pytest.mark.parametrize(
    ("k", "gap", "n", "d"),
    [
        (2, 2.0, 100, 5),
        (3, 1.0, 300, 50),
        (5, 0.3, 500, 200),
        (6, 2.5, 400, 8),
        (12, 0.5, 700, 80),
    ],
)
def test_planted_numbers_are_found(k: int, gap: float, n: int, d: int) -> None:
    """The number of blobs is found; the nearest two are 5 to 10 standard deviations apart."""
    X, home = draw_blobs(1, n, d, k, gap)
    assert 5 < pdist([X[home == one].mean(axis=0) for one in range(k)]).min() < 10
    choice = choose_n_clusters(X, range(2, k + 4), prove=False, random_state=0)
    assert choice.suggestion == k
    assert choice.describe().startswith(f"{k} clusters")
    assert choice.gap[k - 2] > 4 * choice.gap_error[k - 2]


@pytest.mark.parametrize("kind", ["normal", "flat", "uniform", "long tails"])
def test_clouds_have_no_number(kind: str) -> None:
    """Rows of one cloud of any shape have no clear number of clusters."""
    stream = np.random.default_rng(0)
    X = {
        "normal": stream.normal(size=(600, 100)),
        "flat": stream.normal(size=(600, 8)) / np.arange(1, 9),
        "uniform": stream.random((600, 2)),
        "long tails": stream.standard_t(3, size=(600, 10)),
    }[kind]
    choice = choose_n_clusters(X, range(2, 10), prove=False, random_state=0)
    assert choice.suggestion is None
    assert not choice.is_clear
    assert choice.describe().startswith("no clear number of clusters up to 9: inertia falls no")


def test_curves_are_those_of_the_rows() -> None:
    """Rows of 64 columns are not reduced, so inertia and bounds are those of the rows."""
    X = load_digits().data
    choice = choose_n_clusters(X, [3, 10, 20], random_state=0)
    assert (choice.n_components, choice.lost_variance) == (64, 0.0)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    np.testing.assert_allclose(choice.normalized_inertia, choice.inertia / total, rtol=1e-12)
    for index, count in enumerate(choice.n_clusters):
        peer = KMeans(int(count), n_init=5, random_state=0).fit(X).inertia_
        assert choice.inertia[index] <= 1.02 * peer
        bound = kmeans_lower_bound(X, int(count), method="spectral").value
        assert choice.lower_bound[index] == pytest.approx(bound, rel=1e-9)


def test_bounds_are_below_the_inertia() -> None:
    """On a sketch of 500 columns no inertia is below its bound, and the inertia never rises."""
    X = draw_blobs(0, n=300, d=500, k=6, gap=0.3)[0].astype(np.float32)
    choice = choose_n_clusters(X, range(2, 100, 6), n_components=20, prove=False, random_state=0)
    assert choice.n_components == 20
    assert 0 < choice.lost_variance < 1
    assert (choice.lower_bound <= choice.inertia).all()
    assert (choice.lower_bound >= 0).all()
    assert choice.lower_bound[0] > 0
    assert (np.diff(choice.inertia) <= 0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_everything_follows_from_the_key(weighted: bool) -> None:
    """One and two threads give the same bits; the gap is measured on 2,048 of the 2,200 rows."""
    X = draw_blobs(2, n=2200, d=90, k=4, gap=0.5)[0]
    weights = np.random.default_rng(0).integers(1, 4, 2200) if weighted else None
    one, two = (
        choose_n_clusters(X, [2, 4, 6], sample_weight=weights, random_state=5, n_threads=n)
        for n in (1, 2)
    )
    assert one.to_document() | {"seconds": 0} == two.to_document() | {"seconds": 0}
    assert (one.suggestion, one.key) == (4, 5)


def test_weights_are_numbers_of_copies() -> None:
    """Rows with weights, some of them 0, give the number of clusters that their copies give."""
    X = draw_blobs(2, n=200, d=20, k=4, gap=2.0)[0]
    weights = np.arange(200) % 3
    options = {"prove": False, "random_state": 0}
    one = choose_n_clusters(X, [2, 3, 4, 5], sample_weight=weights, **options)
    other = choose_n_clusters(np.repeat(X, weights, axis=0), [2, 3, 4, 5], **options)
    assert (one.suggestion, one.is_clear) == (other.suggestion, other.is_clear) == (4, True)
    np.testing.assert_allclose(one.inertia[:3], other.inertia[:3], rtol=1e-9)
    np.testing.assert_allclose(one.lower_bound, other.lower_bound, rtol=1e-9)


def test_progress_is_told() -> None:
    """The callback is called after every clustering, up to the announced total."""
    states: list[FitState] = []
    choose_n_clusters(ROWS, [2, 3], random_state=0, callback=states.append)
    steps = [state for state in states if state.step == "choose"]
    assert [state.iteration for state in steps] == list(range(1, steps[0].total + 1))


def test_exact_copies_are_counted() -> None:
    """Copies of three rows have an infinite gap from 3 clusters on, which JSON holds as null."""
    choice = choose_n_clusters(np.repeat(np.eye(3), 9, axis=0), range(2, 6), random_state=0)
    assert choice.suggestion == 3
    assert np.isinf(choice.gap[1:]).all()
    assert json.loads(json.dumps(choice.to_document(), allow_nan=False))["gap"][1] is None


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "counts is empty"),
        ([1, 2], "counts=1 is too small"),
        ([2, 61], "counts reach 61, above n_samples=60"),
    ],
)
def test_bad_numbers_are_one_sentence(counts: list[int], message: str) -> None:
    """An empty list, 1 and numbers above the number of rows are refused in one sentence."""
    with pytest.raises(ValueError, match=message):
        choose_n_clusters(ROWS, counts)


def test_equal_rows_are_one_cluster() -> None:
    """If all rows are equal there is nothing to compare."""
    with pytest.raises(ValueError, match="all rows of X are equal"):
        choose_n_clusters(np.ones((10, 3)), [2, 3])


@pytest.mark.parametrize("n_components", [5, "auto"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_source_gives_the_curves_of_its_rows(n_components: int | str, sparse: bool) -> None:
    """Stored rows are walked over once; with few columns they are loaded instead."""
    X, _ = draw_blobs(3, 300, 40, 4, 2.0)
    rows = scipy.sparse.csr_array(X * (X > 0)) if sparse else X
    spy = SpyRows(rows)
    options = {"n_components": n_components, "random_state": 0}
    found = choose_n_clusters(spy, range(2, 7), prove=n_components == 5, **options)
    expected = choose_n_clusters(rows, range(2, 7), prove=False, **options)
    assert (found.inertia == expected.inertia).all()
    assert found.suggestion == expected.suggestion
    assert spy.n_walks == (1 if n_components == 5 else 0)


@pytest.mark.parametrize("n_columns", [12, 90])
def test_directions_are_compared(n_columns: int) -> None:
    """With the metric "cosine" lengths of rows do not matter, with and without a sketch."""
    stream = np.random.default_rng(4)
    means = np.repeat(4 * stream.normal(size=(4, n_columns)), 25, axis=0)
    X = means + 0.5 * stream.normal(size=means.shape)
    longer = X * stream.uniform(0.1, 40, (100, 1))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    options = {"prove": n_columns == 12, "random_state": 0}
    found = choose_n_clusters(longer, range(2, 6), metric="cosine", **options)
    same = choose_n_clusters(unit, range(2, 6), **options)
    assert found.suggestion == same.suggestion == 4
    np.testing.assert_allclose(found.inertia, same.inertia, rtol=1e-6)
    assert found.inertia[0] < 100
    sparse = scipy.sparse.csr_array(longer)
    again = choose_n_clusters(sparse, range(2, 6), metric="cosine", prove=False, random_state=0)
    np.testing.assert_allclose(again.inertia, found.inertia, rtol=1e-6)
    if n_columns == 12:
        np.testing.assert_allclose(found.proven_bound, same.proven_bound, rtol=1e-4)

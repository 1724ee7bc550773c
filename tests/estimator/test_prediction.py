"""Rows given to a fitted model: labels, distances, scores, and rows that it must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from projected_kmeans import FitState, ProjectedKMeans, as_row_source
from projected_kmeans.estimator.prediction import label_input
from projected_kmeans.estimator.projected_kmeans import read_fitted_model
from tests.support.blobs import draw_blobs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_methods_equal_scikit_learns(dtype: str) -> None:
    """predict, transform and score are scikit-learn's for the same centers."""
    X, _ = draw_blobs(gap=0.5)
    X = X.astype(dtype)
    new = draw_blobs(9)[0].astype(dtype)
    model = ProjectedKMeans(5, random_state=0).fit(X)
    referee = KMeans(5, init=model.cluster_centers_, n_init=1, max_iter=1).fit(X)
    referee.cluster_centers_ = model.cluster_centers_
    weights = np.random.default_rng(0).random(150)
    accuracy = 1e-4 if dtype == "float32" else 1e-11
    for rows in (X, new):
        np.testing.assert_array_equal(model.predict(rows), referee.predict(rows))
        found = model.transform(rows)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, referee.transform(rows), rtol=accuracy)
        assert model.score(rows) == pytest.approx(referee.score(rows), rel=accuracy)
        assert model.score(rows, sample_weight=weights) == pytest.approx(
            referee.score(rows, sample_weight=weights), rel=accuracy
        )


def test_a_converged_fit_predicts_its_labels() -> None:
    """After convergence in the original space, predict gives labels_ and score -inertia_."""
    X, _ = draw_blobs(gap=0.5)
    model = ProjectedKMeans(5, polish_iter=100, random_state=0)
    labels = model.fit_predict(X)
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_array_equal(model.predict(X), labels)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-12)
    np.testing.assert_array_equal(model.fit_transform(X), model.transform(X))


@pytest.mark.parametrize("max_iter", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {"init": "random"},
        {"init": "random", "metric": "cosine"},
        {"solver": "hartigan"},
        {"solver": "lloyd", "polish_iter": 1},
    ],
    ids=str,
)
def test_a_fit_that_ends_early_predicts_its_labels(
    options: dict[str, Any], dtype: str, max_iter: int
) -> None:
    """Without a projection, labels_ and inertia_ are those of the nearest centers, as predict's."""
    X = np.random.default_rng(1).normal(size=(500, 4)).astype(dtype)
    searches = options.get("solver") == "hartigan"  # which takes dense rows only
    for rows in (X,) if searches else (X, scipy.sparse.csr_array(X)):
        model = ProjectedKMeans(
            6, projection=None, max_iter=max_iter, random_state=0, **options
        ).fit(rows)
        np.testing.assert_array_equal(model.labels_, model.predict(rows))
        assert model.inertia_ == pytest.approx(-model.score(rows), rel=1e-12)
        if "polish_iter" not in options:
            assert model.inertia_ <= model.history_[-1]


@pytest.mark.parametrize(
    ("centers", "sentence"),
    [
        (np.zeros((2, 3), complex), "cluster_centers_ has the type complex128 and not float32"),
        (np.full((2, 3), "1.5"), "cluster_centers_ has the type <U3 and not float32"),
        ([[0.0, 1.0, 2.0]], "cluster_centers_ has the type list and not float32"),
        (np.full((2, 3), 1e308), r"cluster_centers_ reaches 1e\+308, so that distances overflow"),
        (np.full((2, 3), np.nan), "cluster_centers_ holds NaN or infinity"),
        (np.zeros((0, 3)), r"cluster_centers_ has shape \(0, 3\) and not one row"),
        (np.zeros((2, 4)), r"cluster_centers_ has shape \(2, 4\) and not .* 3 columns"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_centers_set_by_hand_are_checked(method: str, centers: Any, sentence: str) -> None:
    """Centers that no kernel can measure distances to get one sentence, not wrong labels."""
    X, _ = draw_blobs(n=40, d=3, k=2)
    model = ProjectedKMeans(2, random_state=0).fit(X)
    model.cluster_centers_ = centers
    with pytest.raises(ValueError, match=sentence):
        getattr(model, method)(X)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_centers_beyond_the_type_of_the_rows(method: str) -> None:
    """float64 centers that float32 cannot hold are refused for float32 rows, and serve others."""
    X, _ = draw_blobs(n=40, d=3, k=2)
    model = ProjectedKMeans(2, random_state=0).fit(X)
    model.cluster_centers_ = np.array([[1e100, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(model.predict(X), 1)
    with pytest.raises(ValueError, match=r"centers reach 1e\+100, which float32 cannot hold; give"):
        getattr(model, method)(X.astype(np.float32))


def test_the_distance_to_an_equal_center_is_zero() -> None:
    """A row that is a center has distance exactly zero to it."""
    X = np.random.default_rng(0).normal(size=(6, 3))
    model = ProjectedKMeans(6, projection=None, init=X).fit(X)
    np.testing.assert_array_equal(np.diag(model.transform(X)), 0)


def test_rows_far_outside_are_predicted_and_measured() -> None:
    """New float32 rows far beyond the training data have finite distances."""
    X, _ = draw_blobs(n=40, d=3, k=2, gap=4.0)
    model = ProjectedKMeans(2, random_state=0).fit(X.astype(np.float32))
    far = np.array([[1e25, 0, 0], [-1e25, 0, 0]], np.float32)
    np.testing.assert_allclose(model.transform(far), 1e25, rtol=1e-5)
    assert model.score(far) == pytest.approx(-2e50, rel=1e-5)


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_bad_rows_are_named_after_fitting(method: str) -> None:
    """The wrong number of features, a NaN or a missing fit give a sentence."""
    model = ProjectedKMeans(2, random_state=0)
    with pytest.raises(NotFittedError):
        getattr(model, method)(np.zeros((2, 3)))
    model.fit(np.arange(12.0).reshape(4, 3))
    with pytest.raises(ValueError, match=r"X has 2 features, but ProjectedKMeans is expecting 3"):
        getattr(model, method)(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="NaN at row 1, column 2"):
        getattr(model, method)([[0.0, 0.0, 0.0], [0.0, 0.0, np.nan]])


def test_labels_come_block_by_block() -> None:
    """Blocks cover all rows in their order, and the callback hears of each."""
    X, _ = draw_blobs(gap=0.5)
    model = ProjectedKMeans(5, random_state=0).fit(X)
    states: list[FitState] = []
    blocks = list(label_input(read_fitted_model(model), as_row_source(X), states.append))
    np.testing.assert_array_equal(
        np.concatenate([block.labels for block in blocks]), model.predict(X)
    )
    assert blocks[0].start == 0
    assert states[-1].iteration == states[-1].total == 150
    assert {state.step for state in states} == {"predict"}


@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_threads_set_after_the_fit_are_checked(method: str) -> None:
    """A number of threads that kernels cannot take gets a sentence, not their signature."""
    X, _ = draw_blobs()
    model = ProjectedKMeans(3, random_state=0).fit(X).set_params(n_threads=2**31)
    with pytest.raises(ValueError, match="n_threads=2147483648 is too large; use at most"):
        getattr(model, method)(X)

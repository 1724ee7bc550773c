"""ProjectedKMeans fitted to rows of any kind, and rows and parameters that it must refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer

from projected_kmeans import (
    ProjectedKMeans,
    clustering_accuracy,
)
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.layouts import TYPES, compute_type


@pytest.mark.parametrize("unit", [1e-30, 1e-20, 1.0, 1e20, 1e30])
@pytest.mark.parametrize("k", [1, 4])
def test_float32_rows_in_any_unit(unit: float, k: int) -> None:
    """Tiny and huge float32 rows are clustered, predicted and measured as well as rows near 1."""
    X, home = draw_blobs(n=80, d=60, k=k, gap=4.0)
    rows = (X * unit).astype(np.float32)
    model = ProjectedKMeans(k, n_components=20, random_state=0, n_init=5).fit(rows)
    assert clustering_accuracy(home, model.labels_) == 1.0
    assert model.inertia_ / unit / unit == pytest.approx(
        reference.extended_inertia(X, home), rel=1e-5
    )
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    expected = np.sqrt(reference.squared_distances(X, model.cluster_centers_ / unit)).T
    np.testing.assert_allclose(model.transform(rows) / unit, expected.astype(float), rtol=1e-4)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_a_large_offset(offset: float) -> None:
    """float32 rows far from the origin are clustered as well as those around it."""
    X, home = draw_blobs(n=100, d=300, k=4, gap=3.0)
    rows = (X + offset).astype(np.float32)
    model = ProjectedKMeans(4, projection=None, random_state=0, n_init=10).fit(rows)
    assert clustering_accuracy(home, model.labels_) == 1.0
    exact = reference.extended_inertia(rows, model.labels_)
    assert model.inertia_ == pytest.approx(exact, rel=1e-9)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


@pytest.mark.parametrize("dtype", [*TYPES, "int32", "int64", "uint32", "bool", ">f8", ">i2"])
def test_every_type_of_numbers(dtype: str) -> None:
    """Rows of any type give the fit of the same numbers in float64, up to rounding."""
    X, home = draw_blobs(n=100, d=80, k=4, gap=5.0)
    X = (X > 0).astype(dtype) if dtype == "bool" else (X * 3 + 60).clip(0, 120).astype(dtype)
    model = ProjectedKMeans(4, n_components=30, random_state=0, n_init=5).fit(X)
    native = np.dtype(dtype).newbyteorder("=").name
    small = native in TYPES or native == "bool"
    assert model.cluster_centers_.dtype == (compute_type(native) if small else np.float64)
    assert clustering_accuracy(home, model.labels_) == 1.0
    plain = ProjectedKMeans(4, n_components=30, random_state=0, n_init=5).fit(X.astype(float))
    assert clustering_accuracy(plain.labels_, model.labels_) == 1.0
    assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(float)))


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda X: X[::-1].copy()[::-1]])
def test_memory_order_does_not_matter(arrange: Callable[[Any], Any]) -> None:
    """Fortran order and negative strides give the same bits, and the rows are not written."""
    X, _ = draw_blobs(gap=0.3)
    other = arrange(X)
    other.setflags(write=False)
    one = ProjectedKMeans(5, random_state=0).fit(X)
    assert_same_fit(one, ProjectedKMeans(5, random_state=0).fit(other))
    np.testing.assert_array_equal(other, X)


def test_a_memory_map_and_lists(tmp_path: Path) -> None:
    """A read-only memory map and nested lists are taken like arrays."""
    X, _ = draw_blobs(n=40, d=10, gap=0.3)
    np.save(tmp_path / "rows.npy", X)
    one = ProjectedKMeans(3, random_state=0).fit(X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert_same_fit(one, ProjectedKMeans(3, random_state=0).fit(mapped))
    assert_same_fit(one, ProjectedKMeans(3, random_state=0).fit(X.tolist()))


def test_the_smallest_cases() -> None:
    """One row, one column, and as many clusters as rows are fitted like all others."""
    single = ProjectedKMeans(1).fit([[3.0, 4.0]])
    assert (single.inertia_, single.labels_.tolist()) == (0.0, [0])
    np.testing.assert_array_equal(single.cluster_centers_, [[3, 4]])
    line = ProjectedKMeans(2, random_state=0).fit([[0.0], [0.0], [9.0]])
    assert line.inertia_ == 0
    assert line.labels_[0] == line.labels_[1] != line.labels_[2]
    X = np.random.default_rng(0).normal(size=(9, 30))
    full = ProjectedKMeans(9, random_state=0).fit(X)
    assert sorted(full.labels_) == list(range(9))
    assert full.inertia_ <= 1e-25


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"init": "random"},
        {"solver": "hartigan"},
        {"projection": "sign", "n_components": 2},
        {"init": np.array([[0.5, 0.5, 0.5], [1.5, 1.0, 0.2], [7.0, 7.0, 7.0], [-9.0, 0.0, 0.0]])},
    ],
    ids=["default", "random", "hartigan", "sign", "centers"],
)
def test_too_few_distinct_rows_give_a_warning(options: dict[str, Any]) -> None:
    """Fewer distinct rows than clusters give a ConvergenceWarning and a fit with empty clusters."""
    X = np.repeat([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], 6, axis=0)
    model = ProjectedKMeans(4, random_state=0, **options)
    sentence = r"distinct clusters \(2\) found smaller than n_clusters \(4\).*use fewer clusters"
    with pytest.warns(ConvergenceWarning, match=sentence):
        model.fit(X)
    assert model.inertia_ == 0
    assert len(np.unique(model.labels_)) == 2
    assert np.isfinite(model.cluster_centers_).all()
    assert model.cluster_centers_.shape == (4, 3)
    np.testing.assert_array_equal(model.transform(X).min(axis=1), 0)


PARAMETERS = [
    ({"n_clusters": 0}, ValueError, "n_clusters=0 is too small; use an integer of at least 1"),
    ({"n_clusters": -3}, ValueError, "n_clusters=-3 is too small"),
    ({"n_clusters": 2.0}, TypeError, "n_clusters=2.0 is not an integer"),
    ({"n_clusters": True}, TypeError, "n_clusters=True is not an integer"),
    ({"n_clusters": "two"}, TypeError, "n_clusters='two' is not an integer"),
    ({"n_clusters": 7}, ValueError, "n_clusters=7 exceeds n_samples=6; use at most 6"),
    ({"n_components": 200}, ValueError, "n_components=200 exceeds n_features=4; use at most 4 or"),
    ({"n_components": 0}, ValueError, "n_components=0 is too small"),
    ({"n_components": "all"}, TypeError, "n_components='all' .* or 'auto'"),
    ({"eps": 0.0}, ValueError, r"eps=0.0 is outside \(0, 1\); use for example eps=0.3"),
    ({"eps": 1.0}, ValueError, r"eps=1.0 is outside \(0, 1\)"),
    ({"eps": "small"}, ValueError, r"eps='small' is outside \(0, 1\)"),
    ({"projection": "fourier"}, ValueError, "projection='fourier' is not known; use one of 'auto'"),
    ({"projection": 3}, ValueError, "projection=3 is not known"),
    ({"init": "best"}, ValueError, r"init='best' is not known; use one of 'k-means\+\+'"),
    ({"init": [0, 1, 2]}, ValueError, r"init has shape \(3,\).*\(2, 4\) or 2 row indices"),
    ({"init": [0, 6]}, ValueError, "init names rows 0 to 6 of n_samples=6; use indices from 0"),
    ({"init": [-1, 0]}, ValueError, "init names rows -1 to 0"),
    ({"init": [0.5, 1.5]}, ValueError, r"init has shape \(2,\)"),
    ({"init": np.zeros((2, 3))}, ValueError, r"init has shape \(2, 3\); pass centers of shape"),
    ({"init": [[0, 0, 0, 0], [0, 0, np.nan, 0]]}, ValueError, "init contains nan at row 1, colum"),
    ({"init": lambda *_, **__: [9, 9]}, ValueError, "init names rows 9 to 9"),
    ({"n_init": 0}, ValueError, "n_init=0 is too small; use an integer of at least 1 or 'auto'"),
    ({"n_init": 1.5}, TypeError, "n_init=1.5 is not an integer"),
    ({"solver": "elkan"}, ValueError, "solver='elkan' is not known; use one of 'auto', 'lloyd'"),
    ({"max_iter": 0}, ValueError, "max_iter=0 is too small"),
    ({"tol": -1e-9}, ValueError, "tol=-1e-09 is out of range"),
    ({"tol": np.nan}, ValueError, "tol=nan is out of range"),
    ({"tol": "none"}, TypeError, "tol='none' is not a number"),
    ({"polish_iter": -1}, ValueError, "polish_iter=-1 is too small"),
    ({"random_state": -1}, ValueError, "random_state=-1 is out of range"),
    ({"random_state": "seed"}, ValueError, "seed"),
    ({"n_threads": 0}, ValueError, "n_threads=0 is too small"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), PARAMETERS)
def test_bad_parameters_are_named(
    options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    """A parameter that cannot be used raises one sentence, in fit and not in the constructor."""
    X = np.arange(24.0).reshape(6, 4)
    model = ProjectedKMeans(**({"n_clusters": 2} | options))
    with pytest.raises(error, match=sentence) as caught:
        model.fit(X)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "labels_")


ROWS = [
    ([[0.0, 1.0], [np.nan, 1.0], [0.0, np.nan]], ValueError, "X contains NaN at row 1, column 0; "),
    ([[0.0, 1.0], [2.0, -np.inf]], ValueError, r"X contains infinity \(inf\) at row 1, column 1"),
    ([1.0, 2.0, 3.0], ValueError, r"X has 1 dimension\(s\), shape \(3,\); Reshape your data"),
    (5.0, ValueError, r"X has 0 dimension\(s\)"),
    (np.zeros((2, 2, 2)), ValueError, r"X has 3 dimension\(s\)"),
    (np.empty((0, 4)), ValueError, "0 sample"),
    (np.empty((4, 0)), ValueError, "0 feature"),
    ([["a", "b"], ["c", "d"]], ValueError, "numeric|convert"),
    ([[1j, 0], [0, 1]], ValueError, "Complex data not supported"),
    (scipy.sparse.csr_array([[0.0, 1.0], [np.nan, 0.0]]), ValueError, "NaN at row 1, column 0; "),
    (scipy.sparse.csr_array((4, 0)), ValueError, "0 feature"),
    (np.array([[1e200], [-1e200]]), ValueError, "X reaches 1e[+]200, .* divide X by"),
    ([[1.0, 2.0], [3.0]], ValueError, "shape"),
]


@pytest.mark.parametrize(("X", "error", "sentence"), ROWS)
def test_bad_rows_are_named(X: Any, error: type[Exception], sentence: str) -> None:
    """Rows that cannot be clustered give a sentence, and no warning before it."""
    with pytest.raises(error, match=sentence):
        ProjectedKMeans(1).fit(X)


def test_a_sketch_that_overflows_does_not_blame_a_nan() -> None:
    """Finite float32 rows whose sums overflow give a sentence that says so."""
    X = np.full((4, 1000), 3e38, np.float32)
    X[0] = 1e38
    with pytest.raises(ValueError, match="divide X by a large constant"):
        ProjectedKMeans(2, projection="sign", n_components=10, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.ones(5), "sample_weight"),
        (np.ones((6, 2)), "[Ss]ample.weight"),
        (np.zeros(6), "zero"),
        ([1, 1, 1, 1, 1, -1], "[Nn]egative"),
        ([1, 1, 1, 1, 1, np.nan], "NaN"),
        ([1e308] * 6, "sample_weight"),
    ],
)
def test_bad_weights_are_named(weights: Any, sentence: str) -> None:
    """Weights that do not fit give a sentence, at fit and at score."""
    X = np.arange(24.0).reshape(6, 4)
    with pytest.raises(ValueError, match=sentence):
        ProjectedKMeans(2).fit(X, sample_weight=weights)
    model = ProjectedKMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match=sentence):
        model.score(X, sample_weight=weights)


class Halve(TransformerMixin, BaseEstimator):
    """A transformer that loses half of the rows."""

    def fit(self, X: Any, y: object = None) -> Halve:
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return every second row."""
        return X[::2]


def test_a_transformer_of_ones_own() -> None:
    """Any transformer reduces the rows; a clone of it is fitted, the original is left alone."""
    X, home = draw_blobs(gap=2.0)
    pca = PCA(4, random_state=0)
    model = ProjectedKMeans(5, projection=pca, polish_iter=0, random_state=0, n_init=10).fit(X)
    assert not hasattr(pca, "components_")
    assert model.projection_.n_components_ == model.n_components_ == 4
    assert clustering_accuracy(home, model.labels_) == 1.0
    assert_consistent(model, X)
    sketch = PCA(4, random_state=0).fit_transform(X)
    fixed = ProjectedKMeans(5, projection=pca, init=np.arange(5), polish_iter=0, tol=0).fit(X)
    referee = KMeans(5, init=sketch[:5], n_init=1, tol=0).fit(sketch)
    np.testing.assert_array_equal(fixed.labels_, referee.labels_)


def test_a_transformer_may_give_integers_or_data_frames() -> None:
    """What a transformer returns is converted to a type that kernels read."""
    X, home = draw_blobs(gap=4.0)
    for function in (
        lambda A: np.round(A[:, :40] * 10).astype(np.int64),
        lambda A: pd.DataFrame(A),
    ):
        projection = FunctionTransformer(function)
        model = ProjectedKMeans(5, projection=projection, random_state=0, n_init=10).fit(X)
        assert clustering_accuracy(home, model.labels_) == 1.0


def test_a_transformer_that_loses_rows_is_refused() -> None:
    """A transformer that gives another number of rows is named, with both numbers."""
    with pytest.raises(ValueError, match=r"Halve\(\) made shape \(3, 4\) of 6 rows; use a transf"):
        ProjectedKMeans(2, projection=Halve()).fit(np.arange(24.0).reshape(6, 4))

"""Maps as scikit-learn transformers: what they compute, keep and refuse."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from projected_kmeans import GaussianProjection, SignProjection, target_dimension
from projected_kmeans.keys import draw_signs
from projected_kmeans.projections.maps import MAPS, draw_normals
from tests.support.layouts import TYPES, compute_type, draw_rows

# Two maps with an explicit matrix, and all maps.
MATRIX_MAPS = (SignProjection, GaussianProjection)
ALL_MAPS = tuple(MAPS.values())


def matrix_of(kind: Any, key: int, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return R in full, from numbers drawn one by one."""
    draw = draw_signs if kind is SignProjection else draw_normals
    return draw(key, shape) / math.sqrt(shape[1])


@pytest.mark.parametrize("kind", MATRIX_MAPS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("d", "t"), [(1, 1), (30, 30), (100, 7), (257, 90)])
def test_transform_is_the_product(kind: Any, dtype: str, d: int, t: int) -> None:
    """Transforming multiplies by R, in float64 for float64 rows and in float32 for others."""
    X = draw_rows(1, 25, d, dtype)
    found = kind(t, random_state=5).fit(X).transform(X)
    assert found.dtype == compute_type(dtype)
    exact = X.astype(np.float64) @ matrix_of(kind, 5, (d, t))
    size = np.linalg.norm(X.astype(float), axis=1, keepdims=True)
    assert (np.abs(found - exact) <= 30 * np.finfo(found.dtype).eps * size).all()


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_columns_are_nested(kind: Any) -> None:
    """A wider map has the columns of a narrower one, up to the scale 1/sqrt(t)."""
    X = draw_rows(2, 10, 60, "float64")
    narrow, wide = (kind(t, random_state=9).fit_transform(X) for t in (5, 45))
    np.testing.assert_allclose(narrow * math.sqrt(5), wide[:, :5] * math.sqrt(45), atol=1e-12)


@pytest.mark.parametrize("kind", MATRIX_MAPS)
@pytest.mark.parametrize("t", [1, 10])
def test_lemma_one_three(kind: Any, t: int) -> None:
    """||C R||_F^2 has mean ||C||_F^2 and the variance that Lemma 1 bounds by 2 ||C||_F^4 / t."""
    # Mean within 5 deviations: fails for 6e-7 of key ranges. Sample variance within 50 % of the
    # exact one: more than 5 of its deviations. The range of keys is fixed.
    C = np.random.default_rng(3).normal(size=(4, 12))
    n_keys = 3000
    norms = np.array([np.sum((C @ matrix_of(kind, key, (12, t))) ** 2) for key in range(n_keys)])
    total, gram = np.sum(C**2), C.T @ C
    exact = 2 / t * np.sum(gram**2)
    if kind is SignProjection:  # a sign squared is constant: the diagonal does not vary
        exact -= 2 / t * np.sum(np.diag(gram) ** 2)
    assert exact <= 2 * total**2 / t
    assert abs(norms.mean() - total) < 5 * math.sqrt(exact / n_keys)
    assert abs(norms.var() / exact - 1) < 0.5
    assert norms.var() <= 1.5 * 2 * total**2 / t


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_distances_are_kept(kind: Any) -> None:
    """With the Johnson-Lindenstrauss dimension all squared distances stay within 1 +- eps."""
    # The bound fails for at most 1/n of keys by its proof; the key is fixed.
    X = np.random.default_rng(0).normal(size=(40, 3000))
    sketch = kind(eps=0.3, random_state=1).fit_transform(X)
    assert sketch.shape[1] == target_dimension(eps=0.3, rule="johnson-lindenstrauss", n_samples=40)
    before, after = (
        np.sum((A[:, None] - A[None]) ** 2, axis=2)[np.triu_indices(40, 1)] for A in (X, sketch)
    )
    assert (np.abs(after / before - 1) < 0.3).all()


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_only_the_shape_is_learnt(kind: Any) -> None:
    """Fitting on other rows of the same width gives the same map."""
    X = draw_rows(1, 20, 30, "float64")
    one = kind(4, random_state=1).fit(X).transform(X)
    other = kind(4, random_state=1).fit(np.zeros((3, 30))).transform(X)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_auto_asks_the_rules(kind: Any) -> None:
    """n_components="auto" follows from k if given, else from n, and never exceeds d."""
    X = np.zeros((50, 2000))
    assert kind(n_clusters=40).fit(X).n_components_ == target_dimension(40)
    assert kind(n_clusters=40, eps=0.5).fit(X).n_components_ == target_dimension(40, eps=0.5)
    expected = target_dimension(rule="johnson-lindenstrauss", n_samples=50, eps=0.5)
    assert kind(eps=0.5).fit(X).n_components_ == expected
    assert kind(n_clusters=40).fit(X[:, :10]).n_components_ == 10
    assert kind(7, n_clusters=40).fit(X).n_components_ == 7


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_a_map_is_small(kind: Any) -> None:
    """A fitted map for 100,000 features is pickled in less than 2 kB, and comes back the same."""
    X = np.random.default_rng(0).normal(size=(2, 10**5))
    fitted = kind(20, random_state=3).fit(X)
    stored = pickle.dumps(fitted)
    assert len(stored) < 2000
    np.testing.assert_array_equal(pickle.loads(stored).transform(X), fitted.transform(X))


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_keys(kind: Any) -> None:
    """An integer is the key; a RandomState gives a new one at each fit; key_ repeats the map."""
    X = draw_rows(1, 5, 40, "float64")
    assert kind(3, random_state=2**64 - 1).fit(X).key_ == 2**64 - 1
    state = np.random.RandomState(0)
    first, second = kind(3, random_state=state).fit(X), kind(3, random_state=state).fit(X)
    assert first.key_ != second.key_
    again = kind(3, random_state=first.key_).fit(X)
    np.testing.assert_array_equal(again.transform(X), first.transform(X))
    assert not np.allclose(second.transform(X), first.transform(X))


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_data_frames_and_names(kind: Any) -> None:
    """set_output gives a data frame with generated names and the index of the rows."""
    X = pd.DataFrame(draw_rows(1, 6, 9, "float64"), columns=list("abcdefghi"), index=range(3, 9))
    fitted = kind(2, random_state=1).set_output(transform="pandas").fit(X)
    found = fitted.transform(X)
    name = kind.__name__.lower()
    assert list(found.columns) == [f"{name}0", f"{name}1"]
    assert list(found.index) == list(X.index)
    assert list(fitted.feature_names_in_) == list("abcdefghi")
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(X.rename(columns={"a": "z"}))


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_in_a_pipeline(kind: Any) -> None:
    """A map works behind another step, and a clone is an unfitted equal."""
    X = draw_rows(1, 20, 30, "float64")
    pipeline = make_pipeline(StandardScaler(), kind(4, random_state=1))
    found = pipeline.fit_transform(X)
    expected = StandardScaler().fit_transform(X) @ matrix_of(kind, 1, (30, 4))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    copy = clone(pipeline[-1])
    assert copy.get_params() == pipeline[-1].get_params()
    with pytest.raises(NotFittedError):
        copy.transform(X)


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_rows_are_not_changed(kind: Any) -> None:
    """Rows in any memory order are read, not written."""
    X = np.asfortranarray(draw_rows(1, 20, 30, "float64"))
    kept = X.copy()
    found = kind(4, random_state=1).fit_transform(X)
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_allclose(found, kept @ matrix_of(kind, 1, (30, 4)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", MATRIX_MAPS)
@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"n_components": 6}, ValueError, "n_components=6 exceeds n_features=5; use at most 5 or"),
        ({"n_components": 0}, ValueError, "n_components=0 is too small; use an integer of at leas"),
        ({"n_components": 2.5}, TypeError, "n_components=2.5 is not an integer"),
        ({"n_components": "many"}, TypeError, "n_components='many' .* or 'auto'"),
        ({"n_components": True}, TypeError, "n_components=True is not an integer"),
        ({"eps": 1.0}, ValueError, r"eps=1.0 is outside \(0, 1\)"),
        ({"n_clusters": 0}, ValueError, "n_clusters=0 is too small"),
        ({"random_state": -1}, ValueError, "random_state=-1 is out of range"),
    ],
)
def test_bad_parameters_are_named(
    kind: Any, options: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    """A bad parameter gives one sentence at fit, not before."""
    projection = kind(**options)
    with pytest.raises(error, match=sentence):
        projection.fit(np.zeros((4, 5)))


@pytest.mark.parametrize("kind", MATRIX_MAPS)
@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        ([[1.0, np.nan]], ValueError, "NaN at row 0, column 1"),
        ([[1.0, 2.0], [np.inf, 2.0]], ValueError, "infinity .* row 1, column 0"),
        ([1.0, 2.0], ValueError, r"X has 1 dimension\(s\)"),
        (np.zeros((2, 2, 2)), ValueError, r"X has 3 dimension\(s\)"),
        (np.empty((0, 3)), ValueError, "0 sample"),
        (np.empty((3, 0)), ValueError, "0 feature"),
        ([["a", "b"]], ValueError, "numeric|convert"),
        ([[1j, 2.0]], ValueError, "Complex data not supported"),
    ],
)
def test_bad_rows_are_named(kind: Any, X: Any, error: type[Exception], sentence: str) -> None:
    """Rows that cannot be projected give a sentence at fit."""
    with pytest.raises(error, match=sentence):
        kind(1).fit(X)


@pytest.mark.parametrize("kind", MATRIX_MAPS)
def test_bad_rows_are_named_at_transform(kind: Any) -> None:
    """A wrong number of features, a NaN or a missing fit give a sentence at transform."""
    fitted = kind(1, random_state=0).fit(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        fitted.transform(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="NaN at row 1, column 2"):
        fitted.transform([[0.0, 0.0, 0.0], [0.0, 0.0, np.nan]])
    with pytest.raises(NotFittedError):
        kind(1).transform(np.zeros((2, 3)))


@pytest.mark.parametrize("kind", ALL_MAPS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
def test_sparse_rows_are_projected_as_dense_ones(kind: Any, index: Any, form: str) -> None:
    """Any sparse form and index type gives the sketch of the dense rows, up to rounding."""
    X = draw_rows(4, 30, 200, "float64") * (np.random.default_rng(4).random((30, 200)) < 0.1)
    rows = scipy.sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    sparse = getattr(scipy.sparse, form)(rows)
    model = kind(20, random_state=3).fit(sparse)
    np.testing.assert_allclose(model.transform(sparse), model.transform(X), atol=1e-12)


@pytest.mark.parametrize("kind", ALL_MAPS)
def test_sparse_rows_need_no_order(kind: Any) -> None:
    """Indices out of order are sorted and entries stored twice are added, in a copy of the rows."""
    rows = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([3, 0, 3, 1]), np.array([0, 3, 4])), shape=(2, 5)
    )
    kept = rows.indices.copy()
    found = kind(4, random_state=3).fit_transform(rows)
    dense = np.array([[2.0, 0, 0, 5, 0], [0, 8, 0, 0, 0]])
    np.testing.assert_allclose(found, kind(4, random_state=3).fit_transform(dense), atol=1e-14)
    np.testing.assert_array_equal(rows.indices, kept)


@pytest.mark.parametrize("kind", ALL_MAPS)
@pytest.mark.parametrize(("bad", "name"), [(np.nan, "NaN"), (-np.inf, "inf")])
def test_bad_sparse_entries_are_named(kind: Any, bad: float, name: str) -> None:
    """An entry of sparse rows that is not finite is named by row and column."""
    rows = scipy.sparse.csr_array(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, bad]]))
    with pytest.raises(ValueError, match=rf"{name}.*row 1, column 2"):
        kind(2).fit(rows)


@pytest.mark.parametrize("kind", ALL_MAPS)
def test_too_many_threads_are_refused(kind: Any) -> None:
    """A fit and a transform refuse a number of threads that kernels cannot take."""
    X = draw_rows(1, 25, 30, "float64")
    with pytest.raises(ValueError, match="n_threads=2147483648 is too large; use at most"):
        kind(5, random_state=0, n_threads=2**31).fit(X)
    fitted = kind(5, random_state=0).fit(X).set_params(n_threads=2**31)
    with pytest.raises(ValueError, match="n_threads=2147483648 is too large; use at most"):
        fitted.transform(X)

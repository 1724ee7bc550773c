"""Models in other tools: scikit-learn's KMeans, FAISS and ONNX."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from projected_kmeans import ProjectedKMeans, load_model, save_model
from tests.support.blobs import draw_blobs

METRICS = ("euclidean", "cosine")


def fit(metric: str = "euclidean", dtype: Any = np.float32, offset: float = 0.0) -> Any:
    """Return a model of blobs, fitted, and rows that it has not seen."""
    X = (draw_blobs(n=400, d=30, k=6, gap=2.0)[0] + offset).astype(dtype)
    return ProjectedKMeans(6, metric=metric, random_state=0).fit(X[:200]), X[200:]


def by_onnx(model: Any, X: Any, dtype: Any = None) -> Any:
    """Return the labels that onnxruntime finds with the exported model."""
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    exported = model.to_onnx(dtype)
    onnx.checker.check_model(exported, full_check=True)
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    (labels,) = session.run(["labels"], {"X": X})
    return labels


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learn_predicts_the_same(metric: str, dtype: Any) -> None:
    """The exported KMeans gives the labels of rows that neither has seen, dense and sparse."""
    model, X = fit(metric, dtype)
    exported = model.to_sklearn()
    assert type(exported) is KMeans
    np.testing.assert_array_equal(exported.predict(X), model.predict(X))
    np.testing.assert_array_equal(exported.predict(scipy.sparse.csr_array(X)), model.predict(X))


def test_scikit_learn_attributes() -> None:
    """The exported KMeans has the documented attributes, agrees with scikit-learn, and clones."""
    X = pd.DataFrame(draw_blobs(d=4)[0], columns=list("abcd"))
    model = ProjectedKMeans(5, random_state=0).fit(X)
    exported = model.to_sklearn()
    check_is_fitted(exported)
    for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(exported, name), getattr(model, name))
    assert list(exported.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(exported.transform(X), model.transform(X), atol=1e-9)
    assert exported.score(X) == pytest.approx(model.score(X))
    again = clone(exported).fit(X)
    assert again.cluster_centers_.shape == (5, 4)
    assert again.get_params()["random_state"] == 0


def test_integer_rows_and_loaded_models(tmp_path: Any) -> None:
    """As float64, scikit-learn takes integers; a loaded model, without labels, is exported."""
    X = np.random.default_rng(0).integers(0, 255, size=(60, 5), dtype=np.uint8)
    model = ProjectedKMeans(3, random_state=0).fit(X)
    save_model(model, tmp_path)
    exported = load_model(tmp_path).to_sklearn(np.float64)
    np.testing.assert_array_equal(exported.predict(X), model.predict(X))
    assert not hasattr(exported, "labels_")


def test_centers_in_one_place() -> None:
    """Two equal centers are exported without a warning; the lower index wins, as in predict."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer distinct rows than clusters
        model = ProjectedKMeans(3, random_state=0).fit([[0.0], [0.0], [5.0], [5.0]])
    labels = model.to_sklearn().predict([[0.0], [5.0]])
    np.testing.assert_array_equal(labels, model.predict([[0.0], [5.0]]))


@pytest.mark.parametrize("metric", METRICS)
def test_faiss_finds_the_same(metric: str) -> None:
    """The index holds the centers, and its nearest are the labels."""
    pytest.importorskip("faiss")
    model, X = fit(metric)
    index = model.to_faiss()
    np.testing.assert_array_equal(index.reconstruct_n(), model.cluster_centers_)
    np.testing.assert_array_equal(index.search(X, 1)[1].ravel(), model.predict(X))


@pytest.mark.parametrize("metric", METRICS)
def test_inverted_files_hold_rows_in_the_lists_of_their_clusters(metric: str) -> None:
    """The lists are the clusters, and a search of all lists is exact."""
    faiss = pytest.importorskip("faiss")
    model, X = fit(metric)
    empty = model.to_faiss(kind="ivf")
    assert (empty.is_trained, empty.ntotal, empty.nlist) == (True, 0, 6)
    index = model.to_faiss(kind="ivf", X=X)
    lists = index.invlists
    for row, label in enumerate(model.predict(X)):
        names = faiss.rev_swig_ptr(lists.get_ids(int(label)), lists.list_size(int(label)))
        assert row in names
    index.nprobe = 6
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    found = index.search(np.ascontiguousarray(rows, np.float32), 1)[1].ravel()
    np.testing.assert_array_equal(found, np.arange(len(X)))


def test_inverted_files_refuse_what_they_cannot_hold() -> None:
    """Rows of another width, rows for a flat index, and unknown kinds are refused."""
    pytest.importorskip("faiss")
    model, X = fit()
    with pytest.raises(ValueError, match=r"X has shape \(9,\); use rows of"):
        model.to_faiss(kind="ivf", X=np.zeros(9, np.float32))
    with pytest.raises(ValueError, match='kind="flat" holds centers only'):
        model.to_faiss(X=X)
    with pytest.raises(ValueError, match="kind='tree'"):
        model.to_faiss(kind="tree")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnx_finds_the_same(metric: str, dtype: Any) -> None:
    """A runtime gives the same labels; a row of zeros, as near to all directions, gets some."""
    model, X = fit(metric, dtype)
    np.testing.assert_array_equal(by_onnx(model, X), model.predict(X))
    assert by_onnx(model, np.zeros_like(X[:1]))[0] in range(6)


def test_onnx_types_and_offsets() -> None:
    """A model of float64 is exported for float32 rows; a large offset costs no labels."""
    model, X = fit(dtype=np.float64)
    np.testing.assert_array_equal(
        by_onnx(model, X.astype(np.float32), np.float32), model.predict(X)
    )
    model, X = fit(dtype=np.float32, offset=1e4)
    np.testing.assert_array_equal(by_onnx(model, X), model.predict(X))
    with pytest.raises(ValueError, match="dtype='float16' cannot be exported; use 'float32'"):
        model.to_onnx("float16")


@pytest.mark.parametrize(("name", "package"), [("to_faiss", "faiss"), ("to_onnx", "onnx")])
def test_absent_extras(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    """Without its package an export is an ImportError of one sentence with the pip command."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf"{name} needs {package}, .*pip install '{package}"
    ) as caught:
        getattr(fit()[0], name)()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["to_sklearn", "to_faiss", "to_onnx"])
def test_models_that_are_not_fitted(name: str) -> None:
    """A model without centers cannot be exported."""
    with pytest.raises(NotFittedError):
        getattr(ProjectedKMeans(), name)()

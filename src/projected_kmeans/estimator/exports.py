"""A fitted model as other tools take it: scikit-learn's KMeans, a FAISS index, an ONNX graph.

Hands over the centers; it neither fits nor writes files.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.optional_packages import load_extra

# ONNX of January 2023: runtimes since then read it.
ONNX_OPSET = 18
ONNX_IR_VERSION = 8


def to_sklearn(model: Any, dtype: DTypeLike | None = None) -> KMeans:
    """Return a fitted `sklearn.cluster.KMeans` with the centers of this model.

    It predicts the same labels. Rows about as near to two centers may differ, as scikit-learn
    compares rounded distances. With ``metric="cosine"`` labels are the same for rows of any length,
    but ``transform`` and ``score`` need rows of length one.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted.
    dtype : dtype, optional
        Of the centers, by default as they are. scikit-learn's KMeans predicts rows of the type of
        its centers only, and reads integers as float64.

    Returns
    -------
    KMeans
        With ``cluster_centers_``, ``inertia_``, ``n_iter_`` and the features of this model, and
        ``labels_`` where it has them. A clone is a KMeans with as many clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    kind = np.dtype(model.cluster_centers_.dtype if dtype is None else dtype)
    centers = model.cluster_centers_.astype(kind)
    exported = KMeans(len(centers), init=centers, n_init=1, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of two centers in one place
        exported.fit(centers)  # sets what predict needs beside the attributes of the documentation
    exported.set_params(
        init="k-means++", n_init="auto", max_iter=model.max_iter, random_state=model.random_state
    )
    exported.cluster_centers_ = centers
    exported.inertia_, exported.n_iter_ = float(model.inertia_), int(model.n_iter_)
    del exported.labels_
    for name in ("labels_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(exported, name, np.array(getattr(model, name)))
    return exported


def to_faiss(model: Any) -> Any:
    """Return a FAISS index of the centers, as ``faiss.Kmeans`` keeps it in ``index``.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted.

    Returns
    -------
    faiss.IndexFlatL2 or faiss.IndexFlatIP
        Centers in float32, by inner product with ``metric="cosine"``. ``index.search(X, 1)`` gives
        squared distances (or inner products) and labels of float32 rows, ``index.reconstruct_n()``
        the centers.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], dtype=np.float32)
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> distances, labels = model.to_faiss().search(X, 1)
    >>> bool((labels.ravel() == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    faiss = load_extra("faiss", "faiss", "to_faiss")
    kind = faiss.IndexFlatIP if model.metric == "cosine" else faiss.IndexFlatL2
    index = kind(model.n_features_in_)
    index.add(np.ascontiguousarray(model.cluster_centers_, dtype=np.float32))
    return index


def to_onnx(model: Any, dtype: DTypeLike | None = None) -> Any:
    """Return an ONNX model that labels rows, for runtimes in any language.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted.
    dtype : {"float32", "float64"}, optional
        Of the rows that it takes, by default that of the centers.

    Returns
    -------
    onnx.ModelProto
        Input ``X`` (n, d), output ``labels`` (n,) of int64. Save it by ``onnx.save``.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], dtype=np.float32)
    >>> exported = ProjectedKMeans(n_clusters=2, random_state=0).fit(X).to_onnx()
    >>> [node.op_type for node in exported.graph.node]
    ['Sub', 'MatMul', 'Add', 'ArgMin']
    """
    check_is_fitted(model)
    kind = np.dtype(model.cluster_centers_.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={kind.name!r} cannot be exported; use 'float32' or 'float64'")
    onnx = load_extra("onnx", "onnx", "to_onnx")
    helper = load_extra("onnx.helper", "onnx", "to_onnx")
    spherical = model.metric == "cosine"
    element = helper.np_dtype_to_tensor_dtype(kind)
    graph = helper.make_graph(
        _unit_nodes(helper) if spherical else _centred_nodes(helper),
        "projected_kmeans",
        [helper.make_tensor_value_info("X", element, ["n", int(model.n_features_in_)])],
        [helper.make_tensor_value_info("labels", onnx.TensorProto.INT64, ["n"])],
        [
            onnx.numpy_helper.from_array(value, name)
            for name, value in _constants(model.cluster_centers_, kind, spherical).items()
        ],
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", ONNX_OPSET)],
        ir_version=ONNX_IR_VERSION,
        producer_name="projected_kmeans",
    )


def _constants(centers: NDArray[Any], kind: np.dtype[Any], spherical: bool) -> dict[str, Any]:
    """Return what the graph compares rows by: |c|^2 - 2 <x, c>, least for the nearest center."""
    exact = centers.astype(np.float64)
    # About the centers' mean, as a large common offset would cost digits.
    origin = np.zeros(exact.shape[1]) if spherical else exact.mean(axis=0).astype(kind)
    offsets = exact - origin
    placed = {
        "factors": -2 * np.ascontiguousarray(offsets.T),
        "constants": (offsets**2).sum(axis=1),
        **({"least": np.finfo(kind).tiny} if spherical else {"origin": origin}),
    }
    found = {name: np.asarray(value, dtype=kind) for name, value in placed.items()}
    return found | ({"axis": np.array([1], dtype=np.int64)} if spherical else {})


def _centred_nodes(helper: Any) -> list[Any]:
    return [helper.make_node("Sub", ["X", "origin"], ["rows"]), *_nearest_nodes(helper)]


def _unit_nodes(helper: Any) -> list[Any]:
    """Return nodes for rows of length one; a row of zeros stays."""
    return [
        helper.make_node("ReduceL2", ["X", "axis"], ["lengths"], keepdims=1),
        helper.make_node("Max", ["lengths", "least"], ["divisors"]),
        helper.make_node("Div", ["X", "divisors"], ["rows"]),
        *_nearest_nodes(helper),
    ]


def _nearest_nodes(helper: Any) -> list[Any]:
    return [
        helper.make_node("MatMul", ["rows", "factors"], ["products"]),
        helper.make_node("Add", ["products", "constants"], ["scores"]),
        helper.make_node("ArgMin", ["scores"], ["labels"], axis=1, keepdims=0),
    ]

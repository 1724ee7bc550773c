"""A fitted model as other tools take it: scikit-learn's KMeans, a FAISS index, an ONNX graph.

Converts a `FittedModel`; it neither fits nor writes files. The documentation of what each tool
gets is at the methods ``to_sklearn``, ``to_faiss`` and ``to_onnx`` of `ProjectedKMeans`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.checks import check_choice
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.optional_packages import load_extra

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

# The versions of ONNX of January 2023, which all runtimes since then can read.
ONNX_OPSET = 18
ONNX_IR_VERSION = 8


def make_sklearn(model: FittedModel, dtype: DTypeLike | None = None) -> KMeans:
    """Return a fitted `sklearn.cluster.KMeans` with the centers of a model, in a given type."""
    from sklearn.cluster import KMeans  # slow to import, and only needed here

    centers = model.centers.astype(np.dtype(model.centers.dtype if dtype is None else dtype))
    exported = KMeans(len(centers), init=centers, n_init=1, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # raised if two centers are equal
        exported.fit(centers)  # also sets undocumented attributes that predict needs
    exported.set_params(
        init="k-means++",
        n_init="auto",
        max_iter=model.settings.max_iter,
        random_state=model.settings.random_state,
    )
    exported.cluster_centers_ = centers
    exported.inertia_, exported.n_iter_ = float(model.inertia), int(model.n_iter)
    del exported.labels_
    if model.labels is not None:
        exported.labels_ = np.array(model.labels)
    if model.feature_names is not None:
        exported.feature_names_in_ = np.array(model.feature_names, dtype=object)
    return exported


def make_faiss(model: FittedModel, kind: str = "flat", rows: Any = None) -> Any:
    """Return a FAISS index of the centers ("flat"), or an inverted file whose lists they are."""
    check_choice("kind", kind, ("flat", "ivf"))
    if rows is not None and kind != "ivf":
        raise ValueError('kind="flat" holds centers only, got X; use kind="ivf"')
    faiss = load_extra("faiss", "faiss", "to_faiss")
    centers = np.ascontiguousarray(model.centers, dtype=np.float32)
    flat = (faiss.IndexFlatIP if model.spherical else faiss.IndexFlatL2)(centers.shape[1])
    flat.add(centers)
    if kind == "flat":
        return flat
    metric = faiss.METRIC_INNER_PRODUCT if model.spherical else faiss.METRIC_L2
    index = faiss.IndexIVFFlat(flat, centers.shape[1], len(centers), metric)
    index.train(centers)  # finds that the lists are there already
    if rows is not None:
        index.add(_as_index_rows(model, rows))
    return index


def _as_index_rows(model: FittedModel, rows: Any) -> NDArray[np.float32]:
    """Return rows as FAISS takes them: float32, and of length one if the metric is cosine."""
    dense = np.asarray(rows)
    if dense.ndim != 2 or dense.shape[1] != model.centers.shape[1]:
        raise ValueError(
            f"X has shape {dense.shape}; use rows of {model.centers.shape[1]} columns, as in fit"
        )
    if model.spherical:
        dense = to_unit_rows(dense)
    return np.ascontiguousarray(dense, dtype=np.float32)


def make_onnx(model: FittedModel, dtype: DTypeLike | None = None) -> Any:
    """Return an ONNX model that labels rows of a type, by default the type of the centers."""
    kind = np.dtype(model.centers.dtype if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={kind.name!r} cannot be exported; use 'float32' or 'float64'")
    onnx = load_extra("onnx", "onnx", "to_onnx")
    helper = load_extra("onnx.helper", "onnx", "to_onnx")
    element = helper.np_dtype_to_tensor_dtype(kind)
    graph = helper.make_graph(
        _unit_nodes(helper) if model.spherical else _centred_nodes(helper),
        "projected_kmeans",
        [helper.make_tensor_value_info("X", element, ["n", model.centers.shape[1]])],
        [helper.make_tensor_value_info("labels", onnx.TensorProto.INT64, ["n"])],
        [
            onnx.numpy_helper.from_array(value, name)
            for name, value in _constants(model.centers, kind, model.spherical).items()
        ],
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", ONNX_OPSET)],
        ir_version=ONNX_IR_VERSION,
        producer_name="projected_kmeans",
    )


def _constants(centers: NDArray[Any], kind: np.dtype[Any], spherical: bool) -> dict[str, Any]:
    """Return the constants of the score |c|^2 - 2 <x, c>; the nearest center has the lowest."""
    exact = centers.astype(np.float64)
    # The origin is the mean of the centers, because a large common offset would cost digits.
    origin = np.zeros(exact.shape[1]) if spherical else exact.mean(axis=0).astype(kind)
    offsets = exact - origin
    placed = {
        "factors": -2 * np.ascontiguousarray(offsets.T),
        "constants": (offsets**2).sum(axis=1),
        **({"shortest": np.finfo(kind).tiny} if spherical else {"origin": origin}),
    }
    typed = {name: np.asarray(value, dtype=kind) for name, value in placed.items()}
    return typed | ({"axis": np.array([1], dtype=np.int64)} if spherical else {})


def _centred_nodes(helper: Any) -> list[Any]:
    return [helper.make_node("Sub", ["X", "origin"], ["rows"]), *_nearest_nodes(helper)]


def _unit_nodes(helper: Any) -> list[Any]:
    """Return nodes that bring rows to length one first; a row of zeros stays as it is."""
    return [
        helper.make_node("ReduceL2", ["X", "axis"], ["lengths"], keepdims=1),
        helper.make_node("Max", ["lengths", "shortest"], ["divisors"]),
        helper.make_node("Div", ["X", "divisors"], ["rows"]),
        *_nearest_nodes(helper),
    ]


def _nearest_nodes(helper: Any) -> list[Any]:
    return [
        helper.make_node("MatMul", ["rows", "factors"], ["products"]),
        helper.make_node("Add", ["products", "constants"], ["scores"]),
        helper.make_node("ArgMin", ["scores"], ["labels"], axis=1, keepdims=0),
    ]

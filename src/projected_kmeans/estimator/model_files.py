"""Store a fitted model as ``centers.npy`` and ``model.json``, and read it again.

The training rows, their labels and the projection are not stored, because predictions do not need
them. What a file says is checked before it is used. Files are replaced together, and ``model.json``
lists the checksums of those that belong to it; see `fit_folder`.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.checks import check_centers
from projected_kmeans.documents import (
    Count,
    Key,
    NotNegative,
    ParameterName,
    Size,
    from_document,
    read_document,
)
from projected_kmeans.estimator.fit_document import (
    describe_certificate,
    describe_parameters,
    identify_fit,
)
from projected_kmeans.estimator.fit_folder import (
    FORMAT_VERSION,
    MODEL_FORMAT,
    ModelHead,
    check_group,
    list_own_files,
    read_head,
)
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.messages import first_line
from projected_kmeans.output_files import encode_json, save_array
from projected_kmeans.output_group import GroupReader, GroupWriter, read_group, replace_group
from projected_kmeans.results import Labels

ADVICE = "fit the model again"

# Parameters that version 0.1.0 stored and that are gone; no prediction depends on them.
GONE = ("certificate_time", "inertia_tol", "polish_candidates")


def save_model(
    model: ProjectedKMeans,
    folder: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    labels: bool = False,
) -> None:
    """Write a fitted model into a folder, as numbers and text only.

    Parameters
    ----------
    model : ProjectedKMeans
        A fitted estimator.
    folder : str or path
        A folder, which is made if it does not exist. Files ``centers.npy`` and ``model.json`` in it
        are replaced, both or none. Labels, result and report of another fit that wrote the replaced
        model are removed.
    feature_names : sequence of str or None
        Names of the columns; None takes ``feature_names_in_`` if the model has it.
    labels : bool, default=False
        Whether to write ``labels_`` too, as ``labels.npy``. The loaded model then has them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> folder = tempfile.mkdtemp()
    >>> save_model(model, folder)
    >>> bool((load_model(folder).predict(X) == model.labels_).all())
    True
    """
    fitted = read_fitted_model(model)
    known = np.asarray(model.labels_) if labels else None
    Path(folder).mkdir(parents=True, exist_ok=True)
    with replace_group(folder) as group:
        before = read_head(GroupReader(group.folder))
        _add_centers(group, model)
        stay: dict[str, str] = {}
        if before is not None and before.fit == identify_fit(fitted):
            stay = before.files or {}
        elif before is not None:
            for name in list_own_files(GroupReader(group.folder), before):
                group.remove(name)
        if known is not None:
            group.add("labels.npy", lambda handle: save_array(handle, known))
        _add_document(group, model, feature_names, stay, fitted.data_columns)


def load_model(path: str | os.PathLike[str]) -> ProjectedKMeans:
    """Read a model that `save_model` wrote, and check everything that its files say.

    Parameters
    ----------
    path : str or path
        The folder, or the ``model.json`` in it.

    Returns
    -------
    ProjectedKMeans
        A fitted estimator that predicts, transforms and scores as the saved one did, and that
        ``partial_fit`` and ``fit`` with ``init="model"`` continue from. It has ``labels_`` if they
        were saved with it, and no ``projection_``.

    Examples
    --------
    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere/model.json does not exist; name the folder that a fit wrote
    """
    path = Path(path)
    path = path if path.name == "model.json" else path / "model.json"
    with read_group(path.parent) as group:
        stored = read_model_document(group.find(path.name))
        centers = read_centers(group.find("centers.npy"), stored)
        check_group(group, ModelHead(stored.key, stored.inertia, stored.files, stored.fit))
        labels = read_labels_of(group.find("labels.npy"), stored)
    try:
        known = stored.parameters.items()
        model = ProjectedKMeans(**{name: value for name, value in known if name not in GONE})
        model.cluster_centers_ = centers  # which `init="model"` asks for
        model._checked_settings()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} has wrong parameters ({first_line(error)}); {ADVICE}") from error
    model.certificate_ = read_certificate(path, stored)
    model.n_features_in_ = stored.n_features
    model.n_components_ = stored.n_components
    model.n_iter_ = stored.n_iter
    model.key_ = stored.key
    model.inertia_ = stored.inertia
    model.normalized_inertia_ = stored.normalized_inertia
    if stored.explained_variance_ratio is not None:
        model.explained_variance_ratio_ = stored.explained_variance_ratio
    model._projection_name = stored.projection
    if stored.rows is not None:
        model.n_samples_seen_ = stored.rows.number
        model._total_weight, model._sum_of_squares = stored.rows.weight, stored.rows.squares
        model._center_weights = np.array(stored.rows.center_weights)
    model._data_columns = stored.data_columns
    model._left_out_columns = stored.left_out_columns
    if labels is not None:
        model.labels_ = labels
    if stored.feature_names is not None:
        model.feature_names_in_ = np.array(stored.feature_names, dtype=object)
    return model


def save_fit(
    model: ProjectedKMeans,
    document: Mapping[str, Any],
    folder: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
) -> tuple[Path, ...]:
    """Write labels, model and result (`describe_fit`) of a fit, all or none; return the files.

    A ``report.json`` of an earlier fit is removed.
    """
    labels = np.asarray(model.labels_)
    with replace_group(folder) as group:
        group.add("labels.npy", lambda handle: save_array(handle, labels))
        _add_centers(group, model)
        group.add("result.json", lambda handle: handle.write(encode_json(document)))
        group.remove("report.json")  # that of an earlier fit
        _add_document(group, model, feature_names, {}, document["data"].get("columns"))
    names = ("labels.npy", "centers.npy", "model.json", "result.json")
    return tuple(group.folder / name for name in names)


def _add_centers(group: GroupWriter, model: ProjectedKMeans) -> None:
    centers = read_fitted_model(model).centers
    group.add("centers.npy", lambda handle: save_array(handle, centers))


def _add_document(
    group: GroupWriter,
    model: ProjectedKMeans,
    feature_names: Sequence[str] | None,
    files: Mapping[str, str],
    columns: Sequence[str] | None,
) -> None:
    """Write model.json, which lists the arrays of the group and those that stay."""
    fitted, listed = read_fitted_model(model), {**files, **group.digests}
    names = fitted.feature_names if feature_names is None else feature_names
    document = {
        "format": MODEL_FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": version("projected_kmeans"),
        "n_clusters": fitted.centers.shape[0],
        "n_features": fitted.centers.shape[1],
        "n_components": int(fitted.n_components),
        "n_iter": int(fitted.n_iter),
        "projection": fitted.projection_name,
        "key": int(fitted.key),
        "inertia": float(fitted.inertia),
        "normalized_inertia": float(fitted.normalized_inertia),
        "explained_variance_ratio": fitted.explained,
        "rows": _describe_rows(model),
        "certificate": describe_certificate(fitted),
        "feature_names": None if names is None else [str(name) for name in names],
        "data_columns": None if columns is None else list(columns),
        "left_out_columns": list(fitted.left_out_columns),
        "dtype": fitted.centers.dtype.name,
        "centers_sha256": group.digests["centers.npy"],
        "files": {name: digest for name, digest in listed.items() if name.endswith(".npy")},
        "fit": identify_fit(fitted),
        **describe_parameters(model),
    }
    group.add("model.json", lambda handle: handle.write(encode_json(document)))


def _describe_rows(model: ProjectedKMeans) -> dict[str, Any] | None:
    """Return what a model that is continued needs to know of its rows; None if it does not."""
    known = vars(model)
    if known.get("_center_weights") is None or not known.get("_total_weight"):
        return None
    return {
        "number": int(model.n_samples_seen_),
        "weight": float(model._total_weight),
        "squares": float(model._sum_of_squares),
        "center_weights": np.asarray(known["_center_weights"]).tolist(),
    }


@dataclass(frozen=True)
class RowFacts:
    """What a model says of the rows of its fit, so that `partial_fit` can continue."""

    number: Count
    weight: NotNegative  # the sum of the weights of the rows
    squares: NotNegative  # the weighted sum of their squares
    center_weights: tuple[NotNegative, ...]  # if the centers stand for the rows


@dataclass(frozen=True)
class ModelDocument:
    """The fields of ``model.json`` that are read again.

    The defaults are those of files that earlier versions wrote.
    """

    n_clusters: Size
    n_features: Size
    n_components: Size
    n_iter: Count
    key: Key
    inertia: NotNegative
    normalized_inertia: NotNegative
    dtype: Literal["float32", "float64"]
    centers_sha256: str
    parameters: dict[ParameterName, Any]
    explained_variance_ratio: NotNegative | None = None
    projection: str | None = None
    feature_names: tuple[str, ...] | None = None
    data_columns: tuple[str, ...] | None = None
    left_out_columns: tuple[str, ...] = ()
    rows: RowFacts | None = None
    certificate: Any = None
    files: dict[str, str] | None = None
    fit: str | None = None

    def __post_init__(self) -> None:
        names = self.feature_names
        if names is not None and len(names) != self.n_features:
            raise ValueError(f"{len(names)} feature_names for {self.n_features} features")
        if self.rows is not None and len(self.rows.center_weights) != self.n_clusters:
            n_weights = len(self.rows.center_weights)
            raise ValueError(f"{n_weights} center_weights for {self.n_clusters} clusters")
        if self.key >= 2**64:
            raise ValueError(f"key {self.key} is not below 2**64")
        for name in ("callback", "checkpoint"):
            if self.parameters.get(name) is not None:
                raise ValueError(f"{name} is set, which no stored model has")


def read_model_document(path: Path) -> ModelDocument:
    """Return what a model.json holds; raise if a field is not as it must be."""
    document = read_document(path, [MODEL_FORMAT], FORMAT_VERSION, ADVICE)
    return from_document(ModelDocument, document, str(path), ADVICE)


def read_certificate(path: Path, stored: ModelDocument) -> Certificate | None:
    """Return the certificate in the model.json at a path, if it has one."""
    if stored.certificate is None:
        return None
    try:
        return Certificate.from_document(stored.certificate)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{path} has a bad certificate ({first_line(error)}); {ADVICE}") from error


def read_centers(path: Path, stored: ModelDocument) -> NDArray[Any]:
    """Return the centers in a file; raise if they are not those that model.json describes."""
    if not path.is_file():
        raise ValueError(f"{path} does not exist; keep it beside its model.json")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error
    if hashlib.sha256(content).hexdigest() != stored.centers_sha256:
        raise ValueError(f"{path} does not match the checksum in model.json; {ADVICE}")
    shape = (stored.n_clusters, stored.n_features)
    centers = _decode_array(path, content)
    if centers.shape != shape or centers.dtype.name != stored.dtype:
        raise ValueError(
            f"{path} is {centers.dtype.name} {centers.shape} and model.json says "
            f"{stored.dtype} {shape}; {ADVICE}"
        )
    return check_centers(str(path), centers, stored.n_features, ADVICE)


def read_labels_of(path: Path, stored: ModelDocument) -> Labels | None:
    """Return the labels of the training rows; None if model.json does not list them, or no file.

    Their checksum was compared before.
    """
    if "labels.npy" not in (stored.files or {}) or not path.is_file():
        return None
    labels = _decode_array(path, path.read_bytes())
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ValueError(f"{path} is {labels.dtype} {labels.shape} and not labels; {ADVICE}")
    if labels.size and not -1 <= labels.min() <= labels.max() < stored.n_clusters:
        raise ValueError(
            f"{path} has labels from {labels.min()} to {labels.max()} for {stored.n_clusters} "
            f"clusters; {ADVICE}"
        )
    return labels.astype(np.int32)


def _decode_array(path: Path, content: bytes) -> NDArray[Any]:
    """Return the array in a ``.npy`` file; raise before memory is taken that it cannot fill."""
    try:
        handle = io.BytesIO(content)
        version = npy.read_magic(handle)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(handle)
        wanted = math.prod(shape) * dtype.itemsize
        if wanted != len(content) - handle.tell():
            raise ValueError(f"its header says {wanted} bytes, which it does not have")
        array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # NumPy's parser of headers raises nearly anything
        raise ValueError(f"{path} is not an array ({first_line(error)}); {ADVICE}") from error
    return array

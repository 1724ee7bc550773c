"""Store a fitted model as ``centers.npy`` and ``model.json``, and read it again.

The training rows, their labels and the projection are not stored, because predictions do not need
them. What a file says is checked before it is used.
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
from projected_kmeans.estimator.fit_document import describe_certificate, describe_parameters
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.output_files import write_array, write_atomically, write_json

MODEL_FORMAT = "projected_kmeans model"
FORMAT_VERSION = 1
ADVICE = "fit the model again"


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
    projection: str | None = None
    feature_names: tuple[str, ...] | None = None
    certificate: Any = None

    def __post_init__(self) -> None:
        names = self.feature_names
        if names is not None and len(names) != self.n_features:
            raise ValueError(f"{len(names)} feature_names for {self.n_features} features")
        if self.key >= 2**64:
            raise ValueError(f"key {self.key} is not below 2**64")
        for name in ("callback", "checkpoint"):
            if self.parameters.get(name) is not None:
                raise ValueError(f"{name} is set, which no stored model has")


def save_model(
    model: ProjectedKMeans,
    folder: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write a fitted model into a folder, as numbers and text only.

    Parameters
    ----------
    model : ProjectedKMeans
        A fitted estimator.
    folder : str or path
        An existing folder. Files ``centers.npy`` and ``model.json`` in it are replaced.
    feature_names : sequence of str or None
        Names of the columns; None takes ``feature_names_in_`` if the model has it.

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
    fitted, folder = read_fitted_model(model), Path(folder)
    buffer = io.BytesIO()
    np.save(buffer, fitted.centers, allow_pickle=False)
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
        "certificate": describe_certificate(fitted),
        "feature_names": None if names is None else [str(name) for name in names],
        "dtype": fitted.centers.dtype.name,
        "centers_sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
        **describe_parameters(model),
    }
    # model.json is written last. If writing stops before, its old checksum refuses the new centers.
    write_atomically(folder / "centers.npy", lambda handle: handle.write(buffer.getvalue()))
    write_json(folder / "model.json", document)


def load_model(path: str | os.PathLike[str]) -> ProjectedKMeans:
    """Read a model that `save_model` wrote, and check everything that its files say.

    Parameters
    ----------
    path : str or path
        The folder, or the ``model.json`` in it.

    Returns
    -------
    ProjectedKMeans
        A fitted estimator that predicts, transforms and scores as the saved one did. It has no
        ``labels_`` and no ``projection_``.

    Examples
    --------
    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere/model.json does not exist; name the folder that a fit wrote
    """
    path = Path(path)
    path = path if path.name == "model.json" else path / "model.json"
    stored = _read_model_document(path)
    centers = _read_centers(path.with_name("centers.npy"), stored)
    try:
        model = ProjectedKMeans(**stored.parameters)
        model._checked_settings()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} has wrong parameters ({error}); {ADVICE}") from error
    model.certificate_ = _read_certificate(path, stored)
    model.cluster_centers_ = centers
    model.n_features_in_ = stored.n_features
    model.n_components_ = stored.n_components
    model.n_iter_ = stored.n_iter
    model.key_ = stored.key
    model.inertia_ = stored.inertia
    model.normalized_inertia_ = stored.normalized_inertia
    model._projection_name = stored.projection
    if stored.feature_names is not None:
        model.feature_names_in_ = np.array(stored.feature_names, dtype=object)
    return model


def save_fit(
    model: ProjectedKMeans,
    document: Mapping[str, Any],
    folder: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
) -> tuple[Path, ...]:
    """Write the labels, the model and, last, the result of a fit.

    Parameters
    ----------
    model : ProjectedKMeans
        The fitted estimator.
    document : mapping
        What `describe_fit` returned.
    folder : str or path
        An existing folder.
    feature_names : sequence of str or None
        Names of the columns.

    Returns
    -------
    tuple of Path
        The files, in the order in which they were written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> from projected_kmeans.estimator.fit_document import describe_fit
    >>> files = save_fit(model, describe_fit(model, X, name="squares"), tempfile.mkdtemp())
    >>> [file.name for file in files]
    ['labels.npy', 'centers.npy', 'model.json', 'result.json']
    """
    folder = Path(folder)
    write_array(folder / "labels.npy", np.asarray(model.labels_))
    save_model(model, folder, feature_names=feature_names)
    write_json(folder / "result.json", document)
    names = ("labels.npy", "centers.npy", "model.json", "result.json")
    return tuple(folder / name for name in names)


def _read_model_document(path: Path) -> ModelDocument:
    document = read_document(path, [MODEL_FORMAT], FORMAT_VERSION, ADVICE)
    return from_document(ModelDocument, document, str(path), ADVICE)


def _read_certificate(path: Path, stored: ModelDocument) -> Certificate | None:
    if stored.certificate is None:
        return None
    try:
        return Certificate.from_document(stored.certificate)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{path} has a bad certificate ({error}); {ADVICE}") from error


def _read_centers(path: Path, stored: ModelDocument) -> NDArray[Any]:
    if not path.is_file():
        raise ValueError(f"{path} does not exist; keep it beside its model.json")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error
    if hashlib.sha256(content).hexdigest() != stored.centers_sha256:
        raise ValueError(f"{path} does not match the checksum in model.json; {ADVICE}")
    shape = (stored.n_clusters, stored.n_features)
    centers = _decode_centers(path, content)
    if centers.shape != shape or centers.dtype.name != stored.dtype:
        raise ValueError(
            f"{path} is {centers.dtype.name} {centers.shape} and model.json says "
            f"{stored.dtype} {shape}; {ADVICE}"
        )
    return check_centers(str(path), centers, stored.n_features, ADVICE)


def _decode_centers(path: Path, content: bytes) -> NDArray[Any]:
    """Return the array in a ``.npy`` file; raise before memory is taken that it cannot fill."""
    try:
        handle = io.BytesIO(content)
        version = npy.read_magic(handle)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(handle)
        wanted = math.prod(shape) * dtype.itemsize
        if wanted != len(content) - handle.tell():
            raise ValueError(f"its header says {wanted} bytes, which it does not have")
        centers: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # NumPy's parser of headers raises nearly anything
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"{path} is not an array ({reason}); {ADVICE}") from error
    return centers

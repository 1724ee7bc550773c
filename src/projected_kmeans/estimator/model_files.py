"""Keep a fitted model as ``centers.npy`` and ``model.json``.

It does not keep the training rows, their labels or the projection: predicting needs none of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.estimator.fit_document import (
    PROJECTION_NAME,
    describe_certificate,
    describe_parameters,
    projection_name,
)
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.output_files import write_array, write_atomically, write_json

MODEL_FORMAT = "projected_kmeans model"
FORMAT_VERSION = 1
REQUIRED_FIELDS = {
    "n_clusters": int,
    "n_features": int,
    "n_components": int,
    "n_iter": int,
    "key": int,
    "inertia": float,
    "normalized_inertia": float,
    "dtype": str,
    "centers_sha256": str,
    "parameters": dict,
}


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
        An existing folder; ``centers.npy`` and ``model.json`` in it are replaced.
    feature_names : sequence of str or None
        What the columns are called; None takes ``feature_names_in_`` where the model has it.

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
    check_is_fitted(model)
    folder = Path(folder)
    buffer = io.BytesIO()
    np.save(buffer, model.cluster_centers_, allow_pickle=False)
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    document = {
        "format": MODEL_FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": version("projected_kmeans"),
        "n_clusters": len(model.cluster_centers_),
        "n_features": int(model.n_features_in_),
        "n_components": int(model.n_components_),
        "n_iter": int(model.n_iter_),
        "projection": projection_name(model),
        "key": int(model.key_),
        "inertia": float(model.inertia_),
        "normalized_inertia": float(model.normalized_inertia_),
        "certificate": describe_certificate(model),
        "feature_names": None if names is None else [str(name) for name in names],
        "dtype": model.cluster_centers_.dtype.name,
        "centers_sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
        **describe_parameters(model),
    }
    # model.json comes last: until it stands, its checksum refuses the new centers.
    write_atomically(folder / "centers.npy", lambda handle: handle.write(buffer.getvalue()))
    write_json(folder / "model.json", document)


def load_model(path: str | os.PathLike[str]) -> ProjectedKMeans:
    """Read a model that `save_model` wrote, checking everything it says.

    Parameters
    ----------
    path : str or path
        The folder, or the ``model.json`` in it.

    Returns
    -------
    ProjectedKMeans
        A fitted estimator that predicts, transforms and scores as the saved one did; it has no
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
    document = _read_document(path)
    centers = _read_centers(path.with_name("centers.npy"), document)
    names = document.get("feature_names")
    try:
        model = ProjectedKMeans(**document["parameters"])
        model._check_parameters()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} has wrong parameters ({error}); fit the model again") from error
    model.certificate_ = _read_certificate(path, document)
    model.cluster_centers_ = centers
    model.n_features_in_ = document["n_features"]
    model.n_components_ = document["n_components"]
    model.n_iter_ = document["n_iter"]
    model.key_ = document["key"]
    model.inertia_ = document["inertia"]
    model.normalized_inertia_ = document["normalized_inertia"]
    setattr(model, PROJECTION_NAME, document.get("projection"))
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def save_fit(
    model: ProjectedKMeans,
    document: Mapping[str, Any],
    folder: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
) -> tuple[Path, ...]:
    """Write everything that a fit leaves: labels, the model, and last the result.

    Parameters
    ----------
    model : ProjectedKMeans
        The fitted estimator.
    document : mapping
        What `describe_fit` returned.
    folder : str or path
        An existing folder.
    feature_names : sequence of str or None
        What the columns are called.

    Returns
    -------
    tuple of Path
        The files, in the order of writing.

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


def _read_certificate(path: Path, document: Mapping[str, Any]) -> Certificate | None:
    stored = document.get("certificate")
    if stored is None:
        return None
    try:
        return Certificate.from_document(stored)
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{path} has a bad certificate ({error}); fit the model again") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _read_document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{path} does not exist; name the folder that a fit wrote")
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}); fit the model again") from error
    if not isinstance(document, dict) or document.get("format") != MODEL_FORMAT:
        raise ValueError(f"{path} is not a {MODEL_FORMAT}; name the folder that a fit wrote")
    if document.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {document.get('format_version')!r} and this package reads "
            f"{FORMAT_VERSION}; upgrade projected_kmeans or fit the model again"
        )
    for name, kind in REQUIRED_FIELDS.items():
        value = document.get(name)
        is_integral_float = kind is float and type(value) is int  # JSON writes 4.0 as 4 elsewhere
        if type(value) is not kind and not is_integral_float:
            raise ValueError(
                f"{path} has {name}={value!r} where {kind.__name__} is due; fit the model again"
            )
    names = document.get("feature_names")
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if names is not None and not (is_list and len(names) == document["n_features"]):
        raise ValueError(
            f"{path} has feature_names that do not name its {document['n_features']} features; fit "
            "the model again"
        )
    return document


def _read_centers(path: Path, document: dict[str, Any]) -> NDArray[Any]:
    if not path.is_file():
        raise ValueError(f"{path} does not exist; keep it beside its model.json")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error
    if hashlib.sha256(content).hexdigest() != document["centers_sha256"]:
        raise ValueError(f"{path} does not match the checksum in model.json; fit the model again")
    try:
        centers = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not an array ({error}); fit the model again") from error
    shape = (document["n_clusters"], document["n_features"])
    if centers.shape != shape or centers.dtype.name != document["dtype"]:
        raise ValueError(
            f"{path} is {centers.dtype.name} {centers.shape} and model.json says "
            f"{document['dtype']} {shape}; fit the model again"
        )
    if not np.isfinite(centers).all():
        raise ValueError(f"{path} holds NaN or infinity; fit the model again")
    return np.asarray(centers)

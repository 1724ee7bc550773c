"""Store a fitted model as ``centers.npy`` and ``model.json``, and read it again.

The training rows, their labels and the projection are not stored, because predictions do not need
them. What a file says is checked before it is used. Files are replaced together, and ``model.json``
lists the checksums of those that belong to it; see `fit_folder`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

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
from projected_kmeans.estimator.model_document import (
    ADVICE,
    read_centers,
    read_certificate,
    read_labels_of,
    read_model_document,
)
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.messages import first_line
from projected_kmeans.output_files import encode_json, save_array
from projected_kmeans.output_group import GroupReader, GroupWriter, read_group, replace_group

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
    """Write the labels, the model and the result of a fit, all or none.

    A ``report.json`` of an earlier fit is removed.

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
        The files.

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

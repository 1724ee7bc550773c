"""What the files of a stored model say: ``model.json`` and ``centers.npy``, each field checked.

Reads values and arrays; `model_files` makes an estimator of them.
"""

from __future__ import annotations

import hashlib
import io
import math
from dataclasses import dataclass
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
from projected_kmeans.estimator.fit_folder import FORMAT_VERSION, MODEL_FORMAT
from projected_kmeans.messages import first_line
from projected_kmeans.results import Labels

ADVICE = "fit the model again"


@dataclass(frozen=True)
class RowFacts:
    """What a model says of the rows of its fit, so that `partial_fit` can continue.

    Attributes
    ----------
    number, weight, squares
        How many rows there are, the sum of their weights, and their weighted sum of squares.
    center_weights : tuple of float
        What the centers weigh if they stand for the rows.
    """

    number: Count
    weight: NotNegative
    squares: NotNegative
    center_weights: tuple[NotNegative, ...]


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
            found = len(self.rows.center_weights)
            raise ValueError(f"{found} center_weights for {self.n_clusters} clusters")
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

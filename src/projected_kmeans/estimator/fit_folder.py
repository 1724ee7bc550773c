"""The folder of a fit: which of its files belong together, and whether they still do.

``model.json`` lists the SHA-256 of ``centers.npy`` and ``labels.npy``. It holds the hash of the fit
(`identify_fit`), and so do ``result.json`` and ``report.json``. A file that does not fit is of
another fit, or damaged, and all readers refuse it with one sentence. A missing file is no error,
because predictions need neither labels nor reports. Other files in the folder belong to the user.

Models that earlier versions wrote have no such hashes. Of these, numbers are compared that several
files hold.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from projected_kmeans.documents import from_document, read_document
from projected_kmeans.estimator.fit_document import RESULT_FORMAT
from projected_kmeans.output_group import GroupReader
from projected_kmeans.sources.open_rows import read_labels

MODEL_FORMAT = "projected_kmeans model"
REPORT_FORMAT = "projected_kmeans report"
FORMAT_VERSION = 1

# The files beside model.json that a fit may write.
ARRAYS = ("centers.npy", "labels.npy")
DOCUMENTS = ("result.json", "report.json")


@dataclass(frozen=True)
class ModelHead:
    """What a model.json says about the files beside it; earlier versions wrote no hashes."""

    key: int
    inertia: float
    files: dict[str, str] | None = None  # the SHA-256 of the arrays of the fit, by their names
    fit: str | None = None  # the hash of the fit, which its other documents hold, too


@dataclass(frozen=True)
class _Scores:
    inertia: float
    cluster_sizes: tuple[int, ...]


@dataclass(frozen=True)
class _Result:
    key: int
    results: _Scores
    fit: str | None = None


@dataclass(frozen=True)
class _Report:
    facts: _Result


def read_head(group: GroupReader) -> ModelHead | None:
    """Return what the model.json of a folder says about the files beside it.

    None if there is no model.json, or none of ours.
    """
    path = group.find("model.json")
    try:
        document = read_document(path, [MODEL_FORMAT], FORMAT_VERSION)
        return from_document(ModelHead, document, str(path))
    except ValueError:  # `load_model` tells why; here the question is about other files
        return None


def check_fit_file(group: GroupReader, name: str) -> None:
    """Raise if a file may be one of a fit and its folder holds files of several fits."""
    head = read_head(group)
    if head is not None and name in (*ARRAYS, *DOCUMENTS):
        check_group(group, head)


def check_group(group: GroupReader, head: ModelHead) -> None:
    """Raise if the files in the folder of a model are not all of its fit."""
    for name in ARRAYS:
        if head.files is not None and not _is_listed(group, head, name):
            raise _other_fit(group, name)
    for name in DOCUMENTS:
        stored = _read_result(group, name)
        if stored is not None and not _same_fit(stored, head):
            raise _other_fit(group, name)
    if head.files is None:
        _check_label_counts(group)


def list_own_files(group: GroupReader, head: ModelHead) -> list[str]:
    """Return the files in the folder of a model, besides its centers, that hashes prove its own."""
    files = head.files or {}
    own = ["labels.npy"] if "labels.npy" in files and _is_listed(group, head, "labels.npy") else []
    results = {name: _read_result(group, name) for name in DOCUMENTS}
    return own + [
        name
        for name, stored in results.items()
        if stored is not None and stored.fit is not None and stored.fit == head.fit
    ]


def _is_listed(group: GroupReader, head: ModelHead, name: str) -> bool:
    """Tell whether a file is the one that model.json lists, or is missing, or is not listed."""
    path, files = group.find(name), head.files or {}
    return name not in files or not path.is_file() or _hash_file(path) == files[name]


def _same_fit(stored: _Result, head: ModelHead) -> bool:
    if stored.fit is not None and head.fit is not None:
        return stored.fit == head.fit
    return (stored.key, stored.results.inertia) == (head.key, head.inertia)


def _read_result(group: GroupReader, name: str) -> _Result | None:
    """Return the numbers of a result or a report; None if there is none, or none of ours."""
    path = group.find(name)
    try:
        document = read_document(path, (RESULT_FORMAT, REPORT_FORMAT), FORMAT_VERSION)
    except ValueError:
        return None
    if document["format"] == REPORT_FORMAT:
        return from_document(_Report, document, str(path)).facts
    return from_document(_Result, document, str(path))


def _check_label_counts(group: GroupReader) -> None:
    """Raise if labels without a checksum do not have the sizes of clusters in ``result.json``."""
    result, labels = _read_result(group, "result.json"), group.find("labels.npy")
    if result is None or not labels.is_file():
        return
    values, counts = np.unique(read_labels(labels), return_counts=True)
    sizes = {label: size for label, size in enumerate(result.results.cluster_sizes) if size}
    if dict(zip(values.tolist(), counts.tolist(), strict=True)) != sizes:
        raise _other_fit(group, "labels.npy")


def _other_fit(group: GroupReader, name: str) -> ValueError:
    return ValueError(
        f"{group.folder / name} is not of the fit that model.json describes, or is damaged; copy "
        "the whole folder, or fit again"
    )


def _hash_file(path: Path) -> str:
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error

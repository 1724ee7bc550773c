"""READ: a vector of labels from a file.

Rows of numbers are read elsewhere; what labels are compared with is the caller's business.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_source import one_sentence
from projected_kmeans.sources.formats.archives import Archive, list_mat, list_npz
from projected_kmeans.sources.formats.hdf5 import is_matlab_hdf5, list_hdf5
from projected_kmeans.sources.formats.npy import find_array
from projected_kmeans.sources.formats.text_index import BYTE_ORDER_MARK, is_number
from projected_kmeans.sources.open_rows import DELIMITERS, check_exists, unknown_format
from projected_kmeans.sources.protocol import UnreadableFile


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    r"""Read a vector of labels: ``.npy``, ``.npz``, ``.mat``, or text with one label a line.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ndarray of shape (n_samples,)
        Numbers, or strings where a text file holds anything else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> _ = file.write_text("0\n0\n1\n")
    >>> read_labels(file)
    array([0, 0, 1])
    """
    path = Path(path)
    check_exists(path)
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder; name a file in it")
    extension = path.suffix.lower()
    if extension not in LABEL_FORMATS:
        raise unknown_format(path, extension, LABEL_FORMATS)
    with one_sentence(path, extension):
        labels = LABEL_FORMATS[extension](path)
    is_vector = labels.size == max(labels.shape, default=0) > 0
    if labels.dtype.kind not in "biufUS" or not is_vector:
        raise UnreadableFile(
            f"{path} holds {labels.dtype} values of shape {labels.shape}; give one label a row"
        )
    return np.array(labels).reshape(-1)


def _list_matlab(path: Path) -> Archive:
    return list_hdf5(path, matlab=True) if is_matlab_hdf5(path) else list_mat(path)


def _load_text_labels(delimiter: str, path: Path) -> NDArray[Any]:
    text = path.read_bytes().removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    lines = csv.reader(text.splitlines(), delimiter=delimiter)
    labels = []
    for cells in lines:
        if len(cells) > 1:
            raise UnreadableFile(
                f"{path} has {len(cells)} cells on line {lines.line_num}; give one label"
            )
        labels += [cell.strip() for cell in cells]
    if len(labels) > 1 and not is_number(labels[0]) and all(map(is_number, labels[1:])):
        labels = labels[1:]  # a header
    for kind in (np.int64, np.float64):
        try:
            return np.array(labels, dtype=kind)
        except ValueError:
            continue
    return np.array(labels)


LABEL_FORMATS: dict[str, Callable[[Path], NDArray[Any]]] = {
    ".npy": lambda path: find_array(path).open(),
    ".npz": lambda path: list_npz(path).load_labels(),
    ".mat": lambda path: _list_matlab(path).load_labels(),
    **{
        extension: partial(_load_text_labels, mark)
        for extension, mark in (DELIMITERS | {".txt": "\t"}).items()
    },
}

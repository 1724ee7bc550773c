"""Read a vector of labels, one for each row, from a file of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_reader import explain_errors
from projected_kmeans.sources.file_search import check_exists, unknown_format
from projected_kmeans.sources.format_table import FORMATS
from projected_kmeans.sources.formats.text_columns import load_text_labels
from projected_kmeans.sources.isolated_source import read_isolated_labels
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.reader_process import can_isolate

# The formats of rows that hold labels too, and plain text, from which only labels are read.
LABEL_FORMATS = {
    extension: entry.load_labels
    for extension, entry in FORMATS.items()
    if entry.load_labels is not None
} | {".txt": lambda path: load_text_labels(path, "\t")}


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    r"""Read a vector of labels: ``.npy``, ``.npz``, ``.mat``, or text with one label a line.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ndarray of shape (n_samples,)
        Numbers, or strings if a text file holds anything else.

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
    if extension in FORMATS and FORMATS[extension].modules and can_isolate():
        return read_isolated_labels(path, extension)
    with explain_errors(path, extension):
        return check_labels(LABEL_FORMATS[extension](path), path)


def check_labels(labels: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return labels as a vector in memory; raise if they are not one label a row."""
    is_vector = labels.size == max(labels.shape, default=0) > 0
    if labels.dtype.kind not in "biufUS" or not is_vector:
        raise UnreadableFile(
            f"{path} holds {labels.dtype} values of shape {labels.shape}; give one label a row"
        )
    return np.array(labels).reshape(-1)

"""Open files of any format in the table: as a row source, as a matrix, or as a vector of labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.checks import check_choice
from projected_kmeans.sources.file_format import Choice
from projected_kmeans.sources.file_rows import FileRows, JoinedRows, explain_errors
from projected_kmeans.sources.format_table import (
    FORMATS,
    check_exists,
    find_files,
    name_files,
    name_folders,
    unknown_format,
)
from projected_kmeans.sources.formats.text import load_text_labels
from projected_kmeans.sources.isolated_source import IsolatedRows, read_isolated_labels
from projected_kmeans.sources.protocol import RowSource, UnreadableFile
from projected_kmeans.sources.reader_process import can_isolate

# The formats of rows that hold labels too, and plain text, from which only labels are read.
LABEL_FORMATS = {
    extension: entry.load_labels
    for extension, entry in FORMATS.items()
    if entry.load_labels is not None
} | {".txt": lambda path: load_text_labels(path, "\t")}


@dataclass(frozen=True, eq=False)
class Matrix:
    """All dense rows of a data file in their stored type, and what the file holds beside them."""

    rows: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None


def open_rows(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    variable: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    image_size: tuple[int, int] | None = None,
    n_features: int | None = None,
    folder_labels: bool = False,
    on_missing: str = "error",
) -> RowSource:
    r"""Open a data file, or a folder of files of one format, as a source of row ranges.

    Parameters
    ----------
    path : str or path
        The file; or a folder, whose files are read one after another in the order of their names.
    format : str or None
        The format as an extension, such as "npy" or ".npy"; None goes by the file's extension.
    variable : str or None
        The array to read from a file that holds several; None takes one with a usual name (X, x,
        data, fea, features), or else the only matrix.
    columns, drop : sequence of str or None
        The named columns to keep, in this order, or to leave out.
    image_size : (int, int) or None
        Width and height to which images are resized; None needs images of one size.
    n_features : int or None
        The number of columns of svmlight rows; None goes by the largest index.
    folder_labels : bool, default=False
        Whether ``labels`` are the names of the folders inside ``path`` in which images lie.
    on_missing : {"error", "skip"}, default="error"
        "skip" reads cells without a number as NaN (of text: empty cells, NA, N/A, null and None),
        for a `ProjectedKMeans` that skips such rows. "error" refuses them where the format has no
        NaN, and names the place.

    Returns
    -------
    RowSource
        Opening reads the shape, the type and the names, and no rows if the format allows it. The
        ``row_ids`` of images are the names of their files, relative to ``path``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("width,height,name\n1,2,a\n3,4,b\n5,6,c\n")
    >>> source = open_rows(file, drop=["name"])
    >>> source.shape, source.feature_names
    ((3, 2), ('width', 'height'))
    >>> source.read(1, 3)
    array([[3., 4.],
           [5., 6.]])
    """
    check_choice("on_missing", on_missing, ("error", "skip"))
    skips = on_missing == "skip"
    choice = Choice(variable, columns, drop, image_size, n_features, nan_holes=skips)
    given, extension = find_files(Path(path), format)
    # Absolute, because a pickled source may be opened in a process with another working folder.
    files = [file.absolute() for file in given]
    entry = FORMATS[extension]
    for name, value in vars(choice).items():
        if value is not None and name not in (*entry.choices, "nan_holes"):
            raise UnreadableFile(
                f"{path} is read as {extension}, so {name}={value!r} cannot be chosen; leave it out"
            )
    if folder_labels and not entry.file_is_row:
        raise UnreadableFile(
            f"{path} is read as {extension}, so folder_labels=True cannot be chosen; leave it out"
        )
    labels = name_folders(Path(path), given) if folder_labels else None
    source: IsolatedRows | FileRows | JoinedRows
    if entry.modules and can_isolate():
        source = IsolatedRows(files, extension, choice, str(path))
    else:
        with explain_errors(Path(path), extension):
            source = entry.open(files, extension, choice)
    if entry.file_is_row:
        source.row_ids, source.labels = name_files(Path(path), given), labels
    return source


def rename_columns(source: RowSource, names: Sequence[str]) -> RowSource:
    """Return a source that `open_rows` returned, with other names of its columns."""
    assert isinstance(source, IsolatedRows | FileRows | JoinedRows)
    source.feature_names = tuple(names)
    return source


def read_matrix(
    path: str | os.PathLike[str], *, format: str | None = None, variable: str | None = None
) -> Matrix:
    """Read all rows of a data file at once; they must be dense."""
    with open_rows(path, format=format, variable=variable) as source:
        rows = source.read(0, source.shape[0])
        if not isinstance(rows, np.ndarray):
            raise UnreadableFile(
                f"{path} is sparse, and only dense rows are read here; save it as a dense matrix"
            )
        return Matrix(rows, source.feature_names, source.labels)


def read_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read a vector of labels: ``.npy``, ``.npz``, ``.mat``, or text with one label a line.

    They are numbers, or strings if a text file holds anything else.
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

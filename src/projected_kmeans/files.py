"""Read a matrix of rows, or a vector of labels, from a file in one of several formats.

It does not judge the numbers (NaN and infinity are the estimator's to refuse) nor write anything.
"""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["FORMATS", "Matrix", "UnreadableFile", "read_labels", "read_matrix"]

MATRIX_NAMES = ("X", "x", "data", "fea", "features")
LABEL_NAMES = ("y", "Y", "gnd", "labels", "target")


class UnreadableFile(ValueError):
    """A file that cannot be used; its message says what, why, and what to do."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """What a data file holds.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)
        The numbers in their own dtype; a memory map for ``.npy``.
    feature_names : tuple of str or None
        The header of a text file.
    labels : ndarray of shape (n_samples,) or None
        The labels found beside the rows of a ``.npz`` or ``.mat`` file.
    """

    rows: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None


@dataclass(frozen=True)
class _Variable:
    """One array of a file that holds several, known before it is loaded."""

    name: str
    shape: tuple[int, ...]
    kind: str  # "number", "sparse" or "other"

    def is_matrix(self) -> bool:
        return self.kind != "other" and len(self.shape) == 2

    def is_vector(self) -> bool:
        return self.kind == "number" and sum(extent != 1 for extent in self.shape) == 1

    def __str__(self) -> str:
        return f"{self.name} ({' x '.join(map(str, self.shape)) or 'one value'})"


@dataclass(frozen=True)
class _Archive:
    """The variables of a ``.npz`` or ``.mat`` file, and how to load one by its name."""

    variables: tuple[_Variable, ...]
    load: Callable[[str], NDArray[Any]]

    def __str__(self) -> str:
        return ", ".join(map(str, self.variables)) or "nothing"


def read_matrix(
    path: str | os.PathLike[str], *, format: str | None = None, variable: str | None = None
) -> Matrix:
    r"""Read the rows of a data file.

    Parameters
    ----------
    path : str or path
        The file.
    format : str or None
        A key of `FORMATS`, with or without its dot; None goes by the extension.
    variable : str or None
        Which array of a ``.npz`` or ``.mat`` file; None finds it by a usual name (X, x, data, fea,
        features) or because it is the only matrix.

    Returns
    -------
    Matrix
        The rows in their own dtype, with feature names and labels if the file holds them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("width,height\n1,2\n3,4\n")
    >>> read_matrix(file).rows
    array([[1., 2.],
           [3., 4.]])
    >>> read_matrix(file).feature_names
    ('width', 'height')
    """
    path = _existing_file(path)
    extension = path.suffix.lower() if format is None else "." + format.lower().removeprefix(".")
    if extension not in FORMATS:
        raise _unknown_format(path, extension, FORMATS)
    if variable is not None and extension not in ARCHIVES:
        raise UnreadableFile(
            f"{path} holds one matrix, so variable={variable!r} cannot be chosen; leave it out"
        )
    with _one_sentence(path, extension):
        return FORMATS[extension](path, variable)


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
    path = _existing_file(path)
    extension = path.suffix.lower()
    if extension not in LABEL_FORMATS:
        raise _unknown_format(path, extension, LABEL_FORMATS)
    with _one_sentence(path, extension):
        labels = LABEL_FORMATS[extension](path)
    is_vector = labels.size == max(labels.shape, default=0) > 0
    if labels.dtype.kind not in "biufUS" or not is_vector:
        raise UnreadableFile(
            f"{path} holds {labels.dtype} values of shape {labels.shape}; give one label a row"
        )
    return np.array(labels).reshape(-1)


def _existing_file(path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    if path.is_dir():
        raise UnreadableFile(f"{path} is a folder; name a file in it")
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist; check the path")
    if not path.is_file():
        raise UnreadableFile(f"{path} is not a regular file; save the data to a file first")
    return path


def _unknown_format(path: Path, extension: str, known: dict[str, Any]) -> UnreadableFile:
    what = f"{path} has the unknown format {extension!r}" if extension else f"{path} has no format"
    return UnreadableFile(f"{what}; use one of {', '.join(known)}")


@contextmanager
def _one_sentence(path: Path, extension: str) -> Iterator[None]:
    try:
        yield
    except UnreadableFile:
        raise
    except Exception as error:  # on a damaged file the parsers raise nearly anything
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableFile(
            f"{path} cannot be read as {extension} ({reason}); check that it is complete and of "
            "that format, or write it again"
        ) from error


def _check_rows(rows: NDArray[Any], where: str) -> NDArray[Any]:
    if rows.dtype.kind == "c":
        raise UnreadableFile(f"{where} holds complex numbers; give real ones, such as abs(X)")
    if rows.dtype.kind not in "biuf":
        raise UnreadableFile(f"{where} holds values of type {rows.dtype}; give numbers")
    if rows.ndim != 2:
        raise UnreadableFile(
            f"{where} has shape {rows.shape}, but rows and columns are needed; reshape it, such as "
            "with X.reshape(len(X), -1)"
        )
    if rows.size == 0:
        raise UnreadableFile(f"{where} has shape {rows.shape}; give at least one row and column")
    if rows.dtype.kind == "b":
        return rows.view(np.uint8)
    return rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))


def _load_npy(path: Path) -> NDArray[Any]:
    return npy.open_memmap(path, mode="r")  # refuses Python objects, so never a pickle


def _read_npy(path: Path, variable: str | None) -> Matrix:
    return Matrix(_check_rows(_load_npy(path), str(path)))


def _open_npz(path: Path) -> _Archive:
    variables = []
    with zipfile.ZipFile(path) as members:
        for member in members.namelist():
            with members.open(member) as handle:
                version = npy.read_magic(handle)
                read_header = {(1, 0): npy.read_array_header_1_0}.get(
                    version, npy.read_array_header_2_0
                )
                shape, _, dtype = read_header(handle)
            kind = "number" if dtype.kind in "biufc" else "other"
            variables.append(_Variable(member.removesuffix(".npy"), shape, kind))
    if {"format", "shape", "data"} <= {one.name for one in variables}:
        variables = [_Variable("the matrix", (0, 0), "sparse")]  # scipy.sparse.save_npz wrote it

    def load(name: str) -> NDArray[Any]:
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays[name])

    return _Archive(tuple(variables), load)


def _open_mat(path: Path) -> _Archive:
    try:
        listing = scipy.io.whosmat(path)
    except NotImplementedError as error:
        raise UnreadableFile(
            f"{path} is a MatLab 7.3 file, which is not supported yet; save it in MatLab with -v7"
        ) from error
    special = {"sparse": "sparse"} | dict.fromkeys(("cell", "struct", "object", "char"), "other")
    variables = [
        _Variable(name, shape, special.get(kind, "number")) for name, shape, kind in listing
    ]

    def load(name: str) -> NDArray[Any]:
        return np.asarray(scipy.io.loadmat(path, variable_names=[name])[name])

    return _Archive(tuple(variables), load)


def _read_archive(
    open_archive: Callable[[Path], _Archive], path: Path, variable: str | None
) -> Matrix:
    archive = open_archive(path)
    chosen = _choose_matrix(archive, path, variable)
    if chosen.kind == "sparse":
        raise UnreadableFile(
            f"{chosen.name} in {path} is sparse, which is not supported yet; save it as a dense one"
        )
    rows = _check_rows(archive.load(chosen.name), f"{chosen.name} in {path}")
    for name in LABEL_NAMES:
        for beside in archive.variables:
            if beside.name == name and beside.is_vector() and max(beside.shape) == len(rows):
                return Matrix(rows, labels=archive.load(name).reshape(-1))
    return Matrix(rows)


def _choose_matrix(archive: _Archive, path: Path, variable: str | None) -> _Variable:
    if variable is not None:
        named = [one for one in archive.variables if one.name == variable]
        if not named:
            raise UnreadableFile(f"{path} has no variable {variable!r}; choose among {archive}")
        return named[0]
    matrices = [one for one in archive.variables if one.is_matrix()]
    named = [one for name in MATRIX_NAMES for one in matrices if one.name == name]
    others = [one for one in matrices if not one.is_vector()] or matrices
    if not named and not others:
        raise UnreadableFile(f"{path} holds {archive} but no matrix; save one under the name X")
    if not named and len(others) > 1:
        raise UnreadableFile(f"{path} holds {archive}; choose which by its variable name")
    return (named or others)[0]


def _load_archive_labels(open_archive: Callable[[Path], _Archive], path: Path) -> NDArray[Any]:
    archive = open_archive(path)
    vectors = [one for one in archive.variables if one.is_vector()]
    named = [one for name in LABEL_NAMES for one in vectors if one.name == name]
    if not named and len(vectors) != 1:
        raise UnreadableFile(f"{path} holds {archive}; give the labels one of the names y, gnd")
    return archive.load((named or vectors)[0].name)


def _read_text(delimiter: str, path: Path, variable: str | None) -> Matrix:
    header, n_skipped = _find_header(path, delimiter)
    try:
        dialect: Any = {"comments": None, "delimiter": delimiter, "quotechar": '"'}
        rows = np.loadtxt(str(path), **dialect, skiprows=n_skipped, ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        culprit = _find_culprit(path, delimiter, n_skipped)
        if culprit is None:
            raise
        raise UnreadableFile(culprit) from error
    if header is not None and len(header) != rows.shape[1]:
        raise UnreadableFile(
            f"{path} has {rows.shape[1]} cells a line under a header of {len(header)}; make them "
            "the same"
        )
    return Matrix(rows, feature_names=header)


def _cells(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every line that is not blank."""
    with open(path, encoding="utf-8-sig", newline="") as handle:
        lines = csv.reader(handle, delimiter=delimiter)
        for cells in lines:
            if cells:
                yield lines.line_num, [cell.strip() for cell in cells]


def _find_header(path: Path, delimiter: str) -> tuple[tuple[str, ...] | None, int]:
    """Return the header, if the first line holds no number, and how many lines to skip."""
    lines = _cells(path, delimiter)
    number, cells = next(lines, (0, []))
    is_header = not any(map(_is_number, cells))
    if not cells or (is_header and next(lines, None) is None):
        raise UnreadableFile(f"{path} holds no rows; give at least one line of numbers")
    # numpy.savetxt writes its header behind a "# ".
    return (tuple([cells[0].lstrip("# "), *cells[1:]]), number) if is_header else (None, 0)


def _find_culprit(path: Path, delimiter: str, n_skipped: int) -> str | None:
    """Return the sentence on the first line that does not fit: the slow pass after a failure."""
    first = 0
    width = 0
    for number, cells in _cells(path, delimiter):
        if number <= n_skipped:
            continue
        first, width = (first, width) if first else (number, len(cells))
        if len(cells) != width:
            return (
                f"{path} has {len(cells)} cells on line {number} and {width} on line {first}; give "
                "every line the same number"
            )
        for column, cell in enumerate(cells, start=1):
            if not _is_number(cell):
                shown = repr(cell[:40]) if cell else "nothing"
                return f"{path} has {shown} on line {number}, column {column}; put a number there"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _load_text_labels(delimiter: str, path: Path) -> NDArray[Any]:
    lines = list(_cells(path, delimiter))
    for number, cells in lines:
        if len(cells) != 1:
            raise UnreadableFile(f"{path} has {len(cells)} cells on line {number}; give one label")
    labels = [cells[0] for _, cells in lines]
    if len(labels) > 1 and not _is_number(labels[0]) and all(map(_is_number, labels[1:])):
        labels = labels[1:]  # a header
    for kind in (np.int64, np.float64):
        try:
            return np.array(labels, dtype=kind)
        except ValueError:
            continue
    return np.array(labels)


Reader = Callable[[Path, str | None], Matrix]
ARCHIVES = {".npz": _open_npz, ".mat": _open_mat}
DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS: dict[str, Reader] = {
    ".npy": _read_npy,
    **{extension: partial(_read_archive, opener) for extension, opener in ARCHIVES.items()},
    **{extension: partial(_read_text, delimiter) for extension, delimiter in DELIMITERS.items()},
}
LABEL_FORMATS: dict[str, Callable[[Path], NDArray[Any]]] = {
    ".npy": _load_npy,
    **{end: partial(_load_archive_labels, opener) for end, opener in ARCHIVES.items()},
    **{
        end: partial(_load_text_labels, mark) for end, mark in (DELIMITERS | {".txt": "\t"}).items()
    },
}

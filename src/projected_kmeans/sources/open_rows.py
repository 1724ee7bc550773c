"""READ: data files of all formats as row sources.

The table of formats is here; what a format looks like inside is its own module's business.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.sources.file_source import FileRows, Reader, one_sentence
from projected_kmeans.sources.folder_source import open_each
from projected_kmeans.sources.formats.archives import open_mat, open_npz
from projected_kmeans.sources.formats.arrow import ArrowFile, ArrowRows, ParquetFile
from projected_kmeans.sources.formats.hdf5 import is_matlab_hdf5, open_hdf5
from projected_kmeans.sources.formats.images import ImageRows
from projected_kmeans.sources.formats.npy import open_npy
from projected_kmeans.sources.formats.svmlight import SvmlightRows
from projected_kmeans.sources.formats.text import TextRows
from projected_kmeans.sources.formats.vectors import ELEMENT_TYPES, open_vectors
from projected_kmeans.sources.formats.zarr import is_store, open_zarr
from projected_kmeans.sources.protocol import RowSource, UnreadableFile

__all__ = ["FORMATS", "Matrix", "UnreadableFile", "open_rows", "read_matrix"]


@dataclass(frozen=True)
class Choice:
    """What of a file is to be read, where it leaves a choice; see `open_rows`."""

    variable: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    image_size: tuple[int, int] | None = None
    n_features: int | None = None


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    extensions : tuple of str
        Which files are of this format.
    open : callable
        From files in the order of their rows, the extension, and a choice to a row source.
    choices : tuple of str
        The fields of `Choice` that mean something here.
    extra : str or None
        The extra of this package that brings what reading needs.
    """

    extensions: tuple[str, ...]
    open: Callable[[Sequence[Path], str, Choice], RowSource]
    choices: tuple[str, ...] = ()
    extra: str | None = None


@dataclass(frozen=True, eq=False)
class Matrix:
    """All that a data file holds.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)
        The numbers in their own dtype; a view of the file where it is not compressed.
    feature_names : tuple of str or None
        The names of the columns, where the file has them.
    labels : ndarray of shape (n_samples,) or None
        The labels found beside the rows.
    """

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
) -> RowSource:
    r"""Open a data file, or a folder of files of one format, as a source of row ranges.

    Parameters
    ----------
    path : str or path
        The file; or a folder, whose files are read one after another in the order of their names.
    format : str or None
        A key of `FORMATS`, with or without its dot; None goes by the extension.
    variable : str or None
        Which array of a file that holds several; None finds it by a usual name (X, x, data, fea,
        features) or because it is the only matrix.
    columns, drop : sequence of str or None
        The named columns to keep, in this order, or to leave out.
    image_size : (int, int) or None
        Width and height to which images are resized; None asks for images of one size.
    n_features : int or None
        How many columns svmlight rows have; None goes by the largest index.

    Returns
    -------
    RowSource
        Nothing but what the source has to know is read yet.

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
    choice = Choice(variable, columns, drop, image_size, n_features)
    found, extension = find_files(Path(path), format)
    files = [file.absolute() for file in found]  # a source may be opened again from elsewhere
    entry = FORMATS[extension]
    for field in fields(choice):
        value = getattr(choice, field.name)
        if value is not None and field.name not in entry.choices:
            raise UnreadableFile(
                f"{path} is read as {extension}, so {field.name}={value!r} cannot be chosen; "
                "leave it out"
            )
    with one_sentence(Path(path), extension):
        return entry.open(files, extension, choice)


def read_matrix(
    path: str | os.PathLike[str], *, format: str | None = None, variable: str | None = None
) -> Matrix:
    r"""Read all rows of a data file, which are dense, at once.

    Parameters
    ----------
    path, format, variable
        As for `open_rows`.

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
    """
    with open_rows(path, format=format, variable=variable) as source:
        rows = source.read(0, source.shape[0])
        if not isinstance(rows, np.ndarray):
            raise UnreadableFile(
                f"{path} is sparse, which is not supported here yet; save it as a dense one"
            )
        return Matrix(rows, source.feature_names, source.labels)


def check_exists(path: Path) -> None:
    """Raise where there is neither a file nor a folder."""
    if not path.exists():
        raise UnreadableFile(f"{path} does not exist; check the path")
    if not (path.is_file() or path.is_dir()):
        raise UnreadableFile(f"{path} is not a regular file; save the data to a file first")


def unknown_format(path: Path, extension: str, known: dict[str, Any]) -> UnreadableFile:
    """Return the error on an extension that is not among the known ones."""
    what = f"{path} has the unknown format {extension!r}" if extension else f"{path} has no format"
    return UnreadableFile(f"{what}; use one of {', '.join(known)}")


def find_files(path: Path, format: str | None) -> tuple[list[Path], str]:
    """Return the files in the order of their rows, and the extension that tells the format."""
    check_exists(path)
    named = None if format is None else "." + format.lower().removeprefix(".")
    extension = path.suffix.lower() if named is None else named
    if path.is_dir() and named is None and is_store(path):
        extension = ".zarr"
    if path.is_file() or extension == ".zarr" or (named is not None and named not in FORMATS):
        if extension not in FORMATS:
            raise unknown_format(path, extension, FORMATS)
        return [path], extension
    return _find_in_folder(path, named)


def _find_in_folder(folder: Path, extension: str | None) -> tuple[list[Path], str]:
    found: dict[tuple[str, ...], list[Path]] = {}
    for file in sorted(folder.rglob("*"), key=lambda file: file.relative_to(folder).as_posix()):
        entry = FORMATS.get(file.suffix.lower())
        inside = file.relative_to(folder).parts
        # Marks of Spark, checkpoints of notebooks and their like are not data.
        hidden = any(part.startswith((".", "_")) for part in inside)
        if entry is not None and file.is_file() and not hidden:
            found.setdefault(entry.extensions, []).append(file)
    if extension is not None:
        found = {ends: files for ends, files in found.items() if extension in ends}
    if not found:
        wanted = ", ".join(FORMATS) if extension is None else extension
        raise UnreadableFile(f"{folder} holds no file of a known format; use one of {wanted}")
    if len(found) > 1:
        examples = " and ".join(files[0].name for files in found.values())
        raise UnreadableFile(f"{folder} holds several formats ({examples}); say which by format")
    (files,) = found.values()
    return files, files[0].suffix.lower()


def _each(
    open_reader: Callable[[Path, str, Choice], Reader],
) -> Callable[[Sequence[Path], str, Choice], RowSource]:
    """Return an opener of several files from that of one."""

    def open_all(files: Sequence[Path], extension: str, choice: Choice) -> RowSource:
        return open_each(
            files, extension, choice, lambda file: open_reader(file, extension, choice)
        )

    return open_all


def _open_text(path: Path, extension: str, choice: Choice) -> Reader:
    return TextRows(path, DELIMITERS[extension], choice.columns, choice.drop)


def _open_matlab(path: Path, extension: str, choice: Choice) -> Reader:
    if is_matlab_hdf5(path):
        return open_hdf5(path, choice.variable, matlab=True)
    return open_mat(path, choice.variable)


def _open_svmlight(files: Sequence[Path], extension: str, choice: Choice) -> RowSource:
    return FileRows(files, extension, choice, SvmlightRows(files, choice.n_features))


def _open_images(files: Sequence[Path], extension: str, choice: Choice) -> RowSource:
    return FileRows(files, extension, choice, ImageRows(files, choice.image_size))


DELIMITERS = {".csv": ",", ".tsv": "\t"}
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".pgm", ".ppm")
NAMED = ("columns", "drop")

TABLE = (
    Format((".npy",), _each(lambda path, _, choice: open_npy(path))),
    Format(
        (".npz",), _each(lambda path, _, choice: open_npz(path, choice.variable)), ("variable",)
    ),
    Format((".mat",), _each(_open_matlab), ("variable",), "hdf5"),
    Format((".csv",), _each(_open_text), NAMED),
    Format((".tsv",), _each(_open_text), NAMED),
    Format(
        (".parquet", ".pq"),
        _each(lambda path, _, choice: ArrowRows(path, ParquetFile, choice.columns, choice.drop)),
        NAMED,
        "parquet",
    ),
    Format(
        (".arrow", ".feather"),
        _each(lambda path, _, choice: ArrowRows(path, ArrowFile, choice.columns, choice.drop)),
        NAMED,
        "parquet",
    ),
    Format(
        (".h5", ".hdf5"),
        _each(lambda path, _, choice: open_hdf5(path, choice.variable)),
        ("variable",),
        "hdf5",
    ),
    Format(
        (".zarr",),
        _each(lambda path, _, choice: open_zarr(path, choice.variable)),
        ("variable",),
        "zarr",
    ),
    Format((".svm", ".svmlight", ".libsvm"), _open_svmlight, ("n_features",)),
    *(
        Format((extension,), _each(lambda path, extension, _: open_vectors(path, extension)))
        for extension in ELEMENT_TYPES
    ),
    Format(IMAGES, _open_images, ("image_size",)),
)
FORMATS = {extension: entry for entry in TABLE for extension in entry.extensions}

"""What a file format is: its extensions, how its files are opened, and what may be chosen.

Each format of formats/ is a `Format` at the end of a module; `format_table` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from projected_kmeans.sources.file_rows import FileRows, JoinedRows, Reader, explain_errors


@dataclass(frozen=True)
class Choice:
    """Which part of a file is to be read, if there is a choice; see `open_rows` for each field.

    ``nan_holes`` says whether cells without a number are read as NaN instead of being refused. The
    repr is part of the fingerprint of a source, so a new field changes the fingerprints of all
    files, and checkpoints of fits that are under way no longer match their data. ``nan_holes`` is
    no part of it, because it changes no number.
    """

    variable: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    image_size: tuple[int, int] | None = None
    n_features: int | None = None
    nan_holes: bool = field(default=False, repr=False)


# From files in the order of their rows, the extension that names their format, and a choice, to
# their row source.
Opener: TypeAlias = "Callable[[Sequence[Path], str, Choice], FileRows | JoinedRows]"


@dataclass(frozen=True)
class NamedColumns:
    """How columns that are not features are read from a format whose columns have names.

    ``walk`` yields the cells of a column from the first row to the last; ``arrow_type`` is the type
    that the column gets when it is written to Parquet.
    """

    names: Callable[[Path], Sequence[str]]
    walk: Callable[[Path, str], Iterator[Any]]
    arrow_type: Callable[[Path, str], Any]


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    extensions : tuple of str
        In lower case. Files of a folder that have any of them are read together.
    open : Opener
        Made by `each_file` or `files_together`.
    choices : tuple of str
        The fields of `Choice` that this format understands; the others are refused.
    extra : str or None
        The extra in pyproject.toml that installs the package which reads this format.
    load_labels : callable or None
        From a file of labels to a vector; None if labels are not read from this format.
    named_columns : NamedColumns or None
        None if columns have no names.
    is_store : callable or None
        For a format whose data set is a folder: from a folder to whether it is such a data set.
    modules : tuple of str
        The modules of native libraries that parse files of this format. If there are any, files
        are read by another process, which a damaged file may crash; see `reader_process`.
    file_is_row : bool
        Whether each file is one row, so that its name identifies the row.
    """

    extensions: tuple[str, ...]
    open: Opener
    choices: tuple[str, ...] = ()
    extra: str | None = None
    load_labels: Callable[[Path], NDArray[Any]] | None = None
    named_columns: NamedColumns | None = None
    is_store: Callable[[Path], bool] | None = None
    modules: tuple[str, ...] = ()
    file_is_row: bool = False


def each_file(open_reader: Callable[[Path, Choice], Reader]) -> Opener:
    """Return the opener of a format in which every file has a reader of its own."""

    def open_all(files: Sequence[Path], extension: str, choice: Choice) -> FileRows | JoinedRows:
        sources = []
        for file in files:
            with explain_errors(file, extension):
                sources.append(FileRows([file], extension, choice, open_reader(file, choice)))
            if len(files) > 1:
                sources[-1].close()
        return sources[0] if len(sources) == 1 else JoinedRows(sources)

    return open_all


def files_together(open_reader: Callable[[Sequence[Path], Choice], Reader]) -> Opener:
    """Return the opener of a format in which one reader reads all files of a folder."""

    def open_all(files: Sequence[Path], extension: str, choice: Choice) -> FileRows | JoinedRows:
        return FileRows(files, extension, choice, open_reader(files, choice))

    return open_all

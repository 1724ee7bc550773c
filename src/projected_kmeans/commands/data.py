"""READ: a data file as the command line takes it: loaded if it is small, else read by blocks.

Which of the two shows in time only: rows are the same.
"""

from __future__ import annotations

import os
from typing import Any

from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.sources.array_source import ArrayRows
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import RowSource

# Of the machine's memory that rows may take to be loaded, and what is supposed where it is unknown.
LOADED_SHARE = 1 / 8
SUPPOSED_MEMORY = 2**32


def open_data(
    path: str, *, memory_limit: str | None = None, stays: bool = False, **choice: Any
) -> RowSource:
    r"""Return the rows of a file or folder, in memory if they are few and no limit is set.

    Parameters
    ----------
    path : str
        The file or folder.
    memory_limit : str, optional
        Where there is one, rows are not loaded.
    stays : bool, default=False
        Whether rows are not loaded in any case, as others read them.
    **choice : optional
        What `open_rows` takes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("width,height\n1,2\n3,4\n")
    >>> source = open_data(str(file))
    >>> type(source).__name__, source.feature_names
    ('ArrayRows', ('width', 'height'))
    """
    source = open_rows(path, **choice)
    size = StoredBlocks(source).row_bytes * source.shape[0]
    if stays or memory_limit is not None or size > LOADED_SHARE * _memory():
        return source
    return _load(source)


def unwrap(source: RowSource) -> Any:
    """Return rows that are in memory as they are, and others as the source that reads them."""
    return source.array if isinstance(source, ArrayRows) else source


def load_data(path: str, **choice: Any) -> ArrayRows:
    """Return the rows of a file or folder in memory, dense or sparse, for what needs all of them.

    Parameters
    ----------
    path : str
        The file or folder.
    **choice : optional
        What `open_rows` takes.
    """
    return _load(open_rows(path, **choice))


def _load(source: RowSource) -> ArrayRows:
    with source:
        loaded = ArrayRows(source.read(0, source.shape[0]))
        loaded.feature_names, loaded.labels = source.feature_names, source.labels
        loaded.origin = source
        return loaded


def _memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        return SUPPOSED_MEMORY

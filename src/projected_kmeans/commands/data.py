"""Open the data file of a command: load it if it is small, otherwise read it block by block.

Both ways give the same rows and the same result. Loading is faster where the data fits in memory.
"""

from __future__ import annotations

import math
from typing import Any

from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.commands.feature_name_files import read_feature_names
from projected_kmeans.sources.array_source import ArrayRows
from projected_kmeans.sources.memory_at_hand import machine_memory
from projected_kmeans.sources.open_rows import open_rows, rename_columns
from projected_kmeans.sources.protocol import RowSource

# Load rows that take at most this share of the machine's memory.
LOADED_SHARE = 1 / 8
# Bytes of memory to assume on systems that do not tell how much they have.
ASSUMED_MEMORY = 2**32


def open_data(
    path: str,
    *,
    memory_limit: str | None = None,
    load: bool = True,
    feature_names: str | None = None,
    **choice: Any,
) -> RowSource:
    r"""Return the rows of a file or folder, in memory if they are few and no limit is set.

    Parameters
    ----------
    path : str
        The file or folder.
    memory_limit : str, optional
        If there is one, rows are not loaded.
    load : bool, default=True
        Whether rows may be loaded at all.
    feature_names : str, optional
        The file of the names of the columns, if DATA does not have them.
    **choice : optional
        Arguments of `open_rows`.

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
    if feature_names is not None:
        source = rename_columns(source, read_feature_names(feature_names, source.shape[1]))
    size = StoredBlocks(source).row_bytes * source.shape[0]
    if not load or memory_limit is not None or size > LOADED_SHARE * find_machine_memory():
        return source
    return _load(source)


def unwrap(source: RowSource) -> Any:
    """Return the array of a loaded source, and any other source itself."""
    return source.array if isinstance(source, ArrayRows) else source


def load_data(path: str, **choice: Any) -> ArrayRows:
    """Return all rows of a file or folder in memory, dense or sparse.

    Parameters
    ----------
    path : str
        The file or folder.
    **choice : optional
        Arguments of `open_rows`.
    """
    return _load(open_rows(path, **choice))


def _load(source: RowSource) -> ArrayRows:
    with source:
        loaded = ArrayRows(source.read(0, source.shape[0]))
        loaded.feature_names, loaded.labels = source.feature_names, source.labels
        loaded.row_ids, loaded.image_shape = source.row_ids, source.image_shape
        loaded.origin = source
        return loaded


def find_machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    found = machine_memory()
    return ASSUMED_MEMORY if math.isinf(found) else int(found)

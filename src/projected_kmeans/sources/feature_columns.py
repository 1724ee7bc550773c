"""Which columns are the features: named columns of a file, or columns of a source by index."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import scipy

from projected_kmeans.messages import suggest
from projected_kmeans.sources.protocol import Rows, RowSource, SourceDefaults, UnreadableFile

# An error lists the first 8 names and says how many more there are.
N_LISTED = 8


def choose_columns(
    names: Sequence[str] | None,
    columns: Sequence[str] | None,
    drop: Sequence[str] | None,
    where: str,
) -> list[int] | None:
    """Return the indices of the chosen columns in the order of the choice, or None for all.

    Only names are compared; the reader of a format checks that a column holds numbers. `names` is
    None for a file without names.
    """
    if columns is None and drop is None:
        return None
    if columns is not None and drop is not None:
        raise UnreadableFile(f"columns and drop both choose from {where}; give one of them")
    asked = list(columns if columns is not None else drop or ())
    if names is None:
        raise UnreadableFile(
            f"{where} has no column names, so {asked[0]!r} cannot be found; leave out columns and "
            "drop"
        )
    missing = [name for name in asked if name not in names]
    if missing:
        advice = suggest(missing[0], names, f"choose among {list_names(names)}")
        raise UnreadableFile(f"{where} has no column {missing[0]!r}; {advice}")
    if columns is not None:
        kept = [names.index(name) for name in columns]
    else:
        kept = [index for index, name in enumerate(names) if name not in asked]
    if not kept:
        raise UnreadableFile(f"no column of {where} is left; keep at least one")
    return kept


def list_names(names: Sequence[str]) -> str:
    """Return names for an error: all of them, or the first 8 and the number of the others."""
    shown = ", ".join(names[:N_LISTED])
    more = len(names) - N_LISTED
    return f"{shown} and {more} more" if more > 0 else shown


class ChosenColumns(SourceDefaults):
    """A row source with some of the columns of another, in the order of their indices here.

    All columns are read and some are kept. A file that is opened with ``columns=`` reads only
    those, if its format can.
    """

    def __init__(self, source: RowSource, columns: Sequence[int]) -> None:
        self.source, self.columns = source, tuple(columns)
        self.shape = (source.shape[0], len(self.columns))
        self.dtype, self.sparse = source.dtype, source.sparse
        self.forward_only, self.labels = source.forward_only, source.labels
        names = source.feature_names
        self.feature_names = None if names is None else tuple(names[i] for i in self.columns)

    def read(self, start: int, stop: int) -> Rows:
        """Return the chosen columns of the rows start, ..., stop - 1."""
        rows = self.source.read(start, stop)[:, list(self.columns)]
        if not self.sparse:
            return np.ascontiguousarray(rows)
        chosen = scipy.sparse.csr_array(rows)
        chosen.sort_indices()
        return chosen

    def identity(self) -> str:
        """Return a fingerprint of the source and the choice."""
        return hashlib.sha256(f"{self.source.identity()} {self.columns}".encode()).hexdigest()

    def close(self) -> None:
        """Close the source."""
        self.source.close()

"""Which of the named columns of a file are the features.

Only names are compared here; the reader of a format checks that a column holds numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from projected_kmeans.messages import suggest
from projected_kmeans.sources.protocol import UnreadableFile

# An error lists the first 8 names and says how many more there are.
N_LISTED = 8


def choose_columns(
    names: Sequence[str] | None,
    columns: Sequence[str] | None,
    drop: Sequence[str] | None,
    where: str,
) -> list[int] | None:
    """Return the indices of the chosen columns in the order of the choice, or None for all.

    Parameters
    ----------
    names : sequence of str or None
        The names in the file; None if it has no names.
    columns, drop : sequence of str or None
        The names to keep, in this order, or the names to leave out.
    where : str
        What an error calls the file.

    Examples
    --------
    >>> choose_columns(["id", "width", "height"], None, ["id"], "table.csv")
    [1, 2]
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

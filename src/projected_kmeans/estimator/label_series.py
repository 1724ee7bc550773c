"""Labels in the form of the data that they belong to: a Series for a table, else an array.

Imports neither pandas nor polars: if the caller gave a table, its package is already imported.
"""

from __future__ import annotations

import sys
from typing import Any

from projected_kmeans.results import Labels
from projected_kmeans.sources.protocol import is_row_source

SERIES_NAME = "label"


def label_like(labels: Labels, X: Any) -> Any:
    """Return labels as a pandas or polars Series if X is a DataFrame, else unchanged.

    Parameters
    ----------
    labels : ndarray of int32 (n,)
        One for each row of X.
    X : object
        The rows. The Series takes its index if it is a pandas DataFrame.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> table = pd.DataFrame({"x": [0.0, 9.0]}, index=["a", "b"])
    >>> label_like(np.array([1, 0], dtype=np.int32), table).to_dict()
    {'a': 1, 'b': 0}
    """
    if _is_frame(X, "pandas"):
        return sys.modules["pandas"].Series(labels, index=X.index, name=SERIES_NAME)
    if _is_frame(X, "polars"):
        return sys.modules["polars"].Series(SERIES_NAME, labels)
    return labels


def index_of(X: Any) -> Any:
    """Return what identifies the rows: the index of a pandas DataFrame, the ids of a row source.

    None if nothing does.
    """
    if is_row_source(X):
        return X.row_ids
    return X.index if _is_frame(X, "pandas") else None


def is_polars(X: Any) -> bool:
    """Return whether X is a DataFrame of polars."""
    return _is_frame(X, "polars")


def _is_frame(X: Any, package: str) -> bool:
    kind = getattr(sys.modules.get(package), "DataFrame", None)
    return kind is not None and isinstance(X, kind)

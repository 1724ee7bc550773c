"""Labels in the shape of the data that they are for: a Series for a table, else an array.

Imports no table package: where a table was handed over, its package is there.
"""

from __future__ import annotations

import sys
from typing import Any

from projected_kmeans.results import Labels

NAME = "label"


def label_like(labels: Labels, X: Any) -> Any:
    """Return labels as a pandas or polars Series where X is a DataFrame, else as they are.

    Parameters
    ----------
    labels : ndarray of int32 (n,)
        One for each row of X.
    X : object
        Where rows came from; of a pandas DataFrame the Series has the index.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> table = pd.DataFrame({"x": [0.0, 9.0]}, index=["a", "b"])
    >>> label_like(np.array([1, 0], dtype=np.int32), table).to_dict()
    {'a': 1, 'b': 0}
    """
    if _is_frame(X, "pandas"):
        return sys.modules["pandas"].Series(labels, index=X.index, name=NAME)
    if _is_frame(X, "polars"):
        return sys.modules["polars"].Series(NAME, labels)
    return labels


def _is_frame(X: Any, package: str) -> bool:
    kind = getattr(sys.modules.get(package), "DataFrame", None)
    return kind is not None and isinstance(X, kind)

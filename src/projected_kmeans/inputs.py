"""READ: what a caller passed to an estimator as rows, opened as blocks.

Arrays are checked, row sources are not read; names and numbers of columns are set or compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from projected_kmeans.blocks import MemoryBlocks, open_blocks
from projected_kmeans.parameters import check_rows
from projected_kmeans.row_sources import RowSource, is_row_source
from projected_kmeans.stored_blocks import StoredBlocks


def open_input(estimator: Any, X: Any, *, reset: bool) -> MemoryBlocks | StoredBlocks:
    """Return the block source of an array, of sparse rows, or of a row source.

    Sets or checks the number and names of features. Does not look for NaN: a walk does.
    """
    if not is_row_source(X):
        return open_blocks(check_rows(estimator, X, reset=reset, accept_sparse=True))
    if reset:
        _set_features(estimator, X)
    else:
        _check_features(estimator, X)
    return StoredBlocks(X)


def _set_features(estimator: Any, source: RowSource) -> None:
    estimator.n_features_in_ = source.shape[1]
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.array(source.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _check_features(estimator: Any, source: RowSource) -> None:
    """Raise where columns are more, fewer or called otherwise; data without names is taken."""
    expected, found = estimator.n_features_in_, source.shape[1]
    if found != expected:
        raise ValueError(
            f"X has {found} features, but {type(estimator).__name__} is expecting {expected} "
            "features as input; give the columns of the fit"
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or source.feature_names is None:
        return
    for column, (name, other) in enumerate(zip(names, source.feature_names, strict=True), start=1):
        if name != other:
            raise ValueError(
                f"X has {other!r} in column {column} where the model has {name!r}; give the "
                "columns of the fit in the same order"
            )

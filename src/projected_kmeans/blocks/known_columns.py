"""READ: columns of new rows found by their names, in the order in which a model knows them.

A model whose rows had column names takes tables and files in which these columns stand in another
order or beside others. Rows without names are taken as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import _get_feature_names

from projected_kmeans.messages import suggest
from projected_kmeans.sources.feature_columns import ChosenColumns, list_names
from projected_kmeans.sources.protocol import is_row_source

# The packages whose data frames give a list of columns in square brackets; others have `select`.
INDEXED = ("pandas", "dask", "dask_expr")


def take_known_columns(estimator: BaseEstimator, X: Any) -> Any:
    """Return new rows with the columns of the fit, in its order.

    Other columns are left out with a warning. A missing one raises a ValueError. Without names in
    the fit, rows of any kind are returned as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> model = BaseEstimator()
    >>> model.feature_names_in_ = ["width", "height"]
    >>> take_known_columns(model, pd.DataFrame({"height": [1], "width": [2]})).columns.tolist()
    ['width', 'height']
    """
    known = vars(estimator).get("feature_names_in_")
    given = None if known is None else _names_of(X)
    if known is None or given is None or list(known) == given or len(set(given)) < len(given):
        return X
    others = find_others([str(name) for name in known], given, "X")
    if others:
        warnings.warn(
            f"X has columns that the model does not know ({list_names(others)}); they are ignored",
            UserWarning,
            stacklevel=4,
        )
    if is_row_source(X):
        return ChosenColumns(X, [given.index(name) for name in known])
    package = type(X).__module__.partition(".")[0]
    return X[list(known)] if package in INDEXED else X.select(list(known))


def find_others(known: Sequence[str], given: Sequence[str], where: str) -> list[str]:
    """Return the given names that a model does not know; raise if one that it knows is missing.

    Examples
    --------
    >>> find_others(["width"], ["id", "width"], "X")
    ['id']
    """
    missing = [name for name in known if name not in given]
    if missing:
        many = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        advice = suggest(missing[0], given, f"it has {list_names(given)}")
        raise ValueError(
            f"{where} has no column {missing[0]!r}{many}, which the model was fitted to; {advice}"
        )
    return [name for name in given if name not in set(known)]


def _names_of(X: Any) -> list[str] | None:
    """Return the names of columns if all of them are text, else None."""
    if is_row_source(X):
        return None if X.feature_names is None else list(X.feature_names)
    if type(X).__module__.partition(".")[0] in INDEXED[1:]:
        names = list(getattr(X, "columns", ()))
        return names if names and all(isinstance(name, str) for name in names) else None
    found = _get_feature_names(X)
    return None if found is None else [str(name) for name in found]

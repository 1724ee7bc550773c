"""READ: what the user passed to an estimator as rows or weights, checked and opened as blocks.

The number and the names of the columns are noted in a fit and compared later. Arrays are checked
here except for NaN and infinity, which a walk finds. Row sources are not read, and rows on Dask are
computed only if they have to be counted. A model whose rows had column names takes tables and files
in which these columns stand in another order or beside others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    _get_feature_names,
    check_array,
    validate_data,
)

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.element_types import as_native, as_native_sparse
from projected_kmeans.blocks.holes import NO_ROWS, Holes, find_holes, leave_out
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.messages import suggest
from projected_kmeans.results import Floats
from projected_kmeans.sources.feature_columns import ChosenColumns, list_names
from projected_kmeans.sources.mapped_files import check_file, watch
from projected_kmeans.sources.protocol import is_row_source, refuse_path

if TYPE_CHECKING:
    from projected_kmeans.blocks.dask.blocks import DaskBlocks

# The packages that define Dask's arrays and data frames.
DASK_PACKAGES = ("dask", "dask_expr")
# Those whose data frames give a list of columns in square brackets; others have `select`.
INDEXED = ("pandas", *DASK_PACKAGES)


def is_dask(data: Any) -> bool:
    """Return whether data is a Dask array or data frame, without importing dask."""
    return type(data).__module__.partition(".")[0] in DASK_PACKAGES


def open_input(estimator: BaseEstimator, X: Any, *, reset: bool, client: Any = None) -> BlockSource:
    """Return the block source of what the user passed as X.

    NaN and infinity are not looked for; a walk finds them. With ``reset``, as in a fit, the number
    and the names of columns are noted in the estimator. After a fit they are compared with it, and
    columns are found by their names if there are any. A client names the cluster that computes.
    """
    refuse_path(X)
    X = X if reset else take_known_columns(estimator, X)
    if is_dask(X):
        from projected_kmeans.blocks.dask.collections import open_collection

        found: DaskBlocks | StoredBlocks = open_collection(X, client)
    elif not is_row_source(X):
        if client is not None:
            raise ValueError(
                f"client is given with X in memory, of type {type(X).__name__}; give a Dask array, "
                "a Dask data frame or a row source, or no client"
            )
        return open_blocks(check_rows(estimator, X, reset=reset, accept_sparse=True))
    elif client is not None:
        from projected_kmeans.blocks.dask.blocks import open_source

        found = open_source(X, client)
    else:
        found = StoredBlocks(X)
    if not reset:
        check_features(estimator, found.shape[1])
        return found
    estimator.n_features_in_ = found.shape[1]
    if found.feature_names is not None:
        estimator.feature_names_in_ = np.array(found.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return found


def take_known_columns(estimator: BaseEstimator, X: Any) -> Any:
    """Return new rows with the columns of the fit, in its order.

    Other columns are left out with a warning. A missing one raises a ValueError. Without names in
    the fit, rows of any kind are returned as they are.
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
    """Return the given names that a model does not know; raise if one that it knows is missing."""
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
    if is_dask(X):
        names = list(getattr(X, "columns", ()))
        return names if names and all(isinstance(name, str) for name in names) else None
    found = _get_feature_names(X)
    return None if found is None else [str(name) for name in found]


class CompleteInput(NamedTuple):
    """What the user passed, without rows that have a hole: complete rows and their weights."""

    rows: BlockSource
    weights: Floats | None  # None if every row counts once
    given: BlockSource  # all rows
    holes: Holes  # which of them are left out


def skip_holes(
    given: BlockSource,
    sample_weight: Any,
    on_missing: str,
    client: Any = None,
    *,
    may_be_empty: bool = False,
) -> CompleteInput:
    """Return rows and weights; with ``on_missing="skip"`` those of the complete rows.

    A row also has a hole if its weight is NaN. Rows that are read from elsewhere are read once more
    to find holes. Raises if no row is complete, unless there may be none.
    """
    rows, holes = given, Holes(NO_ROWS, given.shape[0])
    if on_missing == "skip":
        holes = find_holes(given)
        if sample_weight is not None:
            if is_dask(sample_weight):
                from projected_kmeans.blocks.dask.collections import bring

                sample_weight = bring(sample_weight, client)
            numbers = np.asarray(sample_weight, dtype=np.float64)
            checked = check_weights(np.nan_to_num(numbers, nan=0.0, posinf=np.inf), given)
            if numbers.shape == (holes.n_rows,):
                holes = holes.add(np.isnan(numbers))
            sample_weight = None if checked is None else checked[holes.complete]
        rows = leave_out(given, holes)
    if not rows.shape[0] and not may_be_empty:
        raise ValueError(
            f"all {holes.n_rows} rows of X have a hole (NaN), so that none is left; fill the "
            "holes, or leave out the columns that have them"
        )
    weights = check_weights(sample_weight, rows, client) if rows.shape[0] else None
    return CompleteInput(rows, weights, given, holes)


def check_features(estimator: BaseEstimator, n_features: int) -> None:
    """Raise unless there are as many columns as in the fit; `take_known_columns` sees to names."""
    expected = estimator.n_features_in_
    if n_features != expected:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting {expected} "
            "features as input; use the columns of the fit"
        )


def check_rows(
    estimator: BaseEstimator, X: ArrayLike, *, reset: bool, accept_sparse: bool = False
) -> Any:
    """Return X as an array or CSR rows that kernels read, without a copy if its type allows.

    NaN and infinity are not looked for; a walk finds them. Parameters are those of `open_input`.
    """
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    if len(shape) != 2:
        raise ValueError(
            f"X has {len(shape)} dimension(s), shape {shape}; Reshape your data to two dimensions: "
            "X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a single row"
        )
    rows = validate_data(
        estimator,
        as_native_sparse(X) if scipy.sparse.issparse(X) else watch(X),
        reset=reset,
        dtype="numeric",
        ensure_all_finite=False,
        order=None,
        accept_sparse="csr" if accept_sparse else False,
    )
    found = rows if scipy.sparse.issparse(rows) else as_native(rows)
    check_file(X)
    return found


def as_native_rows(X: ArrayLike) -> Any:
    """Return X as `check_rows` does, for functions that have no estimator whose columns count."""
    if scipy.sparse.issparse(X):
        X = as_native_sparse(X)
    rows = check_array(watch(X), accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    found = rows if scipy.sparse.issparse(rows) else as_native(rows)
    check_file(X)
    return found


def check_weights(sample_weight: Any, X: Any, client: Any = None) -> Floats | None:
    """Return the weights of the rows of X as float64, or None if every row counts once."""
    if sample_weight is None:
        return None
    if is_dask(sample_weight):
        from projected_kmeans.blocks.dask.collections import bring

        sample_weight = bring(sample_weight, client)
    weights: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.max() < 1e300 / len(weights):
        raise ValueError(
            f"sample_weight has entries up to {weights.max():.3g}, so that sums overflow; divide "
            "it by a large constant"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; give at least one row a weight")
    return np.require(weights, requirements=["C", "A", "E"])  # aligned, as kernels need it

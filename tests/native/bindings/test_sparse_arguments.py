"""Broken sparse rows are refused before any pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from projected_kmeans import _native
from tests.support.sparse_rows import both_forms


def call_nearest_center(block: Any, **changes: Any) -> None:
    """Call the assignment of sparse rows with right arguments but for the changes."""
    arguments = {
        "origin": np.zeros(3),
        "scale": 1.0,
        "centers": np.eye(2, 3),
        "exact_centers": np.eye(2, 3),
        "keep_ties": False,
        "labels": np.zeros(4, np.int32),
        "nearest": np.empty(4),
        "second": np.empty(4),
        "n_threads": 1,
    }
    _native.nearest_center(block, **(arguments | changes))


class Parts:
    """What a CSR array consists of, right or wrong."""

    def __init__(self, **changes: Any) -> None:
        rows = both_forms(np.arange(12.0).reshape(4, 3)).sparse
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": (4, 3)}
        for name, value in (parts | changes).items():
            setattr(self, name, value)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"indices": np.array([1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 3], np.int32)}, ValueError),
        ({"indices": np.array([1, 1, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ValueError),
        ({"indices": np.array([-1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)}, ValueError),
        ({"indptr": np.array([0, 2, 5, 8, 10], np.int32)}, ValueError),
        ({"indptr": np.array([0, 5, 2, 8, 11], np.int32)}, ValueError),
        ({"shape": (5, 3)}, ValueError),
        ({"shape": (4, 2)}, ValueError),
        ({"data": np.arange(1, 12)}, TypeError),
        ({"data": np.arange(1, 12, dtype=np.float32)}, TypeError),
        ({"indices": np.arange(11.0)}, TypeError),
        ({"indptr": np.array([0, 2, 5, 8, 11])}, TypeError),
        ({"shape": None}, TypeError),
    ],
)
def test_broken_sparse_rows_are_refused(changes: dict[str, Any], error: type) -> None:
    """Parts that do not fit together are refused before any pass."""
    call_nearest_center(Parts())
    with pytest.raises(error):
        call_nearest_center(Parts(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_hashed": 0},
        {"n_hashed": 2**30 + 1},
        {"values": np.empty(10)},
        {"columns": np.empty(12, np.int32)},
        {"starts": np.empty(4, np.int64)},
    ],
)
def test_hashing_refuses_wrong_sizes(changes: dict[str, Any]) -> None:
    """Results without room for every nonzero, and impossible numbers of columns, are refused."""

    def call(**changes: Any) -> None:
        arguments = {
            "block": Parts(),
            "key": 0,
            "n_hashed": 2,
            "values": np.empty(11),
            "columns": np.empty(11, np.int32),
            "starts": np.empty(5, np.int64),
            "n_threads": 1,
        }
        _native.hash_columns(**(arguments | changes))

    call()
    with pytest.raises(ValueError, match=r"room|starts|hashed"):
        call(**changes)

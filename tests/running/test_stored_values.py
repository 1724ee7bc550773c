"""Frozen values become parts of a checkpoint, and come back equal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.running.part_files import Part
from projected_kmeans.running.stored_values import decode_value, encode_value


@dataclass(frozen=True)
class Inner:
    """A value within another."""

    rows: NDArray[np.float64]
    history: tuple[float, ...]


@dataclass(frozen=True)
class Outer:
    """Fields of every kind that steps store."""

    count: int
    name: str
    inner: Inner
    maybe: Inner | None
    done: bool


@pytest.mark.parametrize("maybe", [None, Inner(np.zeros(0), ())])
def test_nested_values_come_back(maybe: Inner | None) -> None:
    """Arrays, tuples, optional values and plain ones are as they were, after JSON too."""
    value = Outer(3, "x", Inner(np.array([0.1, -0.0]), (0.1, 1e300)), maybe, True)
    part = encode_value(value)
    stored = Part(json.loads(json.dumps(part.document)), part.arrays)
    found = decode_value(Outer, stored)
    assert (found.count, found.name, found.done) == (3, "x", True)
    assert found.inner.history == (0.1, 1e300)
    assert found.inner.rows.tobytes() == value.inner.rows.tobytes()
    assert (found.maybe is None) == (maybe is None)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(float, np.float64(0.1)), (int, 7), (str, "word"), (type(None), None), (tuple, (1, 2))],
)
def test_plain_values_come_back(kind: type[Any], value: Any) -> None:
    """A number, a text, nothing and a tuple need no dataclass around them."""
    part = encode_value(value)
    stored = Part(json.loads(json.dumps(part.document)), part.arrays)
    assert decode_value(kind, stored) == value


def test_an_array_comes_back() -> None:
    """An array needs no dataclass either; further entries of the document do not disturb it."""
    part = encode_value(np.arange(4), owner="restart-0")
    assert part.document == {"value": "array-0", "owner": "restart-0"}
    np.testing.assert_array_equal(decode_value(np.ndarray, part), np.arange(4))

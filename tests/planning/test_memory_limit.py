"""Limits of memory as users write them."""

from __future__ import annotations

from typing import Any

import pytest

from projected_kmeans.planning.memory_limit import parse_memory


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, None),
        (5000, 5000),
        ("5000", 5000),
        ("5000B", 5000),
        ("500MB", 500 * 10**6),
        ("2GiB", 2 * 2**30),
        (" 1.5 gb ", 1_500_000_000),
        ("64kib", 65_536),
    ],
)
def test_sizes_are_read(limit: Any, expected: int | None) -> None:
    """Bytes, decimal units and binary units are read, in upper and lower case."""
    assert parse_memory(limit) == expected


@pytest.mark.parametrize("limit", ["much", "0MB", "-1GB", "5 apples", "", "1e9"])
def test_bad_texts_are_refused(limit: str) -> None:
    """A text that is not a size gives one sentence."""
    with pytest.raises(ValueError, match="is not a size; use bytes or a text such as '500MB'"):
        parse_memory(limit)


@pytest.mark.parametrize(("limit", "error"), [(0, ValueError), (2.5, TypeError)])
def test_bad_numbers_are_refused(limit: Any, error: type[Exception]) -> None:
    """A number must be an integer of at least 1."""
    with pytest.raises(error, match="memory_limit="):
        parse_memory(limit)

"""Frozen values as parts of a checkpoint, and back, by the codec of `documents`.

A part holds the value under "value" in its JSON document, where each array is named; the arrays
themselves follow the document.
"""

from __future__ import annotations

from typing import Any, TypeVar

from projected_kmeans.documents import Sizes, join_arrays, split_arrays
from projected_kmeans.running.part_files import Part

Value = TypeVar("Value")


def encode_value(value: Any, **document: Any) -> Part:
    """Return a part that holds a value, and further entries of its document."""
    split = split_arrays(value)
    return Part({"value": split.document, **document}, split.arrays)


def decode_value(kind: type[Value], part: Part, sizes: Sizes | None = None) -> Value:
    """Return the value of a type that `encode_value` wrote into a part.

    Examples
    --------
    >>> decode_value(float, encode_value(0.5))
    0.5
    """
    return join_arrays(kind, part.document.get("value"), part.arrays, "the checkpoint", sizes)

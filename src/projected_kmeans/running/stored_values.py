"""Frozen values as parts of a checkpoint, and back.

An array is stored under the path of its field, a dataclass field by field, everything else in the
part's JSON document.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from projected_kmeans.running.checkpoint_folder import Part

Value = TypeVar("Value")


def encode_value(value: Any, **document: Any) -> Part:
    """Return a part that holds a value, and further entries of its document."""
    part = Part(document)
    _encode(value, part, "")
    return part


def decode_value(kind: type[Value], part: Part) -> Value:
    """Return the value of a type that `encode_value` wrote into a part.

    Examples
    --------
    >>> decode_value(float, encode_value(0.5))
    0.5
    """
    found: Value = _decode(kind, part, "")
    return found


def _encode(value: Any, part: Part, path: str) -> None:
    if isinstance(value, np.ndarray):
        part.arrays[path] = value
    elif is_dataclass(value):
        for each in fields(value):
            _encode(getattr(value, each.name), part, f"{path}/{each.name}")
    else:
        part.document[path] = value.item() if isinstance(value, np.generic) else value


def _decode(kind: Any, part: Part, path: str) -> Any:
    if path in part.arrays:
        return part.arrays[path]
    if path in part.document:
        value = part.document[path]
        return tuple(value) if isinstance(value, list) else value
    kind = next(one for one in (kind, *get_args(kind)) if is_dataclass(one))  # X | None has both
    values = {
        name: _decode(hint, part, f"{path}/{name}") for name, hint in get_type_hints(kind).items()
    }
    return kind(**values)

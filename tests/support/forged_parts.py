"""Rewrite parts of a checkpoint, so that their content is another and their checksum still fits."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

DIGEST_BYTES = 32  # of SHA-256, at the end of a part

Change = Callable[[dict[str, Any], dict[str, np.ndarray]], object]

# What a document may hold in place of any of its values.
HOSTILE = (10**400, -1, True, None, "", "x" * 999, [], {}, 2**63, 1e308, [[[]]], {"a": 1})


def forge(path: Path, change: Change) -> None:
    """Change the header and the arrays of a part, and write it with a fitting checksum."""
    content = path.read_bytes()[:-DIGEST_BYTES]
    line, _, rest = content.partition(b"\n")
    header, handle = json.loads(line), io.BytesIO(rest)
    arrays = {name: npy.read_array(handle) for name in header["arrays"]}
    change(header, arrays)
    out = io.BytesIO()
    out.write(json.dumps(header).encode() + b"\n")
    for array in arrays.values():
        npy.write_array(out, array, allow_pickle=False)
    written = out.getvalue()
    path.write_bytes(written + hashlib.sha256(written).digest())


def places_of(document: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    pairs: Any = ()
    if isinstance(document, dict):
        pairs = document.items()
    elif isinstance(document, list):
        pairs = enumerate(document)
    for key, value in pairs:
        yield (key,)
        for rest in places_of(value):
            yield key, *rest


def set_value(document: Any, place: tuple[Any, ...], value: Any) -> None:
    """Replace the value at a path."""
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = value


def damage_array(array: np.ndarray, how: str) -> np.ndarray:
    """Return an array that cannot be what was stored."""
    if how == "dtype":
        return array.astype(np.complex128)
    if how == "shape":
        return array[None]
    if how == "short":
        return array[:-1]
    fills = {"huge": 2**31 - 1, "negative": -5} if array.dtype.kind == "i" else {}
    changed = array.copy()
    changed.flat[:1] = fills.get(how, np.nan if array.dtype.kind == "f" else 0)
    return changed

"""One part of a checkpoint as a file: a JSON document, its arrays, and a checksum of both.

What a part says is read only if the checksum is right, and each step of reading checks what it
finds. A part that cannot be read is `DamagedPart`, whatever is wrong with it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from projected_kmeans.documents import Sizes, join_arrays, quote, split_arrays
from projected_kmeans.output_files import Hashing, write_atomically

Value = TypeVar("Value")

FORMAT = "projected_kmeans checkpoint"
FORMAT_VERSION = 4

DIGEST_BYTES = 32
PIECE_BYTES = 2**20

# What NumPy's reader of ``.npy`` raises for bytes that are no array.
NO_ARRAY = (
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    TokenError,
    EOFError,
    OverflowError,
    RecursionError,
    MemoryError,
)


@dataclass(frozen=True)
class Part:
    """A document of values that JSON can hold, and arrays by name."""

    document: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, owner: str | None = None) -> Part:
        """Return a part that holds a frozen value of an owner."""
        split = split_arrays(value)
        return cls({"value": split.document, "owner": owner}, split.arrays)

    def value(self, kind: type[Value], sizes: Sizes | None = None) -> Value:
        """Return the value of a type that `of` put into the part; raise if it is no such value."""
        return join_arrays(kind, self.document.get("value"), self.arrays, "the checkpoint", sizes)


class DamagedPart(Exception):
    """A part ends early, or its bytes are not those that were written."""


class OtherVersion(ValueError):
    """A part was written in another format version."""


def write_part(path: Path, run: str, part: Part) -> None:
    """Write a part of a run, which is named by its hash, completely or not at all."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "run": run,
        "document": part.document,
        "arrays": list(part.arrays),
    }

    def write(handle: BinaryIO) -> None:
        hashing: Any = Hashing(handle)
        hashing.write(json.dumps(header).encode() + b"\n")
        for array in part.arrays.values():
            npy.write_array(hashing, np.ascontiguousarray(array), allow_pickle=False)
        handle.write(hashing.digest.digest())

    write_atomically(path, write)


def read_part(path: Path) -> tuple[str, Part]:
    """Return the hash of a part's run, and the part; raise `DamagedPart` if bytes have changed."""
    with open(path, "rb") as handle:
        _check_digest(handle)
        handle.seek(0)
        try:
            header = json.loads(handle.readline())
            found = header["format_version"]
            names, run, document = header["arrays"], header["run"], header["document"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DamagedPart from None
        if found != FORMAT_VERSION:
            raise OtherVersion(
                f"{path} has format version {quote(found)} and this package "
                f"reads {FORMAT_VERSION}; use another folder, or the package that wrote it"
            )
        if not (isinstance(document, dict) and isinstance(names, list)):
            raise DamagedPart
        try:
            return run, Part(document, {str(name): _read_array(handle) for name in names})
        except NO_ARRAY:
            raise DamagedPart from None


def _read_array(handle: BinaryIO) -> NDArray[Any]:
    """Read an array; raise if it claims to be larger than what is left of the file."""
    begin = handle.tell()
    version = npy.read_magic(handle)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read_header(handle)
    left = os.fstat(handle.fileno()).st_size - DIGEST_BYTES - handle.tell()
    if math.prod(shape) * dtype.itemsize > left or min(shape, default=0) < 0:
        raise DamagedPart
    handle.seek(begin)
    return npy.read_array(handle, allow_pickle=False)


def _check_digest(handle: BinaryIO) -> None:
    left = os.fstat(handle.fileno()).st_size - DIGEST_BYTES
    digest = hashlib.sha256()
    while left > 0:
        piece = handle.read(min(left, PIECE_BYTES))
        digest.update(piece)
        left -= len(piece)
        if not piece:
            break
    if left or handle.read() != digest.digest():
        raise DamagedPart

"""Files that are mapped into memory, watched for parts that vanish while they are read.

Another process may shorten a mapped file, or its disk may fail. Reading the lost part would end the
process by the signal SIGBUS. For files that are watched here, the native module puts zeros in place
of the lost part and notes it (src/native/bindings/mapped_files.cpp). Whoever has used rows of a
mapped file calls `check_file` before the result is handed on.
"""

from __future__ import annotations

import mmap
import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.sources.protocol import UnreadableFile
from projected_kmeans.sources.row_layout import is_sparse

Given = TypeVar("Given")


@dataclass(frozen=True)
class Mapping:
    """A mapped file: its path, as far as it is known, and its size when it was mapped."""

    path: str
    n_bytes: int


# Mappings by their numbers: those that exist, and those that ended after a part of them was lost.
_watched: dict[int, Mapping] = {}
_lost: dict[int, Mapping] = {}

# The numbers of mappings by the `id` of the array that owns the mapping.
_owners: dict[int, int] = {}


def map_file(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of a file as a memory map that can be read only, and watch it."""
    return watch(np.memmap(path, np.uint8, mode="r"))


def watch(array: Given) -> Given:
    """Watch the file that an array is mapped from; return the array.

    The watch ends when the array that owns the mapping ends. Does nothing for other arrays, and
    for files that are watched already.
    """
    owner: Any = array  # at the end of the loop the array that owns the mapping, or None
    while owner is not None:
        if isinstance(owner, np.memmap) and isinstance(owner.base, mmap.mmap):
            break
        owner = owner.base if isinstance(owner, np.ndarray) else None
    if owner is None or id(owner) in _owners:
        return array
    content = np.frombuffer(owner._mmap, np.uint8)
    number = _native.watch_mapping(content.__array_interface__["data"][0], content.nbytes)
    path = "the mapped file" if owner.filename is None else str(owner.filename)
    begin = owner.offset - owner.offset % mmap.ALLOCATIONGRANULARITY
    _watched[number] = Mapping(path, begin + content.nbytes)
    _owners[id(owner)] = number
    # The callback runs before the memory of the array ends, so the address is not used again yet.
    weakref.finalize(owner, _forget, number, id(owner)).atexit = False
    return array


@dataclass(frozen=True)
class MappedArray:
    """Where in a file an array lies; it is pickled in place of the array."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def open(self) -> NDArray[Any]:
        """Return the array as a read-only view of the file; raise if the file is too short."""
        if self.dtype.hasobject or any(extent < 0 for extent in self.shape):
            raise ValueError(f"its header says shape {self.shape} of type {self.dtype}")
        content = map_file(self.path)
        extents = zip(self.shape, self.strides, strict=True)
        last = sum((extent - 1) * stride for extent, stride in extents) + self.dtype.itemsize
        if 0 not in self.shape and self.offset + last > len(content):
            raise ValueError(
                f"it has {len(content)} bytes where its header says {self.offset + last}"
            )
        return np.ndarray(self.shape, self.dtype, content, self.offset, self.strides)

    def load(self) -> NDArray[Any]:
        """Return a copy of the array in memory."""
        mapped = self.open()
        copy = mapped.copy()
        check_file(mapped)
        return copy


def mapping_of(rows: Any) -> int:
    """Return the number of the watched mapping in which rows lie, or 0 if they lie in none."""
    if not _watched:
        return 0
    values = rows
    if is_sparse(rows):
        if values.format == "dok":  # a dictionary, which lies in no file
            return 0
        values = values.data
    if not isinstance(values, np.ndarray) or values.base is None or not values.size:
        return 0
    return _native.mapping_at(values.__array_interface__["data"][0])


def check_mapping(number: int) -> None:
    """Raise if a part of a mapping was lost; the number is from `mapping_of`."""
    mapping = _lost.get(number)
    if mapping is None and number and _native.mapping_was_cut(number):
        mapping = _watched[number]
    if mapping is None:
        return
    size = os.stat(mapping.path).st_size if os.path.exists(mapping.path) else mapping.n_bytes
    what = (
        f"was shortened from {mapping.n_bytes} to {size} bytes while it was read"
        if size < mapping.n_bytes
        else "could not be read from its disk"
    )
    raise UnreadableFile(f"{mapping.path} {what}; write it again, and leave it as it is while used")


def check_file(rows: Any) -> None:
    """Raise if rows lie in a mapped file of which a part was lost; call it after using the rows."""
    number = mapping_of(rows)
    if number:
        check_mapping(number)


def _forget(number: int, owner: int) -> None:
    del _owners[owner]
    mapping = _watched.pop(number)
    if _native.forget_mapping(number):
        _lost[number] = mapping

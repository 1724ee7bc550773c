"""Zarr stores of versions 2 and 3, read by the zarr package; a store is a folder.

A codec is named by the store and found by the zarr package among all that is installed. Some of
them run code that the store brings along (pickle), so the metadata is searched before the zarr
package sees it, and only codecs on a list are let through.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.optional_packages import load_extra
from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.file_rows import HandleReader, LazyHandle
from projected_kmeans.sources.formats.archives import Archive, Variable
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix

# A folder with one of these files is a store: the first two in version 2, the last in version 3.
STORE_FILES = (".zarray", ".zgroup", "zarr.json")

# Chunks that are not stored hold one constant. Up to this many may be missing for each stored file.
# A damaged shape asks for far more: reading them takes for ever, and they are all the same.
MISSING_CHUNKS = 1000

METADATA_FILES = (".zarray", ".zgroup", ".zmetadata", "zarr.json")
# Larger metadata (64 MB) would be a fault: an array is described in one KB.
LONGEST_METADATA = 2**26
DEEPEST_GROUP = 32

KNOWN_CODECS = frozenset(
    (
        *("bytes", "endian", "transpose", "sharding_indexed"),
        *("blosc", "gzip", "zlib", "zstd", "lz4", "bz2", "lzma"),
        *("shuffle", "delta", "packbits", "bitround", "quantize", "fixedscaleoffset"),
        *("scale_offset", "cast_value", "astype"),
        *("crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"),
        *("vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2", "categorize", "base64"),
    )
)


class ZarrRows(HandleReader):
    """Reader of an array; its name is empty if the store itself is an array."""

    def __init__(self, archive: Archive, name: str) -> None:
        self._handle = LazyHandle(_open_array, archive.path, name)
        array = self._handle.get()
        where = f"{name or 'the array'} in {archive.path}"
        check_matrix(tuple(array.shape), np.dtype(array.dtype), where)
        _check_chunks(archive.path / name, array, where)
        self.shape: tuple[int, int] = tuple(array.shape)
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self.labels = archive.find_labels(self.shape[0])

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows of a range."""
        return np.asarray(self._handle.get()[start:stop])


def _check_chunks(folder: Path, array: Any, where: str) -> None:
    """Raise if the shape asks for so many chunks that hardly any of them can be stored."""
    sizes = zip(array.shape, array.shards or array.chunks, strict=True)
    needed = math.prod(-(-length // size) for length, size in sizes)
    enough = needed // MISSING_CHUNKS
    files = (path for path in folder.rglob("*") if path.is_file())
    n_files = sum(1 for _ in islice(files, min(enough, sys.maxsize)))
    if n_files < enough:
        raise UnreadableFile(
            f"{where} has {array.shape[0]} rows in {needed} chunks, and only {n_files} files; its "
            "shape is damaged, or hardly any row is stored: write it again"
        )


def list_zarr(path: Path) -> Archive:
    """Return the arrays of a store, in all its groups."""
    check_codecs(path)
    arrays = dict(_walk_arrays(_load_zarr(path), _open_array(path, ""), ""))
    if not arrays:
        raise UnreadableFile(f"{path} holds no array; save one under the name X")
    variables = [
        Variable(name, tuple(array.shape), "number" if _is_numeric(array) else "other")
        for name, array in sorted(arrays.items())
    ]
    return Archive(path, tuple(variables), _load_array)


def _open_reader(path: Path, choice: Choice) -> ZarrRows:
    archive = list_zarr(path)
    return ZarrRows(archive, archive.choose_matrix(choice.variable).name)


def _walk_arrays(zarr: Any, item: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the names and arrays of a group and of the groups in it."""
    if not isinstance(item, zarr.Group):
        yield name, item
        return
    for inner, array in item.arrays():
        yield f"{name}/{inner}".lstrip("/"), array
    for inner, group in item.groups():
        yield from _walk_arrays(zarr, group, f"{name}/{inner}")


def _is_numeric(array: Any) -> bool:
    return np.dtype(array.dtype).kind in "biufc"


def _load_zarr(path: Path) -> Any:
    return load_extra("zarr", "zarr", str(path))


def _open_array(path: Path, name: str) -> Any:
    zarr = _load_zarr(path)
    # A store of local files, whatever the path looks like: zarr takes some texts for addresses.
    store = load_extra("zarr.storage", "zarr", str(path)).LocalStore(path, read_only=True)
    root = zarr.open(store, mode="r")
    return root[name] if name else root


def _load_array(path: Path, name: str) -> NDArray[Any]:
    return np.asarray(_open_array(path, name)[...])


def check_codecs(store: Path) -> None:
    """Raise if any array of a store names a codec that is not on the list."""
    for file, document in _walk_metadata(store, DEEPEST_GROUP):
        for codec in _find_codecs(document):
            if str(codec).removeprefix("numcodecs.") not in KNOWN_CODECS:
                raise UnreadableFile(
                    f"{file} names the codec {str(codec)[:40]!r}, which is not known to be safe; "
                    "write the store with another one, such as zstd or blosc"
                )


def _walk_metadata(folder: Path, depth: int) -> Iterator[tuple[Path, Any]]:
    """Yield the metadata of a group, and of all groups and arrays in it."""
    kinds = set()
    for file in (folder / name for name in METADATA_FILES):
        if not file.is_file():
            continue
        if file.stat().st_size > LONGEST_METADATA:
            raise UnreadableFile(f"{file} has more than 64 MB of metadata; write the store again")
        document = json.loads(file.read_bytes())
        node = document.get("node_type") if isinstance(document, dict) else None
        kinds.add("array" if file.name == ".zarray" or node == "array" else "group")
        yield file, document
    if kinds == {"array"}:
        return  # folders of an array hold chunks
    if not depth:
        raise UnreadableFile(f"{folder} lies more than {DEEPEST_GROUP} groups deep; copy it out")
    for inner in folder.iterdir() if folder.is_dir() else ():
        if inner.is_dir():
            yield from _walk_metadata(inner, depth - 1)


def _find_codecs(document: Any) -> Iterator[Any]:
    """Yield the names of codecs in metadata of versions 2 and 3, also consolidated and nested."""
    if isinstance(document, list):
        for part in document:
            yield from _find_codecs(part)
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        if key == "attributes" or key.endswith(".zattrs"):
            continue  # what users wrote
        if key in ("compressor", "filters", "codecs", "index_codecs") and value is not None:
            for codec in value if isinstance(value, list) else [value]:
                yield codec.get("id", codec.get("name")) if isinstance(codec, dict) else codec
        yield from _find_codecs(value)


def _is_store(path: Path) -> bool:
    return any((path / name).is_file() for name in STORE_FILES)


ZARR = Format(
    (".zarr",),
    each_file(_open_reader),
    choices=("variable",),
    extra="zarr",
    is_store=_is_store,
    modules=("zarr",),
)

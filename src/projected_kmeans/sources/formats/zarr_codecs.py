"""Which codecs of a Zarr store may run, looked up in its metadata before the zarr package sees it.

A codec is named by the store and found by the zarr package among all that is installed. Some of
them run code that the store brings along (pickle), so only codecs on a list are let through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from projected_kmeans.sources.protocol import UnreadableFile

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
        for one in document:
            yield from _find_codecs(one)
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        if key == "attributes" or key.endswith(".zattrs"):
            continue  # what users wrote
        if key in ("compressor", "filters", "codecs", "index_codecs") and value is not None:
            for codec in value if isinstance(value, list) else [value]:
                yield codec.get("id", codec.get("name")) if isinstance(codec, dict) else codec
        yield from _find_codecs(value)

"""``.npz`` files of NumPy, and sparse matrices that SciPy writes as such.

An array that is not compressed is memory-mapped inside the archive; others are loaded whole.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from projected_kmeans.sources.file_format import Choice, Format, each_file
from projected_kmeans.sources.file_rows import Reader
from projected_kmeans.sources.formats.archives import Archive, LoadedRows, Variable
from projected_kmeans.sources.formats.npy import MappedRows, read_npy_header
from projected_kmeans.sources.mapped_files import MappedArray
from projected_kmeans.sources.memory import check_asked
from projected_kmeans.sources.protocol import UnreadableFile, check_matrix

# The arrays that scipy.sparse.save_npz writes for every sparse format, and the name under which
# the matrix that they describe is chosen here.
SPARSE_MEMBERS = {"format", "shape", "data"}
# The parts of CSR rows that were saved one by one, without a format.
CSR_MEMBERS = {"data", "indices", "indptr", "shape"}
SPARSE_PARTS = {*SPARSE_MEMBERS, *CSR_MEMBERS, "row", "col", "coords", "offsets", "_is_array"}
SPARSE_NAME = "the matrix"

# In a zip file, the header in front of a member has 30 bytes, then the member's name and an extra
# field, whose lengths are two integers of two bytes at byte 26.
ZIP_HEADER_BYTES = 30
ZIP_LENGTHS_AT = 26


def list_npz(path: Path) -> Archive:
    """Return the arrays of a ``.npz`` file; only their headers are read."""
    variables = []
    with zipfile.ZipFile(path) as members:
        for member in members.namelist():
            with members.open(member) as handle:
                shape, dtype, _ = read_npy_header(handle)
            kind = "number" if dtype.kind in "biufc" else "text" if dtype.kind == "U" else "other"
            variables.append(Variable(member.removesuffix(".npy"), shape, kind))
    names = {held.name for held in variables}
    if names >= SPARSE_MEMBERS or names >= CSR_MEMBERS:
        shape = tuple(_load_member(path, "shape").tolist())
        others = [held for held in variables if held.name not in SPARSE_PARTS]
        variables = [Variable(SPARSE_NAME, shape, "sparse"), *others]
    return Archive(path, tuple(variables), _load_member)


def _open_reader(path: Path, choice: Choice) -> Reader:
    archive = list_npz(path)
    chosen = archive.choose_matrix(choice.variable)
    if chosen.kind != "sparse":
        _check_sizes(path, chosen.name)
    mapped = None if chosen.kind == "sparse" else _find_member(path, chosen.name)
    if mapped is None:
        return LoadedRows(archive, chosen.name)
    check_matrix(mapped.shape, mapped.dtype, f"{chosen.name} in {path}")
    rows = MappedRows(mapped, archive.find_labels(mapped.shape[0]))
    rows.feature_names = archive.find_names(mapped.shape[1])
    return rows


def _load_member(path: Path, name: str) -> Any:
    if name == SPARSE_NAME:
        _check_sizes(path, None)
        return _load_sparse(path)
    _check_sizes(path, name)
    with np.load(path, allow_pickle=False) as arrays:
        return np.asarray(arrays[name])


def _load_sparse(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as arrays:
        if "format" not in arrays:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            return scipy.sparse.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    return scipy.sparse.load_npz(path)


def _check_sizes(path: Path, name: str | None) -> None:
    """Raise if an array, or all of them, claims more than its member holds or than memory has."""
    with zipfile.ZipFile(path) as members:
        for entry in members.infolist():
            if name is not None and entry.filename.removesuffix(".npy") != name:
                continue
            with members.open(entry) as handle:
                shape, dtype, _ = read_npy_header(handle)
                begin = handle.tell()
            n_bytes = math.prod(shape) * dtype.itemsize
            if begin + n_bytes > entry.file_size:
                raise UnreadableFile(
                    f"{entry.filename} in {path} has {entry.file_size} bytes where its header says "
                    f"{begin + n_bytes}; write the file again"
                )
            check_asked(n_bytes, path.stat().st_size, f"{entry.filename} in {path}")


def _find_member(path: Path, name: str) -> MappedArray | None:
    """Return where an array lies in the file, or None if it is compressed."""
    with zipfile.ZipFile(path) as members:
        entry = members.getinfo(name if name in members.namelist() else f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            return None
        with members.open(entry) as member:
            shape, dtype, strides = read_npy_header(member)
            in_member = member.tell()
    with open(path, "rb") as handle:
        # The lengths are read here because the directory at the end of the file may have others.
        handle.seek(entry.header_offset + ZIP_LENGTHS_AT)
        lengths = np.frombuffer(handle.read(4), "<u2")
    begin = entry.header_offset + ZIP_HEADER_BYTES + int(lengths.sum())
    return MappedArray(path, dtype, shape, strides, begin + in_member)


NPZ = Format(
    (".npz",),
    each_file(_open_reader),
    choices=("variable",),
    load_labels=lambda path: list_npz(path).load_labels(),
)

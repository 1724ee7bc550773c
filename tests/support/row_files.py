"""Write rows in every file format that can be read, with the packages that people use for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import scipy.io
import scipy.sparse
import zarr
from PIL import Image

STREAM = np.random.default_rng(7)
FLOATS = STREAM.normal(size=(9000, 5)) * 10.0 ** STREAM.integers(-30, 30, size=(9000, 5))
SINGLES = STREAM.normal(size=(9000, 5)).astype(np.float32)
BYTES = STREAM.integers(0, 256, size=(60, 12), dtype=np.uint8)
NAMES = ("a", "b", "c", "d", "e")
SPARSE = np.where(STREAM.random(size=(9000, 5)) < 0.4, FLOATS, 0)
SPARSE[0] = 1.5  # no column is empty, because svmlight counts columns by their nonzeros
FEW_SPARSE = SPARSE[:1500]  # for svmlight, whose text is slow to parse

# A small matrix, and labels of its rows, for tests of files that hold little else.
ROWS = np.arange(12, dtype=np.uint8).reshape(4, 3)
LABELS = np.array([0, 0, 1, 1], dtype=np.int32)


def save_npy(folder: Path, rows: np.ndarray) -> Path:
    """Write an array."""
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


def save_npz(folder: Path, save: Callable[..., None]) -> Path:
    """Write an archive of several arrays."""
    save(folder / "rows.npz", other=np.eye(3), X=SINGLES)
    return folder / "rows.npz"


def save_sparse_npz(folder: Path) -> Path:
    """Write sparse rows, by columns."""
    scipy.sparse.save_npz(folder / "rows.npz", scipy.sparse.csc_array(SPARSE))
    return folder / "rows.npz"


def save_mat(folder: Path, rows: Any) -> Path:
    """Write a MatLab file of version 5."""
    scipy.io.savemat(folder / "rows.mat", {"fea": rows})
    return folder / "rows.mat"


def open_matlab_73(path: Path) -> h5py.File:
    """Return an HDF5 file that starts with the header of MatLab 7.3."""
    with h5py.File(path, "w", userblock_size=512):
        pass
    with path.open("r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return h5py.File(path, "r+")


def save_matlab_73(folder: Path) -> Path:
    """Write a MatLab file of version 7.3: rows as columns, and labels."""
    with open_matlab_73(folder / "rows.mat") as file:
        file.create_dataset("fea", data=SINGLES.T, chunks=(5, 1000), compression="gzip")
        file["gnd"] = np.arange(9000)[np.newaxis]
    return folder / "rows.mat"


def save_sparse_matlab_73(folder: Path) -> Path:
    """Write a sparse matrix as MatLab 7.3 does."""
    columns = scipy.sparse.csc_array(SPARSE)
    with open_matlab_73(folder / "rows.mat") as file:
        group = file.create_group("fea")
        group.attrs["MATLAB_sparse"] = np.uint64(SPARSE.shape[0])
        group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
    return folder / "rows.mat"


def save_text(
    folder: Path, name: str = "rows.csv", rows: np.ndarray = FLOATS, head: str = ""
) -> Path:
    """Write numbers with all their digits."""
    mark = "\t" if name.endswith(".tsv") else ","
    lines = [mark.join(map(repr, row)) for row in rows.tolist()]
    (folder / name).write_text(head + "\n".join(lines))
    return folder / name


def as_table(rows: np.ndarray) -> pa.Table:
    """Return a table with one column for each feature."""
    return pa.table(dict(zip(NAMES, rows.T, strict=True)))


def as_vectors(rows: np.ndarray, kind: Callable[..., pa.DataType]) -> pa.Table:
    """Return a table with a column of vectors and a column of words."""
    values = kind(pa.from_numpy_dtype(rows.dtype))
    return pa.table({"text": ["word"] * len(rows), "vector": pa.array(list(rows), values)})


def save_parquet(folder: Path, table: pa.Table, name: str = "rows.parquet") -> Path:
    """Write a Parquet file of several row groups."""
    pyarrow.parquet.write_table(table, folder / name, row_group_size=2500)
    return folder / name


def save_pandas_parquet(folder: Path) -> Path:
    """Write a data frame with an index of its own, which is not a feature."""
    frame = pd.DataFrame(SINGLES, columns=list(NAMES), index=np.arange(9000)[::-1])
    frame.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def save_feather(folder: Path, compression: str) -> Path:
    """Write a Feather file of several batches."""
    pyarrow.feather.write_feather(
        as_table(SINGLES), folder / "rows.feather", compression=compression, chunksize=2500
    )
    return folder / "rows.feather"


def save_stream(folder: Path) -> Path:
    """Write an Arrow stream, as Hugging Face's data sets are."""
    table = as_vectors(SINGLES, lambda kind: pa.list_(kind, 5))
    with pa.ipc.new_stream(str(folder / "rows.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=2500)
    return folder / "rows.arrow"


def save_hdf5(folder: Path, **storage: Any) -> Path:
    """Write rows in a group of an HDF5 file."""
    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("train/images", data=SINGLES, **storage)
        file["train/names"] = np.zeros(9000)
    return folder / "rows.h5"


def save_zarr(folder: Path, version: int, name: str | None) -> Path:
    """Write a Zarr store: an array, or a group that has one."""
    path = folder / "rows.zarr"
    where = path if name is None else path / name
    if name is not None:
        zarr.open_group(str(path), mode="w", zarr_format=version)
    array = zarr.open_array(
        str(where), mode="w", shape=(9000, 5), chunks=(1000, 5), dtype="f4", zarr_format=version
    )
    array[:] = SINGLES
    return path


def save_svmlight(
    folder: Path, *, base: int, name: str = "rows.svm", part: slice = slice(None)
) -> Path:
    """Write sparse rows as text, each with its number as label; some lines have remarks."""
    lines = ["# written by hand"]
    for number, row in enumerate(FEW_SPARSE[part].tolist()):
        pairs = [f"{column + base}:{value!r}" for column, value in enumerate(row) if value]
        lines.append(" ".join([str(number), *pairs]) + (" # remark" if number % 5 == 0 else ""))
    (folder / name).write_text("\n".join(lines))
    return folder / name


def save_vectors(folder: Path, name: str, rows: np.ndarray) -> Path:
    """Write vectors, each behind its length."""
    path = folder / name
    lengths = np.full((len(rows), 1), rows.shape[1], "<i4").view(np.uint8)
    path.write_bytes(np.hstack([lengths, rows.view(np.uint8)]).tobytes())
    return path


def save_images(folder: Path, mode: str, extension: str = "png") -> Path:
    """Write a folder of images: 4 x 3 grey, or 2 x 2 in colour."""
    shape = {"L": (3, 4), "RGB": (2, 2, 3)}[mode]
    for number, row in enumerate(BYTES):
        Image.fromarray(row.reshape(shape)).save(folder / f"image{number:03}.{extension}")
    return folder


def save_parts(folder: Path, save: Callable[[Path, slice], Any]) -> Path:
    """Write rows as three files of a folder, beside files that are not data."""
    for number, part in enumerate((slice(0, 10), slice(10, 1200), slice(1200, None))):
        save(folder / f"part{number}", part)
    (folder / "_SUCCESS").write_text("")
    (folder / "notes.md").write_text("not data")
    return folder


def map_memory(folder: Path, order: str, part: slice) -> np.ndarray:
    """Return a part of a memory map that starts at byte 5,000 of its file."""
    path = folder / "rows.raw"
    path.write_bytes(bytes(5000) + SINGLES.tobytes(order=order))
    return np.memmap(path, np.float32, "r", offset=5000, shape=SINGLES.shape, order=order)[part]

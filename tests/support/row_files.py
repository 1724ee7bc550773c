"""The same kinds of rows in every format and container that can be read, for the tests of sources.

Writes with the packages that people write with; reads nothing back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import polars as pl
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
SPARSE[0] = 1.5  # all columns are there, and the first, also for formats that only have nonzeros


@dataclass(frozen=True)
class Case:
    """One way to keep rows.

    Attributes
    ----------
    make : callable
        From a folder to a path in it, or to a container in memory.
    rows : ndarray
        What is to be read.
    options : dict
        What `open_rows` is told.
    sparse, names : bool
        Whether CSR is read, and whether columns are called NAMES.
    """

    make: Callable[[Path], Any]
    rows: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)
    sparse: bool = False
    names: bool = False


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
    """Return a file that gets what MatLab puts before its HDF5 content."""
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
    """Return one column a feature."""
    return pa.table(dict(zip(NAMES, rows.T, strict=True)))


def as_vectors(rows: np.ndarray, kind: Callable[..., pa.DataType]) -> pa.Table:
    """Return one column of vectors, beside one of words."""
    values = kind(pa.from_numpy_dtype(rows.dtype))
    return pa.table({"text": ["word"] * len(rows), "vector": pa.array(list(rows), values)})


def save_parquet(folder: Path, table: pa.Table, name: str = "rows.parquet") -> Path:
    """Write a Parquet file of several row groups."""
    pyarrow.parquet.write_table(table, folder / name, row_group_size=2500)
    return folder / name


def save_pandas_parquet(folder: Path) -> Path:
    """Write a data frame with an index of its own, which is no feature."""
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
    """Write sparse rows as text, the row's number as label, and remarks between."""
    lines = ["# written by hand"]
    for number, row in enumerate(SPARSE[part].tolist()):
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
    """Write rows as three files in a folder, beside files that are no data."""
    for number, part in enumerate((slice(0, 10), slice(10, 5000), slice(5000, 9000))):
        save(folder / f"part{number}", part)
    (folder / "_SUCCESS").write_text("")
    (folder / "notes.md").write_text("no data")
    return folder


def map_memory(folder: Path, order: str, part: slice) -> np.ndarray:
    """Return a part of a memory map that starts somewhere in its file."""
    path = folder / "rows.raw"
    path.write_bytes(bytes(5000) + SINGLES.tobytes(order=order))
    return np.memmap(path, np.float32, "r", offset=5000, shape=SINGLES.shape, order=order)[part]


FILES = {
    "npy": Case(partial(save_npy, rows=SINGLES), SINGLES),
    "npy half": Case(partial(save_npy, rows=SINGLES.astype("f2")), SINGLES.astype("f2")),
    "npy bytes": Case(partial(save_npy, rows=BYTES), BYTES),
    "npy Fortran": Case(partial(save_npy, rows=np.asfortranarray(SINGLES)), SINGLES),
    "npy big-endian": Case(partial(save_npy, rows=SINGLES.astype(">f4")), SINGLES),
    "npz": Case(partial(save_npz, save=np.savez), SINGLES),
    "npz compressed": Case(partial(save_npz, save=np.savez_compressed), SINGLES),
    "npz sparse": Case(save_sparse_npz, SPARSE, sparse=True),
    "mat": Case(partial(save_mat, rows=SINGLES), SINGLES),
    "mat sparse": Case(partial(save_mat, rows=scipy.sparse.csc_array(SPARSE)), SPARSE, sparse=True),
    "mat 7.3": Case(save_matlab_73, SINGLES),
    "mat 7.3 sparse": Case(save_sparse_matlab_73, SPARSE, sparse=True),
    "csv": Case(save_text, FLOATS),
    "csv header": Case(partial(save_text, head="a,b,c,d,e\r\n\r\n"), FLOATS, names=True),
    "tsv": Case(partial(save_text, name="rows.tsv"), FLOATS),
    "csv columns": Case(
        partial(save_text, head="z,a,b,c,d\n"), FLOATS[:, [1, 3]], {"columns": ["a", "c"]}
    ),
    "parquet": Case(partial(save_parquet, table=as_table(SINGLES)), SINGLES, names=True),
    "parquet bytes": Case(
        partial(save_parquet, table=as_table(BYTES[:, :5])), BYTES[:, :5], names=True
    ),
    "parquet of pandas": Case(save_pandas_parquet, SINGLES, names=True),
    "parquet vectors": Case(
        partial(save_parquet, table=as_vectors(SINGLES, lambda kind: pa.list_(kind, 5))),
        SINGLES,
        {"columns": ["vector"]},
    ),
    "parquet lists": Case(
        partial(save_parquet, table=as_vectors(SINGLES, pa.list_)), SINGLES, {"drop": ["text"]}
    ),
    "feather": Case(partial(save_feather, compression="lz4"), SINGLES, names=True),
    "feather plain": Case(partial(save_feather, compression="uncompressed"), SINGLES, names=True),
    "arrow stream": Case(save_stream, SINGLES, {"columns": ["vector"]}),
    "hdf5": Case(save_hdf5, SINGLES),
    "hdf5 compressed": Case(
        partial(save_hdf5, chunks=(1000, 2), compression="gzip"),
        SINGLES,
        {"variable": "/train/images"},
    ),
    "zarr 2": Case(partial(save_zarr, version=2, name=None), SINGLES),
    "zarr 3": Case(partial(save_zarr, version=3, name=None), SINGLES),
    "zarr 2 group": Case(partial(save_zarr, version=2, name="X"), SINGLES),
    "zarr 3 group": Case(partial(save_zarr, version=3, name="some"), SINGLES),
    "svmlight from 0": Case(partial(save_svmlight, base=0), SPARSE, sparse=True),
    "svmlight from 1": Case(partial(save_svmlight, base=1), SPARSE, sparse=True),
    "svmlight wider": Case(
        partial(save_svmlight, base=0),
        np.pad(SPARSE, ((0, 0), (0, 2))),
        {"n_features": 7},
        sparse=True,
    ),
    "fvecs": Case(partial(save_vectors, name="rows.fvecs", rows=SINGLES), SINGLES),
    "bvecs": Case(partial(save_vectors, name="rows.bvecs", rows=BYTES), BYTES),
    "ivecs": Case(
        partial(save_vectors, name="rows.ivecs", rows=BYTES.astype("<i4")), BYTES.astype("i4")
    ),
    "images grey": Case(partial(save_images, mode="L"), BYTES),
    "images colour": Case(partial(save_images, mode="RGB", extension="bmp"), BYTES),
    "folder of npy": Case(
        lambda folder: save_parts(folder, lambda path, part: np.save(f"{path}.npy", SINGLES[part])),
        SINGLES,
    ),
    "folder of csv": Case(
        lambda folder: save_parts(
            folder, lambda path, part: save_text(folder, f"{path.name}.csv", FLOATS[part])
        ),
        FLOATS,
    ),
    "folder of parquet": Case(
        lambda folder: save_parts(
            folder,
            lambda path, part: save_parquet(folder, as_table(SINGLES[part]), f"{path.name}.pq"),
        ),
        SINGLES,
        names=True,
    ),
    "folder of sparse npz": Case(
        lambda folder: save_parts(
            folder,
            lambda path, part: scipy.sparse.save_npz(
                f"{path}.npz", scipy.sparse.csr_array(SPARSE[part])
            ),
        ),
        SPARSE,
        sparse=True,
    ),
    "folder of svmlight": Case(
        lambda folder: save_parts(
            folder,
            lambda path, part: save_svmlight(folder, base=0, name=f"{path.name}.svm", part=part),
        ),
        SPARSE,
        sparse=True,
    ),
}

CONTAINERS = {
    "array": Case(lambda _: SINGLES, SINGLES),
    "Fortran array": Case(lambda _: np.asfortranarray(SINGLES), SINGLES),
    "booleans": Case(lambda _: SINGLES > 0, (SINGLES > 0).astype(np.uint8)),
    "nested lists": Case(lambda _: BYTES.astype(float).tolist(), BYTES.astype(float)),
    "memory map": Case(partial(map_memory, order="C", part=slice(None)), SINGLES),
    "part of a map": Case(
        partial(map_memory, order="C", part=slice(3, 8000, 2)), SINGLES[3:8000:2]
    ),
    "Fortran map": Case(partial(map_memory, order="F", part=slice(5, None)), SINGLES[5:]),
    "CSR": Case(lambda _: scipy.sparse.csr_array(SPARSE), SPARSE, sparse=True),
    "CSC": Case(lambda _: scipy.sparse.csc_matrix(SPARSE), SPARSE, sparse=True),
    "COO": Case(lambda _: scipy.sparse.coo_array(SPARSE), SPARSE, sparse=True),
    "pandas": Case(lambda _: pd.DataFrame(SINGLES, columns=list(NAMES)), SINGLES, names=True),
    "pandas nullable": Case(
        lambda _: pd.DataFrame(BYTES[:, :5], columns=list(NAMES)).astype("Int16"),
        BYTES[:, :5].astype("i2"),
        names=True,
    ),
    "polars": Case(lambda _: pl.DataFrame(SINGLES, schema=list(NAMES)), SINGLES, names=True),
    "polars vectors": Case(
        lambda _: pl.DataFrame({"v": pl.Series(SINGLES, dtype=pl.Array(pl.Float32, 5))}), SINGLES
    ),
    "pyarrow": Case(lambda _: as_table(SINGLES), SINGLES, names=True),
    "pyarrow vectors": Case(
        lambda _: as_vectors(SINGLES, lambda kind: pa.list_(kind, 5)).select(["vector"]), SINGLES
    ),
}

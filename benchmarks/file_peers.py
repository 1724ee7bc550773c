"""Read files of each format with the packages that people use for it, block by block.

Each reader yields row-major blocks, as ours do; nothing is timed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import zarr
from numpy.typing import NDArray
from PIL import Image

BLOCK_BYTES = 64 * 2**20
BATCH_ROWS = 16384


def slice_rows(array: Any) -> Iterator[NDArray[Any]]:
    """Yield blocks of anything that is sliced by rows."""
    step = max(1, BLOCK_BYTES // (array.shape[1] * array.dtype.itemsize))
    for start in range(0, array.shape[0], step):
        yield np.ascontiguousarray(array[start : start + step])


def read_vectors(path: Path) -> Iterator[NDArray[Any]]:
    """Read a whole file of vectors."""
    words = np.fromfile(path, np.int32)
    rows = words.reshape(-1, words[0] + 1)[:, 1:].view(np.float32)
    yield np.ascontiguousarray(rows)


def read_feather(path: Path) -> Iterator[NDArray[Any]]:
    """Read batches of a mapped file, as vectors."""
    table = pyarrow.feather.read_table(path, memory_map=True)
    for batch in table.to_batches():
        yield flatten(batch)


def read_lists(path: Path) -> Iterator[NDArray[Any]]:
    """Read batches of a column of vectors."""
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(BATCH_ROWS):
        yield flatten(batch)


def read_columns(path: Path) -> Iterator[NDArray[Any]]:
    """Read batches of columns, as rows."""
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(BATCH_ROWS):
        yield stack(batch)


def read_text(path: Path) -> Iterator[NDArray[Any]]:
    """Read batches of text, as rows."""
    options = pa.csv.ReadOptions(autogenerate_column_names=True)
    for batch in pa.csv.open_csv(path, read_options=options):
        yield stack(batch)


def read_hdf5(path: Path) -> Iterator[NDArray[Any]]:
    """Read slices of a data set."""
    with h5py.File(path) as file:
        yield from slice_rows(file["X"])


def read_matlab(path: Path) -> Iterator[NDArray[Any]]:
    """Read slices of a data set that is stored column by column."""
    with h5py.File(path) as file:
        columns = file["X"]
        step = max(1, BLOCK_BYTES // (columns.shape[0] * columns.dtype.itemsize))
        for start in range(0, columns.shape[1], step):
            yield np.ascontiguousarray(columns[:, start : start + step].T)


def read_images(path: Path) -> Iterator[NDArray[Any]]:
    """Read one image after another."""
    yield np.stack([np.asarray(Image.open(file)).reshape(-1) for file in sorted(path.iterdir())])


def flatten(batch: Any) -> NDArray[Any]:
    """Return vectors of a fixed size as rows."""
    vectors = batch.column(0)
    numbers: NDArray[Any] = vectors.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(vectors), -1)


def stack(batch: Any) -> NDArray[Any]:
    """Return columns as rows."""
    return np.stack([cells.to_numpy(zero_copy_only=False) for cells in batch.columns], axis=1)


# From the name of a format in bench_files.py to the name of its package and the reader.
PEERS: dict[str, tuple[str, Callable[[Path], Iterator[NDArray[Any]]]]] = {
    ".npy": ("np.load, mapped", lambda path: slice_rows(np.load(path, mmap_mode="r"))),
    ".npy, Fortran order": ("np.load, mapped", lambda path: slice_rows(np.load(path, "r"))),
    ".npz, not compressed": ("np.load", lambda path: slice_rows(np.load(path)["X"])),
    ".fvecs": ("np.fromfile", read_vectors),
    "Feather, vectors": ("pyarrow", read_feather),
    "Parquet, vectors": ("pyarrow", read_lists),
    "Parquet, columns": ("pyarrow", read_columns),
    "HDF5": ("h5py", read_hdf5),
    "MatLab 7.3": ("h5py", read_matlab),
    "Zarr": ("zarr", lambda path: slice_rows(zarr.open(str(path), mode="r"))),
    ".csv": ("pyarrow", read_text),
    "images, 16 x 16 grey .png": ("Pillow", read_images),
}

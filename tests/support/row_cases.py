"""The same kinds of rows in every format and container, and what every source of them must give."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.protocol import RowSource
from tests.support.row_files import (
    BYTES,
    FEW_SPARSE,
    FLOATS,
    NAMES,
    SINGLES,
    SPARSE,
    as_table,
    as_vectors,
    map_memory,
    save_feather,
    save_hdf5,
    save_images,
    save_mat,
    save_matlab_73,
    save_npy,
    save_npz,
    save_pandas_parquet,
    save_parquet,
    save_parts,
    save_sparse_matlab_73,
    save_sparse_npz,
    save_stream,
    save_svmlight,
    save_text,
    save_vectors,
    save_zarr,
)


@dataclass(frozen=True)
class Case:
    """One way to keep rows.

    Attributes
    ----------
    make : callable
        From a folder to a path in it, or to a container in memory.
    rows : ndarray
        The rows that must be read.
    options : dict
        Keyword arguments of `open_rows`.
    sparse, names : bool
        Whether rows are read as CSR, and whether the columns are called NAMES.
    """

    make: Callable[[Path], Any]
    rows: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)
    sparse: bool = False
    names: bool = False

    def open(self, folder: Path) -> RowSource:
        """Make the rows in a folder, and return their source."""
        made = self.make(folder)
        return open_rows(made, **self.options) if isinstance(made, Path) else as_row_source(made)

    def check_range(self, source: RowSource, start: int, stop: int) -> None:
        """Assert that a range has the right numbers, bit for bit, in the promised form."""
        rows = source.read(start, stop)
        assert rows.dtype == source.dtype == self.rows.dtype
        assert scipy.sparse.issparse(rows) == source.sparse == self.sparse
        if isinstance(rows, np.ndarray):
            assert rows.flags.c_contiguous
        else:
            assert rows.format == "csr"
            rows = rows.toarray()
        np.testing.assert_array_equal(rows, self.rows[start:stop], strict=True)

    def check_walks(self, source: RowSource) -> None:
        """Assert that neighbouring ranges, forwards and backwards, and single rows are right."""
        n_rows = len(self.rows)
        step = max(1, n_rows // 7)
        starts = range(0, n_rows, step)
        for start in [*starts, *reversed(starts)]:
            self.check_range(source, start, min(start + step, n_rows))
        for row in (0, n_rows // 2, n_rows - 1):
            self.check_range(source, row, row + 1)
        self.check_range(source, n_rows, n_rows)

    def check_threads(self, source: RowSource) -> None:
        """Assert that ranges that are read on eight threads at once are right."""
        n_rows = len(self.rows)
        starts = np.random.default_rng(0).integers(0, n_rows, 40).tolist()
        with ThreadPoolExecutor(8) as pool:
            done = [
                pool.submit(self.check_range, source, start, min(n_rows, start + n_rows // 5))
                for start in starts
            ]
            for one in done:
                one.result()


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
    "svmlight from 0": Case(partial(save_svmlight, base=0), FEW_SPARSE, sparse=True),
    "svmlight from 1": Case(partial(save_svmlight, base=1), FEW_SPARSE, sparse=True),
    "svmlight wider": Case(
        partial(save_svmlight, base=0),
        np.pad(FEW_SPARSE, ((0, 0), (0, 2))),
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
        FEW_SPARSE,
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

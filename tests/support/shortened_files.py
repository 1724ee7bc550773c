"""A program: fit rows of a file that is shortened during the fit, then the whole file again.

Called as ``python -m tests.support.shortened_files CASE FOLDER`` by tests, because without the
watch over mapped files the signal SIGBUS ends the process. It prints the error of the first fit,
and whether the second fit has the inertia of a fit before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from projected_kmeans import ProjectedKMeans, open_rows

ROWS = np.random.default_rng(3).normal(size=(40_000, 16)).astype(np.float32)


def save_vectors(path: Path) -> None:
    """Write the rows as vectors that begin with their length."""
    lengths = np.full((len(ROWS), 1), ROWS.shape[1], np.int32).view(np.float32)
    np.hstack([lengths, ROWS]).tofile(path)


def as_table(*, vectors: bool) -> pa.Table:
    """Return the rows as one column of vectors, or as one column for each feature."""
    if vectors:
        values = pa.array(ROWS.reshape(-1))
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(values, ROWS.shape[1])})
    return pa.table({f"c{index}": column for index, column in enumerate(ROWS.T)})


def save_arrow(path: Path, *, vectors: bool) -> None:
    """Write the rows as an Arrow file without compression."""
    table = as_table(vectors=vectors)
    pyarrow.feather.write_feather(table, path, "uncompressed", chunksize=10_000)


def open_memmap(path: Path) -> Any:
    """Return the rows as a user maps them."""
    return np.load(path, mmap_mode="r")


# For each case: the name of the file, who writes it, and who opens it.
CASES: dict[str, tuple[str, Callable[[Path], object], Callable[[Path], Any]]] = {
    "npy": ("rows.npy", lambda path: np.save(path, ROWS), open_rows),
    "fortran": ("rows.npy", lambda path: np.save(path, np.asfortranarray(ROWS)), open_rows),
    "npz": ("rows.npz", lambda path: np.savez(path, X=ROWS), open_rows),
    "fvecs": ("rows.fvecs", save_vectors, open_rows),
    "vectors": ("rows.arrow", lambda path: save_arrow(path, vectors=True), open_rows),
    "columns": ("rows.arrow", lambda path: save_arrow(path, vectors=False), open_rows),
    "parquet": (
        "rows.parquet",
        lambda path: pyarrow.parquet.write_table(as_table(vectors=False), path, 10_000),
        open_rows,
    ),
    "memmap": ("rows.npy", lambda path: np.save(path, ROWS), open_memmap),
}


def main(case: str, folder: Path) -> None:
    """Fit, shorten the file at the first report of progress, and fit again."""
    name, save, open_file = CASES[case]
    path = folder / name

    def shorten(state: object) -> None:
        os.truncate(path, 10_000)

    save(path)
    expected = ProjectedKMeans(4, random_state=0).fit(open_file(path)).inertia_
    rows = open_file(path)
    try:
        ProjectedKMeans(4, random_state=0, callback=shorten).fit(rows)
    except ValueError as error:
        print(type(error).__name__, error)
    else:
        print("the fit returned")
    save(path)
    again = ProjectedKMeans(4, random_state=0).fit(open_file(path)).inertia_
    print("same" if again == expected else "other", "inertia afterwards")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

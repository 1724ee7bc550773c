"""A program: fit rows of a file that is shortened during the fit, then the whole file again.

Called as ``python -m tests.support.shortened_files FOLDER`` by tests, because without the watch
over mapped files the signal SIGBUS ends the process. It goes through all cases and prints for each
one line: the case, the error of the first fit, and whether the second fit has the inertia of a fit
before. A case that ends the process has no line, and neither have those after it.
"""

from __future__ import annotations

import json
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

ROWS = np.random.default_rng(3).normal(size=(8000, 16)).astype(np.float32)


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
    pyarrow.feather.write_feather(table, path, "uncompressed", chunksize=2000)


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
        lambda path: pyarrow.parquet.write_table(as_table(vectors=False), path, 2000),
        open_rows,
    ),
    "memmap": ("rows.npy", lambda path: np.save(path, ROWS), open_memmap),
}


def fit(rows: Any, callback: Callable[[object], None] | None = None) -> ProjectedKMeans:
    """Return a fit that reads the rows a few times."""
    options: dict[str, Any] = {"projection": "sign", "n_components": 8, "solver": "lloyd"}
    model = ProjectedKMeans(4, n_init=1, max_iter=2, random_state=0, callback=callback, **options)
    return model.fit(rows)


def try_case(case: str, folder: Path) -> tuple[str, bool]:
    """Fit, shorten the file at the first report of progress, and fit again."""
    name, save, open_file = CASES[case]
    path = folder / name

    def shorten(state: object) -> None:
        os.truncate(path, 10_000)

    save(path)
    expected = fit(open_file(path)).inertia_
    rows = open_file(path)
    told = "the fit returned"
    try:
        fit(rows, shorten)
    except ValueError as error:
        told = f"{type(error).__name__} {error}"
    save(path)
    return told, fit(open_file(path)).inertia_ == expected


if __name__ == "__main__":
    for one in CASES:
        place = Path(sys.argv[1]) / one
        place.mkdir()
        print(json.dumps([one, *try_case(one, place)]), flush=True)

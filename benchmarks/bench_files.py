"""Time reading and sketching the rows of files of every format, beside reading their bytes.

Run ``python benchmarks/bench_files.py [--quick]``; it writes results/files.json. Files are written
one at a time to a temporary folder. They are in the page cache when they are read, except for the
last two figures, for which the system is asked to drop them from the cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import zarr
from file_peers import BLOCK_BYTES, PEERS
from measuring import store_results
from numpy.typing import NDArray
from PIL import Image
from provenance import Origin

from projected_kmeans.blocks.column_scan import CheckedBlocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.projections.map_protocol import fit_shape, sketch_rows
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.sources.open_rows import open_rows
from projected_kmeans.sources.read_ahead import read_ahead

WIDTHS = (256, 1024)
N_NUMBERS = 64_000_000
N_COMPONENTS = 64
READ_BYTES = 2**24


def save_vectors(path: Path, rows: NDArray[Any]) -> None:
    """Write vectors, each preceded by its length."""
    lengths = np.full((len(rows), 1), rows.shape[1], "<i4").view(rows.dtype)
    np.hstack([lengths, rows]).tofile(path)


def save_columns(path: Path, rows: NDArray[Any]) -> None:
    """Write a Parquet file with one column per feature, with the defaults of pyarrow."""
    names = [f"f{column}" for column in range(rows.shape[1])]
    pyarrow.parquet.write_table(pa.table(list(rows.T), names=names), path)


def save_lists(path: Path, rows: NDArray[Any]) -> None:
    """Write a Parquet file with one column of vectors."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    pyarrow.parquet.write_table(pa.table({"vector": vectors}), path)


def save_feather(path: Path, rows: NDArray[Any]) -> None:
    """Write an uncompressed Feather file with one column of vectors."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    pyarrow.feather.write_feather(
        pa.table({"vector": vectors}), path, compression="uncompressed", chunksize=65536
    )


def save_hdf5(path: Path, rows: NDArray[Any]) -> None:
    """Write an HDF5 file without chunks."""
    with h5py.File(path, "w") as file:
        file["X"] = rows


def save_matlab(path: Path, rows: NDArray[Any]) -> None:
    """Write rows as columns, as MatLab 7.3 does."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", data=rows.T, chunks=(64, min(4096, len(rows))))
    with path.open("r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def save_zarr(path: Path, rows: NDArray[Any]) -> None:
    """Write a Zarr store with the default compression of the package."""
    array = zarr.open_array(
        str(path), mode="w", shape=rows.shape, chunks=(16384, rows.shape[1]), dtype=rows.dtype
    )
    array[:] = rows


def save_text(path: Path, rows: NDArray[Any]) -> None:
    """Write numbers with six digits."""
    np.savetxt(path, rows, delimiter=",", fmt="%.6g")


def save_images(path: Path, rows: NDArray[Any]) -> None:
    """Write grey images of 16 x 16 pixels."""
    path.mkdir()
    pixels = (rows * 40 + 128).clip(0, 255).astype(np.uint8).reshape(len(rows), 16, 16)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(path / f"{number:06}.png")


# For each case: the name of the file, the function that writes it, and its share of all rows.
CASES: dict[str, tuple[str, Callable[[Path, NDArray[Any]], object], float]] = {
    ".npy": ("rows.npy", np.save, 1),
    ".npy, Fortran order": (
        "rows.npy",
        lambda path, rows: np.save(path, np.asfortranarray(rows)),
        1,
    ),
    ".npz, not compressed": ("rows.npz", lambda path, rows: np.savez(path, X=rows), 1),
    ".fvecs": ("rows.fvecs", save_vectors, 1),
    "Feather, vectors": ("rows.feather", save_feather, 1),
    "Parquet, vectors": ("rows.parquet", save_lists, 1),
    "Parquet, columns": ("rows.parquet", save_columns, 1),
    "HDF5": ("rows.h5", save_hdf5, 1),
    "MatLab 7.3": ("rows.mat", save_matlab, 1),
    "Zarr": ("rows.zarr", save_zarr, 1),
    ".csv": ("rows.csv", save_text, 0.05),
    "images, 16 x 16 grey .png": ("images", save_images, 0.04),
}


def files_of(path: Path) -> list[Path]:
    """Return a file, or all files of a folder."""
    return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]


def read_bytes(path: Path) -> int:
    """Read all bytes of a file or a folder through one buffer; return their number."""
    buffer = memoryview(bytearray(READ_BYTES))
    total = 0
    for file in files_of(path):
        with file.open("rb", buffering=0) as handle:
            while n_bytes := handle.readinto(buffer):
                look_at(np.frombuffer(buffer[:n_bytes], np.uint8))
                total += n_bytes
    return total


def look_at(numbers: NDArray[Any]) -> None:
    """Load every number once, so that mapped files are read, too."""
    n_words = numbers.nbytes // 8
    np.bitwise_or.reduce(numbers.reshape(-1).view(np.uint8)[: 8 * n_words].view(np.uint64))


def read_rows(path: Path) -> int:
    """Read all rows in blocks; return the bytes of their numbers."""
    with open_rows(path) as source:
        row_bytes = source.shape[1] * source.dtype.itemsize
        for _, block in read_ahead(source, max(1, BLOCK_BYTES // row_bytes)):
            look_at(block)
        return source.shape[0] * row_bytes


def reduce_rows(path: Path) -> None:
    """Read, check and reduce all rows, as the first pass of a fit does."""
    with open_rows(path) as source:
        blocks = CheckedBlocks(StoredBlocks(source), 0)
        signs = SignProjection(min(N_COMPONENTS, source.shape[1]), random_state=0)
        fit_shape(signs, *source.shape)
        sketch_rows(signs, blocks)


def read_by_peer(name: str, path: Path) -> None:
    """Read all rows with the format's own package."""
    for block in PEERS[name][1](path):
        look_at(np.ascontiguousarray(block))


def drop_pages(path: Path) -> None:
    """Ask the system to drop a file from the page cache."""
    for file in files_of(path):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def time_cold(work: Callable[[], object], path: Path) -> float:
    """Return the seconds of one run on a file that is not in the page cache."""
    drop_pages(path)
    return best_of(work, 1)


def best_of(work: Callable[[], object], repeats: int) -> float:
    """Return the minimum seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bench_case(name: str, rows: NDArray[Any], folder: Path, repeats: int) -> dict[str, Any]:
    """Return the times of one format; its file is removed afterwards."""
    file_name, save, share = CASES[name]
    part = rows[: max(1, int(len(rows) * share))]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / file_name
        save(path, part)
        n_file_bytes = read_bytes(path)  # brings the file into the page cache
        return {
            "format": name,
            "n": len(part),
            "d": rows.shape[1],
            "peer": PEERS[name][0],
            "file_bytes": n_file_bytes,
            "row_bytes": read_rows(path),
            "bytes_seconds": best_of(lambda: read_bytes(path), repeats),
            "open_seconds": best_of(lambda: open_rows(path).close(), repeats),
            "rows_seconds": best_of(lambda: read_rows(path), repeats),
            "peer_seconds": best_of(lambda: read_by_peer(name, path), repeats),
            "reduce_seconds": best_of(lambda: reduce_rows(path), repeats),
            "cold_bytes_seconds": time_cold(lambda: read_bytes(path), path),
            "cold_reduce_seconds": time_cold(lambda: reduce_rows(path), path),
        }


def bench_files(n_numbers: int, folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Return the times of all formats, for ``n_numbers`` float32 numbers in rows of each width."""
    found = []
    for width in WIDTHS:
        shape = (max(1, n_numbers // width), width)
        rows = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        names = [name for name in CASES if width == WIDTHS[0] or not name.startswith("images")]
        found += [bench_case(name, rows, folder, repeats) for name in names]
    return found


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure a hundredth of the numbers, once; stores nothing",
    )
    parser.add_argument("--folder", type=Path, default=None, help="folder for the temporary files")
    options = parser.parse_args()
    n_numbers = N_NUMBERS // 100 if options.quick else N_NUMBERS
    origin = Origin.now()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        results = bench_files(n_numbers, Path(folder), 1 if options.quick else 2)
    packages = ("pyarrow", "h5py", "zarr", "pillow")
    described = origin.describe(len(os.sched_getaffinity(0)), packages)
    document = {**described, "files": results}
    print(results if options.quick else store_results("files", document))


if __name__ == "__main__":
    main()

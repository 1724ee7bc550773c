"""Time the random maps beside BLAS, scikit-learn and reading the data from memory.

Run ``python benchmarks/bench_projection.py``; ``render.py`` draws the page from
results/projection.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from fit_process import forget_peak, peak_kilobytes
from measuring import (
    RESULTS,
    format_table,
    read_array,
    store_results,
    time_together,
)
from provenance import Origin, join_rows
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from threadpoolctl import threadpool_limits

from projected_kmeans import (
    GaussianProjection,
    HadamardProjection,
    SignProjection,
    SparseSignProjection,
)
from projected_kmeans.paper.experiments.mailman import SIGN_PRODUCTS, make_sign_matrix
from projected_kmeans.projections.map_protocol import fit_shape

KEY = 7
SHAPES = ((20_000, 4_096), (50_000, 1_024))
DIMENSIONS = (1, 4, 16, 32, 64, 100, 200, 400)
ONE_THREAD = ((12_000, 3_840),)
ONE_THREAD_DIMENSIONS = (16, 64, 100, 200, 400)
ONE_THREAD_SYSTEMS = ("read", "sign", "sparse sign, s=8", "sparse sign, s=1", "numpy A @ R")
FEW_ROWS = (*((n, 100) for n in (1, 2, 4, 8, 16, 64)), (1, 1), (8, 1), (1, 2), (8, 2))
WIDE = 1_000_000


def bench_dense(
    repeats: int, n_threads: int, dtype: str, shapes: Any, dimensions: Any
) -> list[Any]:
    """Time dense rows of one type: the maps, BLAS on float32, scikit-learn, and reading."""
    rows = []
    stream = np.random.default_rng(0)
    for n, d in shapes:
        data = stream.integers(0, 256, (n, d)).astype(dtype)
        for t in dimensions:
            works = dense_works(data, t, n_threads)
            rows += [
                {"case": f"dense {dtype}", "n": n, "d": d, "t": t, "system": name, "seconds": best}
                for name, best in time_together(works, repeats).items()
            ]
            print_case(rows[-len(works) :], data.nbytes)
    return rows


def dense_works(data: Any, t: int, n_threads: int) -> dict[str, Callable[[], object]]:
    """Return the calls that are timed on one dense matrix."""
    n, d = data.shape
    matrix = make_sign_matrix(d, KEY, t, np.dtype(np.float32))
    out = np.empty((n, t), dtype=np.float32)
    works: dict[str, Callable[[], object]] = {"read": lambda: read_array(data, n_threads)}
    maps = {
        "sign": SignProjection(t),
        "sparse sign, s=8": SparseSignProjection(t),
        "sparse sign, s=1": SparseSignProjection(t, n_nonzeros=1),
        "hadamard": HadamardProjection(t),
    }
    for name, projection in maps.items():
        projection.set_params(random_state=KEY, n_threads=n_threads)
        fit_shape(projection, n, d)
        works[name] = lambda projection=projection: projection.project_block(data, out)
    if data.dtype == np.float32:
        gaussian = GaussianProjection(t, random_state=KEY, n_threads=n_threads)
        fit_shape(gaussian, n, d)
        works["gaussian"] = lambda: gaussian.project_block(data, out)
        for name, peer in (
            ("scikit-learn Gaussian", GaussianRandomProjection(t, random_state=0)),
            ("scikit-learn sparse", SparseRandomProjection(t, random_state=0)),
        ):
            peer.fit(data[:2])
            works[name] = lambda peer=peer: peer.transform(data)
    works["numpy A @ R"] = lambda: data.astype(np.float32, copy=False) @ matrix
    return works


def bench_one_thread(repeats: int, shapes: Any, dimensions: Any) -> list[Any]:
    """Time the sign maps and BLAS on float32 rows and one thread."""
    rows = []
    stream = np.random.default_rng(0)
    for n, d in shapes:
        data = stream.integers(0, 256, (n, d)).astype(np.float32)
        for t in dimensions:
            with threadpool_limits(1):
                all_works = dense_works(data, t, 1)
                works = {name: all_works[name] for name in ONE_THREAD_SYSTEMS}
                seconds = time_together(works, repeats)
            rows += [
                {"case": "one thread", "n": n, "d": d, "t": t, "system": name, "seconds": best}
                for name, best in seconds.items()
            ]
            print_case(rows[-len(works) :], data.nbytes)
    return rows


def bench_few_rows(repeats: int, n_threads: int) -> list[Any]:
    """Time the four ways of the paper's section 5.2 on one row and on a few rows."""
    rows = []
    stream = np.random.default_rng(0)
    d = 65_536
    for n, t in FEW_ROWS:
        matrix = make_sign_matrix(d, KEY, t, np.dtype(np.float32))
        data = stream.standard_normal((n, d), dtype=np.float32)
        works: dict[str, Callable[[], object]] = {
            "read": lambda data=data: read_array(data, n_threads),
        }
        for name, multiply in SIGN_PRODUCTS.items():
            if name != "MM1":
                work = partial(multiply, data, KEY, t, n_threads)
                works["sign" if name == "look-up" else name] = work
        works["numpy A @ R"] = lambda data=data, matrix=matrix: data @ matrix
        rows += [
            {"case": "few rows", "n": n, "d": d, "t": t, "system": name, "seconds": best}
            for name, best in time_together(works, repeats).items()
        ]
        print_case(rows[-len(works) :], data.nbytes)
    return rows


def bench_sparse(repeats: int, n_threads: int) -> list[Any]:
    """Time CSR rows: 10,000 x 50,000 with 100 nonzeros in each row."""
    rows = []
    stream = np.random.default_rng(0)
    n, d, a_row = 10_000, 50_000, 100
    columns = np.sort(stream.integers(0, d, (n, a_row)), axis=1).ravel()
    starts = np.arange(0, n * a_row + 1, a_row)
    values = stream.standard_normal(n * a_row).astype(np.float32)
    data = scipy.sparse.csr_array((values, columns, starts), shape=(n, d))
    data.sum_duplicates()
    for t in (16, 100, 400):
        peer = SparseRandomProjection(t, random_state=0).fit(data)
        peer_dense = SparseRandomProjection(t, random_state=0, dense_output=True).fit(data)
        works: dict[str, Callable[[], object]] = {
            "scikit-learn sparse": lambda peer=peer: peer.transform(data),
            "scikit-learn sparse, dense output": lambda peer=peer_dense: peer.transform(data),
        }
        for name, kind in (
            ("sign", SignProjection(t)),
            ("sparse sign, s=8", SparseSignProjection(t)),
            ("sparse sign, s=1", SparseSignProjection(t, n_nonzeros=1)),
            ("hadamard", HadamardProjection(t)),
            ("gaussian", GaussianProjection(t)),
        ):
            kind.set_params(random_state=KEY, n_threads=n_threads).fit(data)
            works[name] = lambda kind=kind: kind.transform(data)
        rows += [
            {"case": "CSR", "n": n, "d": d, "t": t, "system": name, "seconds": best}
            for name, best in time_together(works, repeats).items()
        ]
        print_case(rows[-len(works) :], data.data.nbytes + data.indices.nbytes)
    return rows


def measure_memory() -> dict[str, int]:
    """Return the memory in MB, beyond data and output, of each map at d = 10^6 and t = 1024."""
    command = [sys.executable, __file__, "--memory"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return {name: int(size) for name, size in (line.split(":") for line in lines if line)}


def print_memory() -> None:
    """Project 32 rows of a million columns and print the growth of the peak memory."""
    data = np.ones((32, WIDE), dtype=np.float32)
    out = np.ones((32, 1024), dtype=np.float32)
    for name, kind in (
        ("sign", SignProjection),
        ("sparse sign, s=8", SparseSignProjection),
        ("hadamard", HadamardProjection),
    ):
        projection = kind(1024, random_state=KEY)
        fit_shape(projection, *data.shape)
        forget_peak()
        before = peak_kilobytes()
        projection.project_block(data, out)
        print(f"{name}:{(peak_kilobytes() - before) // 1024}")


def print_case(rows: list[Any], n_bytes: int) -> None:
    """Print the times of one case, beside BLAS and reading."""
    seconds = {row["system"]: row["seconds"] for row in rows}
    blas, read = seconds.get("numpy A @ R"), seconds.get("read")
    first = rows[0]
    table = [
        [
            name,
            f"{1e3 * best:.2f}",
            f"{n_bytes / best / 1e9:.1f}",
            "" if blas is None else f"{blas / best:.2f}",
            "" if read is None else f"{best / read:.2f}",
        ]
        for name, best in seconds.items()
    ]
    print(f"\n{first['case']}, {first['n']} x {first['d']}, t = {first['t']}")
    header = ("system", "ms", "GB/s of A", "times BLAS' speed", "times the read")
    print(format_table(header, table), flush=True)


def read_others(measured: Sequence[str], folder: Path | None) -> dict[str, Any]:
    """Return the stored document with the rows of the cases that are not measured again."""
    stored = json.loads(((folder or RESULTS) / "projection.json").read_text())
    return {**stored, "rows": [row for row in stored["rows"] if row["case"] not in measured]}


def main() -> None:
    """Run all cases and store them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure a tenth of the rows and few t; stored with --out only",
    )
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--only", action="append", help="measure this case again and keep the others"
    )
    parser.add_argument("--out", type=Path, default=None, help="folder of the JSON")
    options = parser.parse_args()
    if options.memory:
        return print_memory()
    warnings.simplefilter("ignore", DataDimensionalityWarning)
    shapes = [(n // 10, d) for n, d in SHAPES] if options.quick else SHAPES
    dimensions = (16, 100) if options.quick else DIMENSIONS
    cases: dict[str, Callable[[int, int], list[Any]]] = {
        "dense float32": partial(
            bench_dense, dtype="float32", shapes=shapes, dimensions=dimensions
        ),
        "dense uint8": partial(
            bench_dense, dtype="uint8", shapes=shapes[:1], dimensions=(64, 100, 200)
        ),
        "one thread": lambda repeats, n_threads: bench_one_thread(
            repeats,
            [(n // 10, d) for n, d in ONE_THREAD] if options.quick else ONE_THREAD,
            dimensions if options.quick else ONE_THREAD_DIMENSIONS,
        ),
        "few rows": lambda repeats, n_threads: bench_few_rows(3 * repeats, n_threads),
        "CSR": bench_sparse,
    }
    stored = {"rows": []} if options.only is None else read_others(options.only, options.out)
    origin, new = Origin.now(), []
    with threadpool_limits(options.threads):
        for name in options.only or cases:
            new += cases[name](options.repeats, options.threads)
    rows = [*stored["rows"], *new]
    megabytes = measure_memory()
    document = {
        "benchmark": "projection",
        **join_rows(stored, rows, new, origin.describe(options.threads)),
        "parameters": {"repeats": options.repeats, "quick": options.quick},
        "rows": rows,
        "extra_megabytes": megabytes,
    }
    print("\nextra memory at d = 10^6, t = 1024 (MB):", document["extra_megabytes"])
    if options.out is not None or not options.quick:
        print("stored in", store_results("projection", document, options.out).name)


if __name__ == "__main__":
    main()

"""Time fits of rows that arrive block by block, beside scikit-learn's MiniBatchKMeans.

Run ``python benchmarks/bench_stream.py [--quick]``; it writes results/stream.json. The digits come
in blocks of 1,000 rows, in their order, and sorted by their length, as an example of a stream
whose distribution drifts. Both systems are judged by the inertia of all rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from data_sets import SOURCES, Rows
from measuring import store_results
from provenance import Origin
from sketches import measure_inertia
from sklearn.cluster import MiniBatchKMeans

from projected_kmeans import ProjectedKMeans

BLOCK_ROWS = 1000
COUNTS = (10, 100)
QUICK_SHRINK = 20

SYSTEMS: Mapping[str, type[Any]] = {
    "ProjectedKMeans": ProjectedKMeans,
    "scikit-learn MiniBatchKMeans": MiniBatchKMeans,
}


def sort_rows(rows: Rows) -> Rows:
    """Return the rows from the shortest to the longest."""
    return rows[np.argsort(np.einsum("ij,ij->i", rows, rows), kind="stable")]


def bench_system(name: str, rows: Rows, n_clusters: int) -> dict[str, Any]:
    """Return seconds and inertia of one system; the seconds include the request for centers."""
    model = SYSTEMS[name](n_clusters, random_state=0)
    start = time.perf_counter()
    for first in range(0, len(rows), BLOCK_ROWS):
        model.partial_fit(rows[first : first + BLOCK_ROWS])
    fed = time.perf_counter()
    centers = model.cluster_centers_
    end = time.perf_counter()
    stream = vars(model).get("_stream")
    return {
        "system": name,
        "seconds": end - start,
        "asking_seconds": end - fed,
        "inertia": measure_inertia(rows, centers),
        "floats": None if stream is None else stream.n_floats,
    }


def bench_stream(rows: Rows, counts: Sequence[int] = COUNTS) -> list[dict[str, Any]]:
    """Return one entry for every order of the rows and every number of clusters."""
    found = []
    for order, sequence in {"as they are": rows, "shortest first": sort_rows(rows)}.items():
        for n_clusters in counts:
            start = time.perf_counter()
            fitted = ProjectedKMeans(n_clusters, random_state=0).fit(sequence)
            seconds = time.perf_counter() - start
            found.append(
                {
                    "order": order,
                    "n_clusters": n_clusters,
                    "fit_seconds": seconds,
                    "fit_inertia": measure_inertia(sequence, fitted.cluster_centers_),
                    "systems": [bench_system(name, sequence, n_clusters) for name in SYSTEMS],
                }
            )
    return found


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a twentieth of the rows; stores nothing"
    )
    options = parser.parse_args()
    origin = Origin.now()
    rows = SOURCES["digits"](QUICK_SHRINK if options.quick else 1)
    found = {"shape": rows.shape, "block_rows": BLOCK_ROWS, "streams": bench_stream(rows)}
    document = {**origin.describe(len(os.sched_getaffinity(0))), **found}
    print(found["streams"] if options.quick else store_results("stream", document))


if __name__ == "__main__":
    main()

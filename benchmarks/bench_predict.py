"""Time labels of new rows among thousands of centers: `predict`, beside FAISS's flat search.

Run ``python benchmarks/bench_predict.py [--quick]``; it writes results/predict.json. The centers
are those of a default fit of the same rows. Both systems have all rows, the same centers and the
same threads, and take turns; the shortest time of several counts. FAISS computes in float32, so a
few rows that are nearly as near to a second center may get another label.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from bench_many_clusters import QUICK_SHRINK, ROWS
from data_sets import Rows
from measuring import store_results, time_together
from provenance import Origin

from projected_kmeans import ProjectedKMeans

NAME = "predict"
WORKS = (("tree 500,000 x 384", 1000), ("tree 500,000 x 384", 8192), ("shifted digits", 1000))
PEER = "FAISS flat search"


def bench_work(rows: Rows, n_clusters: int, n_threads: int, repeats: int) -> dict[str, Any]:
    """Return the seconds of both systems, and the share of rows with the same label."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = ProjectedKMeans(n_clusters, random_state=0, n_threads=n_threads).fit(rows)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(np.ascontiguousarray(model.cluster_centers_, dtype=np.float32))
    seconds = time_together(
        {"predict": lambda: model.predict(rows), PEER: lambda: index.search(rows, 1)}, repeats
    )
    theirs = index.search(rows, 1)[1].ravel()
    return {"seconds": seconds, "agreement": float(np.mean(model.predict(rows) == theirs))}


def bench_all(shrink: int, n_threads: int, repeats: int) -> list[dict[str, Any]]:
    """Return an entry for every work."""
    found: list[dict[str, Any]] = []
    rows, made = None, ""
    for name, k in WORKS:
        if made != name:
            rows, made = ROWS[name](shrink), name
        assert rows is not None
        entry: dict[str, Any] = {"rows": name, "n_clusters": max(2, k // shrink)}
        entry |= bench_work(rows, entry["n_clusters"], n_threads, repeats)
        print(entry, flush=True)
        found.append(entry)
    return found


def main() -> None:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a fortieth of rows and clusters; stores nothing"
    )
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    n_threads = len(os.sched_getaffinity(0))
    origin = Origin.now()
    found = bench_all(QUICK_SHRINK if options.quick else 1, n_threads, options.repeats)
    document = {**origin.describe(n_threads, ("faiss-cpu",)), "works": found}
    if not options.quick:
        print(store_results(NAME, document))


if __name__ == "__main__":
    main()

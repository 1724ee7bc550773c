"""Today's k-means systems, each behind the same call: rows and k to a label for every row.

Run as a program, it fits one system in a process of its own: some of them crash, and some change
scikit-learn when they are imported.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from fit_process import Rows, forget_peak, load_rows, peak_kilobytes
from numpy.typing import NDArray

Fit = Callable[[Rows, int, int, int], NDArray[Any]]


@dataclass(frozen=True)
class System:
    """A system, the packages that it needs, and the most products n k d that it is run for.

    Slow systems are run for less work, so that the whole benchmark takes minutes.
    """

    fit: Fit
    packages: tuple[str, ...]
    max_products: float = np.inf
    sparse: bool = False


def fit_default(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit with all parameters of this package as they are by default."""
    from projected_kmeans import ProjectedKMeans

    model = ProjectedKMeans(n_clusters, random_state=key, n_threads=n_threads)
    return np.asarray(model.fit(rows).labels_)


def fit_flat(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by this package with Lloyd's method over all centers."""
    from projected_kmeans import ProjectedKMeans

    model = ProjectedKMeans(n_clusters, random_state=key, n_threads=n_threads, solver="lloyd")
    return np.asarray(model.fit(rows).labels_)


def fit_sklearn(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by scikit-learn's KMeans as it is by default: one run."""
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(n_clusters, n_init=1, random_state=key).fit(rows).labels_)


def fit_sklearn_ten(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by the best of ten runs of scikit-learn's KMeans."""
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(n_clusters, n_init=10, random_state=key).fit(rows).labels_)


def fit_intelex(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by the KMeans of scikit-learn-intelex."""
    import daal4py
    from sklearnex.cluster import KMeans

    daal4py.daalinit(n_threads)
    return np.asarray(KMeans(n_clusters, n_init=1, random_state=key).fit(rows).labels_)


def fit_faiss(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by FAISS's Kmeans with all rows and its usual 25 iterations, and label all rows."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    limits = {"max_points_per_centroid": len(rows), "min_points_per_centroid": 1}
    model = faiss.Kmeans(rows.shape[1], n_clusters, niter=25, seed=key, **limits)
    model.train(rows)
    return np.asarray(model.index.search(rows, 1)[1]).ravel()


def fit_faiss_super(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by FAISS's SuperKmeans with all rows, and label all rows."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    limits = {"max_points_per_centroid": len(rows), "min_points_per_centroid": 1}
    model = faiss.SuperKmeans(rows.shape[1], n_clusters, niter=25, seed=key, **limits)
    model.train(rows)
    return np.asarray(model.assign(rows)[1]).ravel()


def fit_super_flat(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by superkmeans over all centers with all rows, and label all rows."""
    from superkmeans import SuperKMeans

    model = SuperKMeans(
        n_clusters,
        rows.shape[1],
        hierarchical=False,
        iters=25,
        sampling_fraction=1.0,
        max_points_per_cluster=len(rows),
        n_threads=n_threads,
        seed=key,
    )
    # assign_training_points crashes after sampling_fraction=1.
    return np.asarray(model.assign(rows, model.train(rows)))


def fit_super_tree(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by superkmeans in its hierarchical form, and label all rows."""
    return _fit_super_tree(rows, n_clusters, key, n_threads, "f32")


def fit_super_bytes(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by superkmeans in its hierarchical form on rows of bytes, and label all rows."""
    return _fit_super_tree(rows, n_clusters, key, n_threads, "sq8")


def _fit_super_tree(
    rows: Rows, n_clusters: int, key: int, n_threads: int, quantizer: str
) -> NDArray[Any]:
    from superkmeans import SuperKMeans

    model = SuperKMeans(
        n_clusters,
        rows.shape[1],
        hierarchical=True,
        quantizer=quantizer,
        n_threads=n_threads,
        seed=key,
    )
    return np.asarray(model.assign_training_points(rows, model.train(rows)))


def fit_fastkmeans(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by fastkmeans on the processor, with all rows."""
    import torch
    from fastkmeans import FastKMeans

    torch.set_num_threads(n_threads)
    model = FastKMeans(
        rows.shape[1], n_clusters, niter=25, seed=key, gpu=False, max_points_per_centroid=len(rows)
    )
    model.train(rows)
    return np.asarray(model.predict(rows))


def fit_hgmeans(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by hgmeans, a genetic search for small data; it has no key and one thread."""
    import hgmeans

    found = hgmeans.PyHGMeans().run(
        rows.astype(np.float64).tolist(), [], max_it=50, list_clusters=[n_clusters]
    )
    return np.asarray(found[0], dtype=np.int64)


def fit_constrained(rows: Rows, n_clusters: int, key: int, n_threads: int) -> NDArray[Any]:
    """Fit by k-means-constrained, whose clusters have at least one row."""
    from k_means_constrained import KMeansConstrained

    model = KMeansConstrained(n_clusters, size_min=1, n_init=1, random_state=key)
    return np.asarray(model.fit_predict(rows))


SYSTEMS: Mapping[str, System] = MappingProxyType(
    {
        "projected_kmeans": System(fit_default, ("projected_kmeans",), sparse=True),
        # For bench_many_clusters.py alone.
        'projected_kmeans, solver="lloyd"': System(fit_flat, ("projected_kmeans",), 0),
        "scikit-learn": System(fit_sklearn, ("scikit-learn",), 8e9, sparse=True),
        "scikit-learn, n_init=10": System(fit_sklearn_ten, ("scikit-learn",), 1e7),
        "scikit-learn-intelex": System(fit_intelex, ("scikit-learn-intelex",), 8e9),
        "FAISS Kmeans": System(fit_faiss, ("faiss-cpu",), 5e10),
        "faiss.SuperKmeans": System(fit_faiss_super, ("faiss-cpu",), 2e11),
        "superkmeans flat": System(fit_super_flat, ("superkmeans",), 1e11),
        "superkmeans hierarchical": System(fit_super_tree, ("superkmeans",)),
        "superkmeans hierarchical, sq8": System(fit_super_bytes, ("superkmeans",)),
        "fastkmeans": System(fit_fastkmeans, ("fastkmeans", "torch"), 1e10),
        "hgmeans": System(fit_hgmeans, ("hgmeans",), 2e6),
        "k-means-constrained": System(fit_constrained, ("k-means-constrained",), 2e6),
    }
)


def main() -> None:
    """Fit the rows of a file by one system; write the labels to a file, and print the costs."""
    name, rows_file, labels_file, n_clusters, key, n_threads = sys.argv[1:]
    warnings.simplefilter("ignore")  # of the peers
    rows, fit = load_rows(Path(rows_file)), SYSTEMS[name].fit
    # A first small fit loads libraries and starts threads.
    fit(rows[:300], 2, 0, int(n_threads))
    before = peak_kilobytes()
    forget_peak()
    start, cpu = time.perf_counter(), time.process_time()
    labels = fit(rows, int(n_clusters), int(key), int(n_threads))
    costs = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "megabytes": max(0, peak_kilobytes() - before) / 1024,
    }
    np.save(labels_file, labels.astype(np.int64))
    print(json.dumps(costs))


if __name__ == "__main__":
    main()

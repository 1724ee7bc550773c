"""The peers of the k-means benchmark, each behind the same call: rows and first centers to centers.

Loads the peers that are installed and names the others; nothing is measured here.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

Rows: TypeAlias = NDArray[np.float32]
# (rows, first centers, passes, threads) -> last centers
Runner: TypeAlias = Callable[[Rows, Rows, int, int], NDArray[Any]]

# From the name of a package for pip to the name of its module.
MODULES = MappingProxyType(
    {"faiss-cpu": "faiss", "superkmeans": "superkmeans", "scikit-learn-intelex": "sklearnex"}
)


def load_peers() -> dict[str, str]:
    """Import all peers; return a sentence for each that cannot be imported.

    All are loaded before the first is timed, so that thread limits apply to all libraries.
    """
    absent = {}
    for package, module in MODULES.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the peer
                importlib.import_module(module)
        except Exception as error:  # a broken installation can raise anything
            reason = re.sub(r"/\S*/", "", str(error).split("\n")[0])
            absent[package] = f"{package} cannot be imported here ({reason})."
    return absent


def limit_threads(n_threads: int, absent: Mapping[str, str]) -> None:
    """Set the threads of the one peer that runs neither on OpenMP nor on OpenBLAS."""
    if "scikit-learn-intelex" not in absent:
        importlib.import_module("daal4py").daalinit(n_threads)


def open_flat_search(centers: Rows) -> Callable[[Rows], object]:
    """Return FAISS's exhaustive search for the nearest of some centers."""
    import faiss

    index = faiss.IndexFlatL2(centers.shape[1])
    index.add(centers)
    return lambda rows: index.search(rows, 1)


def run_faiss(rows: Rows, centers: Rows, n_passes: int, n_threads: int) -> NDArray[Any]:
    """Run FAISS's Kmeans on all rows; by default it samples 256 per center."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    k, t = centers.shape
    model = faiss.Kmeans(t, k, niter=n_passes, max_points_per_centroid=len(rows))
    model.train(rows, init_centroids=centers)
    return np.asarray(model.centroids)


def run_superkmeans(rows: Rows, centers: Rows, n_passes: int, n_threads: int) -> NDArray[Any]:
    """Run superkmeans on all rows, from its own first centers, because it takes no others."""
    from superkmeans import SuperKMeans

    k, t = centers.shape
    model = SuperKMeans(
        k,
        t,
        hierarchical=False,
        iters=n_passes,
        sampling_fraction=1.0,
        max_points_per_cluster=len(rows),
        early_termination=False,
        n_threads=n_threads,
    )
    return np.asarray(model.train(rows))


def run_sklearn(rows: Rows, centers: Rows, n_passes: int, n_threads: int) -> NDArray[Any]:
    """Run scikit-learn's KMeans; the benchmark limits its threads."""
    return _fit(KMeans, rows, centers, n_passes, "lloyd")


def run_elkan(rows: Rows, centers: Rows, n_passes: int, n_threads: int) -> NDArray[Any]:
    """Run scikit-learn's KMeans with Elkan's bounds."""
    return _fit(KMeans, rows, centers, n_passes, "elkan")


def run_intelex(rows: Rows, centers: Rows, n_passes: int, n_threads: int) -> NDArray[Any]:
    """Run the KMeans of scikit-learn-intelex; `limit_threads` has set its threads."""
    from sklearnex.cluster import KMeans as FastKMeans

    return _fit(FastKMeans, rows, centers, n_passes, "lloyd")


def _fit(kind: Any, rows: Rows, centers: Rows, n_passes: int, algorithm: str) -> NDArray[Any]:
    model = kind(
        len(centers), init=centers, n_init=1, max_iter=n_passes, tol=0, algorithm=algorithm
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few passes do not converge
        return np.asarray(model.fit(rows).cluster_centers_)


# By the name in the tables: the function, the package that it needs, and the maximum k.
RUNNERS: Mapping[str, tuple[Runner, str, int]] = MappingProxyType(
    {
        "FAISS": (run_faiss, "faiss-cpu", 10**9),
        "superkmeans": (run_superkmeans, "superkmeans", 10**9),
        "scikit-learn, Lloyd": (run_sklearn, "scikit-learn", 100),
        "scikit-learn, Elkan": (run_elkan, "scikit-learn", 100),
        "scikit-learn-intelex": (run_intelex, "scikit-learn-intelex", 100),
    }
)


def pick_runners(absent: Mapping[str, str], n_clusters: int) -> dict[str, Runner]:
    """Return the peers that are installed and fast enough for this number of clusters."""
    return {
        name: runner
        for name, (runner, package, max_clusters) in RUNNERS.items()
        if package not in absent and n_clusters <= max_clusters
    }

"""The systems whose whole fits are measured, each behind the same call: rows to labels.

An effort is a set of options, from little to much work. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from peers import limit_threads
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.random_projection import SparseRandomProjection

from projected_kmeans import ProjectedKMeans

Labels: TypeAlias = NDArray[Any]
Options: TypeAlias = Mapping[str, Any]

OURS = "projected_kmeans"
FAISS = "FAISS"
SUPERKMEANS = "superkmeans"
SKLEARN = "scikit-learn KMeans"

DEFAULT = "default"
TO_ITS_END = "to its end"

# Numbers of iterations of peers without a stopping rule; users commonly take 25.
ITERATIONS = (1, 2, 5, 10, 25)


@dataclass(frozen=True)
class Fitted:
    """A partition, and the number of dimensions in which it was found, if known."""

    labels: Labels
    n_components: int | None = None


@dataclass(frozen=True)
class System:
    """How a system fits, its efforts from little to much work, and the package that it needs.

    ``main`` is the effort that goals compare; ``dense`` and ``sparse`` say which rows it takes.
    """

    fit: Callable[[Any, int, Options, int], Fitted]
    efforts: Mapping[str, Options]
    main: str
    package: str = "scikit-learn"
    dense: bool = True
    sparse: bool = True


def fit_ours(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit ours; OpenMP sets its threads."""
    model = ProjectedKMeans(n_clusters=n_clusters, random_state=0, **options).fit(rows)
    return Fitted(model.labels_, model.n_components_)


def fit_sklearn(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit scikit-learn's KMeans once, from its own seeding."""
    return Fitted(KMeans(n_clusters, n_init=1, random_state=0, **options).fit(rows).labels_)


def fit_intelex(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit the KMeans of scikit-learn-intelex once, from its own seeding."""
    from sklearnex.cluster import KMeans as FastKMeans

    limit_threads(n_threads, {})
    return Fitted(FastKMeans(n_clusters, n_init=1, random_state=0, **options).fit(rows).labels_)


def fit_mini_batches(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit scikit-learn's MiniBatchKMeans."""
    model = MiniBatchKMeans(n_clusters, n_init=1, random_state=0, **options).fit(rows)
    return Fitted(model.labels_)


def fit_reduced(
    reduce: Callable[..., Any], rows: Any, n_clusters: int, options: Options, n_threads: int
) -> Fitted:
    """Reduce rows with a transformer of scikit-learn, and fit its KMeans once to the result."""
    t = min(options["n_components"], *rows.shape)
    sketch = reduce(n_components=t, random_state=0).fit_transform(rows)
    return Fitted(KMeans(n_clusters, n_init=1, random_state=0).fit(sketch).labels_, t)


def fit_faiss(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit FAISS's Kmeans to all rows, instead of 256 per center, and label them."""
    import faiss

    faiss.omp_set_num_threads(n_threads)
    model = faiss.Kmeans(
        rows.shape[1],
        n_clusters,
        min_points_per_centroid=1,  # no warning if there are few
        max_points_per_centroid=len(rows),
        **options,
    )
    model.train(rows)
    return Fitted(np.asarray(model.assign(rows)[1]))


def fit_superkmeans(rows: Any, n_clusters: int, options: Options, n_threads: int) -> Fitted:
    """Fit superkmeans to all rows, instead of three tenths of them, and label them."""
    from superkmeans import SuperKMeans

    model = SuperKMeans(
        n_clusters,
        rows.shape[1],
        hierarchical=False,
        sampling_fraction=1.0,
        max_points_per_cluster=len(rows),
        early_termination=False,
        n_threads=n_threads,
        **options,
    )
    centers = model.train(rows)
    return Fitted(np.asarray(model.assign_training_points(rows, centers)).astype(np.int64))


def count_iterations(option: str, *numbers: int) -> dict[str, Options]:
    """Return an effort for each number of iterations."""
    return {f"{n} iteration{'s' if n > 1 else ''}": {option: n} for n in numbers}


def set_option(option: str, *values: Any) -> dict[str, Options]:
    """Return an effort for each value of an option, named as in a call."""
    return {f"{option}={value!r}": {option: value} for value in values}


SYSTEMS: Mapping[str, System] = MappingProxyType(
    {
        OURS: System(
            fit_ours,
            {
                **set_option("polish_iter", 0),
                DEFAULT: {},
                **set_option("n_init", 10),
            },
            main=DEFAULT,
            package="projected_kmeans",
        ),
        FAISS: System(
            fit_faiss,
            count_iterations("niter", *ITERATIONS),
            main="25 iterations",
            package="faiss-cpu",
            sparse=False,
        ),
        SUPERKMEANS: System(
            fit_superkmeans,
            count_iterations("iters", *ITERATIONS),
            main="25 iterations",
            package="superkmeans",
            sparse=False,
        ),
        "MiniBatchKMeans": System(
            fit_mini_batches,
            set_option("batch_size", 1024, 4096, 16384),
            main="batch_size=1024",
        ),
        "PCA + KMeans": System(
            partial(fit_reduced, PCA),
            set_option("n_components", 16, 32, 64),
            main="n_components=64",
            sparse=False,
        ),
        "TruncatedSVD + KMeans": System(
            partial(fit_reduced, TruncatedSVD),
            set_option("n_components", 16, 32, 64),
            main="n_components=64",
            dense=False,
        ),
        "SparseRandomProjection + KMeans": System(
            partial(fit_reduced, partial(SparseRandomProjection, dense_output=True)),
            set_option("n_components", 64, 256),
            main="n_components=256",
        ),
        "scikit-learn-intelex": System(
            fit_intelex,
            {**count_iterations("max_iter", 2, 10), TO_ITS_END: {}},
            main=TO_ITS_END,
            package="scikit-learn-intelex",
            sparse=False,
        ),
        SKLEARN: System(
            fit_sklearn,
            {**count_iterations("max_iter", 2, 10), TO_ITS_END: {}},
            main=TO_ITS_END,
        ),
        f"{SKLEARN}, Elkan": System(
            fit_sklearn,
            {
                "2 iterations": {"algorithm": "elkan", "max_iter": 2},
                TO_ITS_END: {"algorithm": "elkan"},
            },
            main=TO_ITS_END,
        ),
    }
)

"""How clear the clusters of a report are: silhouettes, nearest clusters, variance, true labels.

Measures centers and a sample of the rows; it reads no further rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_samples
from sklearn.metrics.pairwise import euclidean_distances

from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.reports.rows import ClusterWalk, SampledRows
from projected_kmeans.results import Floats, Labels

# Silhouettes need the distances between all rows of the sample: 2,000 rows take about a second.
MAX_SILHOUETTE_ROWS = 2000

# A silhouette needs rows to be compared with: clusters with fewer sampled rows have none.
MIN_CLUSTER_ROWS = 2

# For more clusters the nearest other cluster of each is not looked for.
MAX_COMPARED_CLUSTERS = 2000

# Decimals of silhouettes, which are estimates from a sample.
DECIMALS = 4


class TrueLabel(NamedTuple):
    """The most frequent true label of a cluster, and the share of its rows that have it."""

    name: str
    share: float


class Separation(NamedTuple):
    """How clear each cluster is; entry c belongs to cluster c, and None is not known.

    Attributes
    ----------
    silhouettes : sequence of (float or None)
        The mean silhouette of its sampled rows.
    nearest : sequence of (int or None)
        The cluster whose center is nearest to its center.
    majorities : sequence of (TrueLabel or None)
        Its most frequent true label.
    """

    silhouettes: Sequence[float | None]
    nearest: Sequence[int | None]
    majorities: Sequence[TrueLabel | None]


class Silhouettes(NamedTuple):
    """The mean silhouette of sampled rows, in all and in each cluster.

    Attributes
    ----------
    mean : float
        Between -1 and 1; the higher, the better the clusters are separated.
    clusters : tuple of (float or None)
        The mean of each cluster; None if the sample has too few of its rows.
    rows : int
        The number of rows in the sample.
    """

    mean: float
    clusters: tuple[float | None, ...]
    rows: int


def measure_silhouettes(sample: SampledRows, labels: Labels, n_clusters: int) -> Silhouettes | None:
    """Return the silhouettes of sampled rows in the original columns, by scikit-learn.

    Parameters
    ----------
    sample : SampledRows
        Some rows; the first ones are taken at even distances if there are too many.
    labels : ndarray of int32 (n,)
        The cluster of every row of the fit.
    n_clusters : int
        k.

    Returns
    -------
    Silhouettes or None
        None if fewer than two clusters are in the sample, or every row is a cluster of its own.
    """
    drawn = len(sample.indices)
    every = np.linspace(0, drawn, min(drawn, MAX_SILHOUETTE_ROWS), endpoint=False).astype(int)
    own = labels[sample.indices[every]]
    counts = np.bincount(own, minlength=n_clusters)
    if not 2 <= np.count_nonzero(counts) < len(own):
        return None
    rows = sample.rows[every].astype(np.float64)
    with one_blas_thread():  # so that the result does not depend on the number of threads
        found = silhouette_samples(rows, own)
    sums = np.bincount(own, found, minlength=n_clusters)
    means = [
        round(float(total / count), DECIMALS) if count >= MIN_CLUSTER_ROWS else None
        for total, count in zip(sums, counts, strict=True)
    ]
    return Silhouettes(round(float(found.mean()), DECIMALS), tuple(means), len(own))


def find_nearest_clusters(centers: Floats, sizes: NDArray[np.int64]) -> list[int | None]:
    """Return the cluster whose center is nearest to that of each cluster; empty ones do not count.

    Examples
    --------
    >>> find_nearest_clusters(np.array([[0.0], [1.0], [5.0], [5.0]]), np.array([2, 2, 2, 0]))
    [1, 0, 1, None]
    """
    there = np.flatnonzero(sizes)
    nearest: list[int | None] = [None] * len(centers)
    if not 2 <= len(there) <= MAX_COMPARED_CLUSTERS:
        return nearest
    with one_blas_thread():
        distances = euclidean_distances(centers[there])
    np.fill_diagonal(distances, np.inf)
    for place, other in zip(there.tolist(), distances.argmin(axis=1).tolist(), strict=True):
        nearest[place] = int(there[other])
    return nearest


def explain_variance(walk: ClusterWalk, means: Floats, *, spherical: bool) -> float | None:
    """Return the share of the variance that the clusters explain; None if there is no variance.

    Parameters
    ----------
    walk : ClusterWalk
        The weight of each cluster, and its sum of squared distances to its center.
    means : ndarray (k, d)
        The means of the clusters.
    spherical : bool
        Whether rows and centers have length one. Then the variance is that of the unit rows.
    """
    mass = walk.mass
    mean = np.average(means, axis=0, weights=mass)
    between = float(np.sum(mass * np.sum((means - mean) ** 2, axis=1)))
    within = float(walk.inertia.sum())
    if spherical:  # about the means, which are shorter than the centers
        within -= float(np.sum(np.square(walk.inertia) / np.where(mass > 0, 4 * mass, 1.0)))
    total = between + within
    return min(1.0, between / total) if total > 0 else None


def find_majorities(labels: Labels, truth: Any, n_clusters: int) -> list[TrueLabel | None]:
    """Return the most frequent true label of each cluster; None for empty clusters.

    Examples
    --------
    >>> find_majorities(np.array([0, 0, 0, 1]), ["cat", "cat", "dog", "dog"], 3)[:2]
    [TrueLabel(name='cat', share=0.6666666666666666), TrueLabel(name='dog', share=1.0)]
    """
    names, codes = np.unique(np.asarray(truth).ravel(), return_inverse=True)
    inside = labels >= 0  # other rows were set aside
    pairs, counts = np.unique(
        labels[inside].astype(np.int64) * len(names) + codes[inside], return_counts=True
    )
    totals: Counter[int] = Counter()
    best: dict[int, tuple[int, int]] = {}
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        label, code = divmod(pair, len(names))
        totals[label] += count
        if count > best.get(label, (0, 0))[0]:
            best[label] = (count, code)
    return [
        TrueLabel(str(names[best[label][1]]), best[label][0] / totals[label])
        if label in best
        else None
        for label in range(n_clusters)
    ]

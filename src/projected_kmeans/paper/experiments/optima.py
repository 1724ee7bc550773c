"""The optimum of real instances, enclosed by a proof: the best partition and a lower bound.

`optimum` and `table1` compare clusterings with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.experiments.data_sets import DataSet
from projected_kmeans.results import Floats

# Real data whose optimum a semidefinite bound encloses to 1e-5, and to a percent (digits, ORL).
INSTANCES = ("iris", "wine", "seeds", "breast cancer", "ECG5000", "digits", "ORL")


@lru_cache(maxsize=len(INSTANCES))
def enclose_optimum(data: DataSet, key: int) -> dict[str, Any]:
    """Return the inertia of the best partition found, and a proven lower bound of all others.

    The result is kept in memory for other experiments of the same run.

    Parameters
    ----------
    data : DataSet
        At most some 2,000 dense rows.
    key : int
        Fixes the fit and the proof.
    """
    return enclose_sketch(data.rows, data.n_clusters, key, "full")


def enclose_sketch(rows: Floats, n_clusters: int, key: int, method: str = "auto") -> dict[str, Any]:
    """Return what `enclose_optimum` does for any rows, with less effort by default.

    Parameters
    ----------
    rows : ndarray of float64 (n, d)
        The rows.
    n_clusters : int
        k.
    key : int
        Fixes the fit and the proof.
    method : {"auto", "full"}
        ``certificate`` of the fit.

    Returns
    -------
    dict
        ``inertia`` and ``lower_bound``, their ``ratio``, the ``method`` of the bound, and the
        ``labels`` of the partition.
    """
    model = ProjectedKMeans(n_clusters, projection=None, random_state=key, certificate=method)
    model.fit(rows)
    proof = model.certificate_
    assert proof is not None
    return {
        "inertia": proof.inertia,
        "lower_bound": proof.lower_bound,
        "ratio": proof.ratio,
        "method": proof.method,
        "labels": model.labels_.tolist(),
    }

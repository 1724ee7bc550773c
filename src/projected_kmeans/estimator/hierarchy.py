"""The tree over very many clusters: the coarse cells in which the solver "cells" found them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.results import Clustering, Labels


@dataclass(frozen=True)
class Hierarchy:
    """Cells over clusters, as ``hierarchy_`` of a fit with the solver "cells".

    Attributes
    ----------
    cells : ndarray of int32 (k,)
        The cell of every cluster, from 0 to m - 1.
    centers : ndarray (m, d)
        The centers of the cells in the original space: means of the centers of their clusters,
        weighted by the weights of these. They have the type of ``cluster_centers_``.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.random.default_rng(0).normal(size=(2000, 20)).astype(np.float32)
    >>> model = ProjectedKMeans(60, solver="cells", random_state=0).fit(X)
    >>> tree = model.hierarchy_
    >>> len(tree.cells), tree.centers.shape, int(np.bincount(tree.cells).sum())
    (60, (16, 20), 60)
    """

    cells: Labels
    centers: NDArray[Any]


def describe_hierarchy(
    sketched: Clustering, polished: Clustering, dtype: np.dtype[Any]
) -> Hierarchy | None:
    """Return the cells of a fit, with their centers in the original space; None if it has none.

    Parameters
    ----------
    sketched : Clustering
        What the solver found; its ``cells`` name the cell of every cluster.
    polished : Clustering
        The same clusters in the original space.
    dtype : dtype
        The type of the centers.
    """
    if sketched.cells is None:
        return None
    names, cells = np.unique(sketched.cells, return_inverse=True)
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(len(names)))
    # A cell whose clusters are all empty has the plain mean of their centers.
    mass = np.add.reduceat(polished.mass[order], starts)
    shares = np.where(mass[cells] > 0, polished.mass, 1.0)
    sums = np.add.reduceat(polished.centers[order] * shares[order, None], starts)
    centers = sums / np.add.reduceat(shares[order], starts)[:, None]
    return Hierarchy(cells.astype(np.int32), centers.astype(dtype))

"""SCORE: the first rows of every cluster by a key, such as the distance to the center.

Lists of several blocks are merged in any order (`blocks.tasks.merge_ranked`), so that a walk needs
no more memory than the lists. Of rows with equal keys the one with the lowest index comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import RANKED, Role, merge_ranked
from projected_kmeans.results import Floats, Labels


def no_rows(n_clusters: int, n_listed: int) -> NDArray[Any]:
    """Return lists without rows (k, n_listed): every key is infinity, every row -1."""
    return Role.FIRST.empty((n_clusters, n_listed), RANKED)


def rank_rows(lists: NDArray[Any], labels: Labels, keys: Floats, start: int) -> None:
    """Merge the rows of a block, of which the first has the index ``start``, into their lists.

    Lists (k, n_listed) hold the rows of each cluster with the smallest keys, ascending. They are
    overwritten. Rows with a negative label are in no cluster.
    """
    n_clusters, n_listed = lists.shape
    order = np.lexsort((keys, labels))
    begins = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    places = begins[:-1, None] + np.arange(n_listed)
    there = places < begins[1:, None]
    picked = order[np.minimum(places, len(order) - 1)]
    found = no_rows(n_clusters, n_listed)
    found["key"][there] = keys[picked][there]
    found["row"][there] = picked[there] + start
    merge_ranked(lists, found, out=lists)

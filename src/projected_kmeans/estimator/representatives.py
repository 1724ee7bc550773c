"""The rows that represent clusters: for each center the nearest rows of its cluster.

One walk over the rows, in the memory of one block and of the lists. Rows on Dask are ranked where
they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block, Task, first
from projected_kmeans.checks import check_count
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.label_series import index_of
from projected_kmeans.estimator.prediction import open_source
from projected_kmeans.passes.labelling import LabelledBlock, measure_block
from projected_kmeans.passes.ranked_rows import no_rows, rank_rows
from projected_kmeans.results import Floats


class Representatives(NamedTuple):
    """The rows nearest to each center, nearest first. Row c of each array belongs to cluster c.

    Attributes
    ----------
    rows : ndarray of int64 (k, n)
        Indices of rows; -1 where a cluster has fewer rows.
    distances : ndarray of float64 (k, n)
        Their distances to the center; infinity where a cluster has fewer rows. With
        ``metric="cosine"`` these are distances between directions, sqrt(2 - 2 cosine).
    ids : ndarray of object (k, n) or None
        The ids of these rows, None where a cluster has fewer rows; None if rows have no ids.
    """

    rows: NDArray[np.int64]
    distances: Floats
    ids: NDArray[Any] | None = None

    @classmethod
    def of(cls, lists: NDArray[Any], ids: Sequence[Any] | None = None) -> Representatives:
        """Return what lists of rows and distances hold, with the ids of all rows if they have any.

        Parameters
        ----------
        lists : ndarray of RANKED (k, n)
            Ranked by distance.
        ids : sequence, optional
            One for each row of the data.
        """
        rows = lists["row"].copy()
        named = None
        if ids is not None:
            named = np.full(rows.shape, None, dtype=object)
            for place in np.argwhere(rows >= 0):
                named[tuple(place)] = ids[int(rows[tuple(place)])]
        return cls(rows, lists["key"].copy(), named)


def find_representatives(
    model: FittedModel, X: Any, n_rows: int = 1, ids: Any = None
) -> Representatives:
    """Return the rows nearest to each center among the rows of its cluster.

    Parameters
    ----------
    model : FittedModel
        The centers and how rows are read.
    X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
        Rows.
    n_rows : int, default=1
        Number of rows for each center.
    ids : sequence, optional
        One for each row; by default the index of a pandas DataFrame.
    """
    check_count("n_rows", n_rows)
    lists = no_rows(len(model.centers), n_rows)
    how = (model.n_threads, model.spherical, model.skips_holes)
    kernel = partial(_rank, model.float64_centers, how)
    with open_source(model, X) as source:
        known = check_ids(index_of(X) if ids is None else ids, source.shape[0])
        source.walk(Task(kernel, (first(lists),)))
    return Representatives.of(lists, known)


def check_ids(ids: Any, n_rows: int) -> Sequence[Any] | None:
    """Return the ids of rows as a sequence that counts from 0; raise if there are not n of them."""
    if ids is None:
        return None
    known: Sequence[Any] = np.asarray(ids, dtype=object).tolist()
    if len(known) != n_rows:
        raise ValueError(f"ids has {len(known)} entries for {n_rows} rows; give one for each row")
    return known


def rank_block(lists: NDArray[Any], block: LabelledBlock) -> None:
    """Merge the rows of a measured block into lists by distance."""
    assert block.distances is not None
    rank_rows(lists, block.labels, block.distances, block.start)


def _rank(centers: Floats, how: tuple[int, bool, bool], block: Block, lists: NDArray[Any]) -> None:
    rank_block(lists, measure_block(block, centers, *how))

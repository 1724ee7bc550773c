"""What each cluster is: its size and spread, the columns in which it stands out, its nearest rows.

`passes.cluster_summaries` measures; this module opens rows, names what was measured, and makes
tables. Imports neither pandas nor polars before a frame is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans.blocks.tasks import Block, Task, first
from projected_kmeans.checks import check_count
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.prediction import (
    Checked,
    check_source,
    index_of,
    is_polars,
    open_source,
)
from projected_kmeans.passes.cluster_summaries import (
    ClusterSummaries,
    no_rows,
    rank_rows,
    summarize_clusters,
)
from projected_kmeans.passes.labelling import LabelledBlock, measure_block
from projected_kmeans.results import Floats, Labels

# The number of columns in the name of a cluster.
NAMED_COLUMNS = 3

# A column with a smaller correlation does not stand out: membership in the cluster explains less
# than a hundredth of its variance.
MIN_CORRELATION = 0.1


@dataclass(frozen=True)
class ClusterDescription:
    """What one cluster is.

    Attributes
    ----------
    cluster, rows : int
        The label of the cluster, and its number of rows.
    share : float
        Its share of the rows that are in a cluster, or of their weight.
    spread : float
        The root of the (weighted) mean squared distance of its rows to its center.
    name : str
        Up to three columns in which it stands out, as words.
    columns : tuple of str
        The columns in which it stands out, the most telling first.
    correlations : tuple of float
        The correlation of each of these columns with membership in the cluster.
    values, means : tuple of float
        The mean of each of these columns in the cluster, and over all rows.
    representatives : tuple
        The ids, or else the indices, of the rows nearest to its center.
    distances : tuple of float
        The distances of these rows to the center.
    """

    cluster: int
    rows: int
    share: float
    spread: float
    name: str
    columns: tuple[str, ...]
    correlations: tuple[float, ...]
    values: tuple[float, ...]
    means: tuple[float, ...]
    representatives: tuple[Any, ...]
    distances: tuple[float, ...]


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


class OutstandingColumns(NamedTuple):
    """The columns in which a cluster stands out, the most telling first, and its name by them."""

    indices: list[int]
    names: list[str]
    correlations: list[float]  # with membership in the cluster
    values: list[float]  # means in the cluster
    means: list[float]  # over all rows
    cluster_name: str


def describe_model(
    model: FittedModel,
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ids: Any = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    n_columns: int = 6,
    n_representatives: int = 1,
) -> tuple[ClusterDescription, ...]:
    """Return the descriptions of all clusters; see `ProjectedKMeans.describe_clusters`."""
    check_count("n_columns", n_columns)
    check_count("n_representatives", n_representatives)
    names, k = check_feature_names(model, feature_names), len(model.centers)
    with open_source(model, X) as source:
        known = check_ids(index_of(X) if ids is None else ids, source.shape[0])
        own = None if labels is None else _check_labels(labels, source.shape[0], k)
        checked = check_source(model, source, sample_weight, own)
        measured = summarize_rows(model, checked, n_nearest=n_representatives)
    nearest = Representatives.of(measured.nearest, known)
    sparse = source.sparse

    def describe(cluster: int) -> ClusterDescription:
        columns = find_columns(measured, cluster, names, n_columns, sparse=sparse)
        there = nearest.rows[cluster] >= 0
        shown = nearest.rows if nearest.ids is None else nearest.ids
        return ClusterDescription(
            cluster=cluster,
            rows=int(measured.rows[cluster]),
            share=float(measured.share[cluster]),
            spread=float(measured.spread[cluster]),
            name=columns.cluster_name,
            columns=tuple(columns.names),
            correlations=tuple(columns.correlations),
            values=tuple(columns.values),
            means=tuple(columns.means),
            representatives=tuple(shown[cluster][there].tolist()),
            distances=tuple(nearest.distances[cluster][there].tolist()),
        )

    return tuple(map(describe, range(k)))


def summarize_rows(
    model: FittedModel, checked: Checked, *, n_nearest: int, n_farthest: int = 0
) -> ClusterSummaries:
    """Measure the clusters of checked rows; the listed rows are numbered among all rows."""
    measured = summarize_clusters(
        checked.problem,
        model.float64_centers,
        checked.labels,
        n_nearest=n_nearest,
        n_farthest=n_farthest,
    )
    for lists in (measured.nearest, measured.farthest):
        there = lists["row"] >= 0
        lists["row"][there] = checked.holes.find(lists["row"][there])
    return measured


def find_representatives(
    model: FittedModel, X: Any, n_rows: int = 1, ids: Any = None
) -> Representatives:
    """Return the rows nearest to each center; see `ProjectedKMeans.representatives`.

    Rows are read once, because lists of the nearest rows need no exact sums and so no ranges.
    """
    check_count("n_rows", n_rows)
    lists = no_rows(len(model.centers), n_rows)
    how = (model.n_threads, model.spherical, model.skips_holes)
    kernel = partial(_rank, model.float64_centers, how)
    with open_source(model, X) as source:
        known = check_ids(index_of(X) if ids is None else ids, source.shape[0])
        source.walk(Task(kernel, (first(lists),)))
    return Representatives.of(lists, known)


def rank_block(lists: NDArray[Any], block: LabelledBlock) -> None:
    """Merge the rows of a measured block into lists by distance."""
    assert block.distances is not None
    rank_rows(lists, block.labels, block.distances, block.start)


def _rank(centers: Floats, how: tuple[int, bool, bool], block: Block, lists: NDArray[Any]) -> None:
    rank_block(lists, measure_block(block, centers, *how))


def check_ids(ids: Any, n_rows: int) -> Sequence[Any] | None:
    """Return the ids of rows as a sequence that counts from 0; raise if there are not n of them."""
    if ids is None:
        return None
    known: Sequence[Any] = np.asarray(ids, dtype=object).tolist()
    if len(known) != n_rows:
        raise ValueError(f"ids has {len(known)} entries for {n_rows} rows; give one for each row")
    return known


def _check_labels(labels: ArrayLike, n_rows: int, n_clusters: int) -> Labels:
    known = np.asarray(labels)
    if known.shape != (n_rows,) or known.dtype.kind not in "iu" or not known.max() < n_clusters:
        raise ValueError(
            f"labels holds {known.dtype} values of shape {known.shape}; give each of the {n_rows} "
            f"rows its cluster, below {n_clusters}, or -1 for none"
        )
    return np.ascontiguousarray(np.maximum(known, -1), dtype=np.int32)


def check_feature_names(
    model: FittedModel, feature_names: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Return the names of the columns, by default those of the fit; raise unless one for each."""
    names = model.feature_names if feature_names is None else tuple(map(str, feature_names))
    n_features = model.centers.shape[1]
    if names is not None and len(names) != n_features:
        raise ValueError(
            f"feature_names has {len(names)} entries for {n_features} columns; give one for each"
        )
    return names


def find_columns(
    measured: ClusterSummaries,
    cluster: int,
    names: Sequence[str] | None,
    n_columns: int,
    *,
    sparse: bool,
) -> OutstandingColumns:
    """Return the columns in which a cluster stands out, by their correlations with membership.

    A sparse column is mostly zero: that a word is missing says little about a text, so that only
    positive correlations of sparse columns count. Without names columns are called by numbers.
    """
    scores = measured.correlate(cluster)
    strength = scores if sparse else np.abs(scores)
    telling = np.flatnonzero(strength >= MIN_CORRELATION)
    order = np.argsort(-strength[telling], kind="stable")[:n_columns]
    chosen = telling[order].tolist()
    words = [f"column {column}" if names is None else str(names[column]) for column in chosen]
    correlations = scores[chosen].tolist()
    return OutstandingColumns(
        chosen,
        words,
        correlations,
        measured.means[cluster, chosen].tolist(),
        measured.mean[chosen].tolist(),
        name_cluster(words, correlations, sparse=sparse),
    )


def name_cluster(words: Sequence[str], scores: Sequence[float], *, sparse: bool) -> str:
    """Return the first columns as words: terms as they are, other columns with high or low.

    Examples
    --------
    >>> name_cluster(["age", "visits"], [0.9, -0.4], sparse=False)
    'high age, low visits'
    """
    pairs = list(zip(words, scores, strict=True))[:NAMED_COLUMNS]
    if sparse:
        return ", ".join(word for word, _ in pairs)
    return ", ".join(f"{'high' if score > 0 else 'low'} {word}" for word, score in pairs)


def to_frame(described: Sequence[ClusterDescription], X: Any = None) -> Any:
    """Return descriptions as a data frame: of polars if X is one of polars, else of pandas.

    If one of the two packages is not installed, the other is used.
    """
    table = {field.name: [getattr(one, field.name) for one in described] for field in FIELDS}
    lists = {
        name: [list(cell) if isinstance(cell, tuple) else cell for cell in cells]
        for name, cells in table.items()
    }
    for package in ("polars", "pandas") if is_polars(X) else ("pandas", "polars"):
        try:
            return importlib.import_module(package).DataFrame(lists)
        except ImportError:
            continue
    raise ImportError(
        "describe_clusters returns a data frame and neither pandas nor polars can be imported; "
        "install one of them with pip install pandas"
    )


FIELDS = fields(ClusterDescription)

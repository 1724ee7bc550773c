"""What each cluster is: its size and spread, the columns in which it stands out, its nearest rows.

Describes clusters; `passes.cluster_columns` measures them. Imports neither pandas nor polars before
a frame is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.checks import check_count
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.label_series import index_of, is_polars
from projected_kmeans.estimator.prediction import open_checked
from projected_kmeans.estimator.representatives import Representatives, check_ids
from projected_kmeans.passes.cluster_columns import ClusterColumns, measure_columns
from projected_kmeans.results import Floats

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
        Its share of the rows, or of their weight.
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


def describe_model(
    model: FittedModel,
    X: Any,
    *,
    feature_names: Sequence[str] | None = None,
    ids: Any = None,
    sample_weight: ArrayLike | None = None,
    n_columns: int = 6,
    n_representatives: int = 1,
) -> tuple[ClusterDescription, ...]:
    """Return the descriptions of all clusters; see `ProjectedKMeans.describe_clusters`."""
    check_count("n_columns", n_columns)
    check_count("n_representatives", n_representatives)
    names = check_feature_names(model, feature_names)
    with open_checked(model, X, sample_weight) as checked:
        holes, sparse = checked.holes, checked.problem.source.sparse
        known = check_ids(index_of(X) if ids is None else ids, holes.n_rows)
        measured = measure_columns(checked.problem, model.float64_centers, n_representatives)
    lists = measured.nearest.copy()
    there = lists["row"] >= 0
    lists["row"][there] = holes.find(lists["row"][there])
    nearest = Representatives.of(lists, known)
    return tuple(
        _describe(cluster, measured, nearest, names, n_columns, sparse=sparse)
        for cluster in range(len(model.centers))
    )


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


def _describe(
    cluster: int,
    measured: ClusterColumns,
    nearest: Representatives,
    names: Sequence[str] | None,
    n_columns: int,
    *,
    sparse: bool,
) -> ClusterDescription:
    scores = measured.correlate(cluster)
    chosen = rank_columns(scores, n_columns, sparse=sparse)
    words = name_columns(chosen, names)
    there = nearest.rows[cluster] >= 0
    shown = nearest.rows if nearest.ids is None else nearest.ids
    return ClusterDescription(
        cluster=cluster,
        rows=int(measured.rows[cluster]),
        share=float(measured.mass[cluster] / measured.mass.sum()),
        spread=float(measured.spread[cluster]),
        name=name_cluster(words, scores[chosen].tolist(), sparse=sparse),
        columns=tuple(words),
        correlations=tuple(scores[chosen].tolist()),
        values=tuple(measured.means[cluster, chosen].tolist()),
        means=tuple(measured.mean[chosen].tolist()),
        representatives=tuple(shown[cluster][there].tolist()),
        distances=tuple(nearest.distances[cluster][there].tolist()),
    )


def rank_columns(scores: Floats, n_columns: int, *, sparse: bool) -> list[int]:
    """Return the columns in which a cluster stands out, by their correlations, best first.

    A sparse column is mostly zero: that a word is missing says little about a text, so that only
    positive correlations of sparse columns count.
    """
    strength = scores if sparse else np.abs(scores)
    telling = np.flatnonzero(strength >= MIN_CORRELATION)
    order = np.argsort(-strength[telling], kind="stable")[:n_columns]
    return [int(column) for column in telling[order]]


def name_columns(columns: Sequence[int], names: Sequence[str] | None) -> list[str]:
    """Return the names of some columns; without names they are called by their numbers."""
    return [f"column {column}" if names is None else str(names[column]) for column in columns]


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

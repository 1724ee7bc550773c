"""How rows and centers are shown in a report: as pictures, or by the columns that stand out.

Which rows of a cluster are shown is decided in `clusters`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.estimator.cluster_descriptions import (
    name_cluster,
    name_columns,
    rank_columns,
)
from projected_kmeans.passes.cluster_columns import ClusterColumns
from projected_kmeans.reports.values import ColumnFacts
from projected_kmeans.results import Floats

ImageShape = tuple[int, ...]

# The number of columns that are shown if rows are not pictures.
N_COLUMNS = 6

# Rows are taken for pictures if they have at least 8 x 8 pixels, and neighbouring pixels have at
# least this correlation. It is 0.6 to 0.95 for digits, faces and drawn characters, and below 0.2
# for embeddings.
MIN_SIDE = 8
MIN_CORRELATION = 0.5


def check_image_shape(image_shape: Any, n_features: int) -> ImageShape | None:
    """Return the shape of rows that are pictures; raise if it does not fit the rows.

    Parameters
    ----------
    image_shape : sequence of int or None
        Height and width, and 3 if there are colours; None if the rows are not pictures.
    n_features : int
        The number of columns.

    Examples
    --------
    >>> check_image_shape((8, 8), 64)
    (8, 8)
    >>> check_image_shape((8, 9), 64)
    Traceback (most recent call last):
    ...
    ValueError: image_shape=(8, 9) has 72 values and rows have 64; give the shape of one row
    """
    if image_shape is None:
        return None
    shape = tuple(image_shape)
    whole = all(isinstance(side, int) and side > 0 for side in shape)
    if not whole or len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        raise ValueError(
            f"image_shape={image_shape!r} is not a height and a width; give (height, width), or "
            "(height, width, 3) for colours"
        )
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} has {math.prod(shape)} values and rows have {n_features}; give "
            "the shape of one row"
        )
    return shape


def guess_image_shape(rows: Any, names: Sequence[str] | None) -> ImageShape | None:
    """Return the shape of rows that look like square pictures, grey or in colour, else None.

    Colours are those of a pixel side by side: red, green, blue.

    Parameters
    ----------
    rows : ndarray or sparse (m, d)
        Some rows.
    names : sequence of str or None
        Names of the columns; rows with names are not taken for pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.demo.glyphs import draw_glyphs
    >>> guess_image_shape(draw_glyphs(200, seed=0).images, None)
    (64, 64)
    >>> guess_image_shape(np.random.default_rng(0).normal(size=(200, 64)), None)
    """
    if scipy.sparse.issparse(rows) or names is not None:
        return None
    for colours in ((), (3,)):
        shape = (side := math.isqrt(rows.shape[1] // math.prod(colours)), side, *colours)
        if side < MIN_SIDE or math.prod(shape) != rows.shape[1]:
            continue
        pixels = rows[:500].astype(np.float64).reshape(-1, *shape)
        pixels -= pixels.mean(axis=0)
        beside = _correlate(pixels[:, :, 1:], pixels[:, :, :-1])
        below = _correlate(pixels[:, 1:], pixels[:, :-1])
        if min(beside, below) >= MIN_CORRELATION:
            return shape
    return None


def find_columns(
    measured: ClusterColumns, cluster: int, names: Sequence[str] | None, *, sparse: bool
) -> tuple[list[int], tuple[ColumnFacts, ...], str | None]:
    """Return the columns in which a cluster stands out: indices, facts, and a name made of them.

    Parameters
    ----------
    measured : ClusterColumns
        The means of the clusters, and the mean and deviation of all rows.
    cluster : int
        The cluster.
    names : sequence of str or None
        The names of the columns; without names, columns are called by their numbers.
    sparse : bool
        Whether the rows are sparse, as texts are: only columns above the mean count then.
    """
    scores = measured.correlate(cluster)
    chosen = rank_columns(scores, N_COLUMNS, sparse=sparse)
    words = name_columns(chosen, names)
    facts = tuple(
        ColumnFacts(word, float(measured.means[cluster, column]), float(measured.mean[column]))
        for word, column in zip(words, chosen, strict=True)
    )
    return chosen, facts, name_cluster(words, scores[chosen].tolist(), sparse=sparse) or None


def values_of(row: Any, columns: Sequence[int]) -> tuple[float, ...]:
    """Return the values of a dense or sparse row in some columns."""
    dense = flatten_row(row)
    return tuple(float(dense[column]) for column in columns)


def flatten_row(row: Any) -> NDArray[Any]:
    """Return a dense or sparse row as an array of one dimension."""
    is_sparse: bool = scipy.sparse.issparse(row)
    return np.ravel(row.toarray() if is_sparse else row)


def deviations_of(rows: Any) -> Floats:
    """Return the standard deviation of every column of dense or sparse rows."""
    is_sparse: bool = scipy.sparse.issparse(rows)
    if is_sparse:
        entries = rows.astype(np.float64)
        mean = np.ravel(entries.mean(axis=0))
        squares = np.ravel(entries.multiply(entries).mean(axis=0))
        spread: Floats = np.sqrt(np.maximum(squares - mean**2, 0.0))
        return spread
    found: Floats = rows.astype(np.float64).std(axis=0)
    return found


def _correlate(one: NDArray[Any], other: NDArray[Any]) -> float:
    scale = math.sqrt(float(np.sum(one * one)) * float(np.sum(other * other)))
    return float(np.sum(one * other)) / scale if scale > 0 else 0.0

"""How rows and centers look in a report: as pictures, or by the columns in which they stand out.

Shows rows that it is handed; which of them are typical is measured elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.reports.values import ColumnFacts
from projected_kmeans.results import Floats

ImageShape = tuple[int, ...]

# Columns that are shown of a cluster whose rows are not pictures.
SHOWN_COLUMNS = 6

# Side from which rows may be pictures, and how alike pixels beside one another must be: on digits,
# faces and drawn characters they correlate by 0.6 to 0.95, on embeddings by less than 0.2.
LEAST_SIDE = 8
LEAST_CORRELATION = 0.5


def check_image_shape(image_shape: Any, n_features: int) -> ImageShape | None:
    """Return height and width (and 3 for colours) of rows that are pictures; raise if they are not.

    Parameters
    ----------
    image_shape : sequence of int or None
        None for rows that are no pictures.
    n_features : int
        Columns of the rows.

    Examples
    --------
    >>> check_image_shape((8, 8), 64)
    (8, 8)
    >>> check_image_shape((8, 9), 64)
    Traceback (most recent call last):
    ...
    ValueError: image_shape=(8, 9) has 72 values and rows have 64; give height and width of a row
    """
    if image_shape is None:
        return None
    shape = tuple(image_shape)
    whole = all(isinstance(side, int) and side > 0 for side in shape)
    if not whole or len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        raise ValueError(
            f"image_shape={image_shape!r} is no height and width; give (height, width), with 3 at "
            "the end for colours"
        )
    if math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} has {math.prod(shape)} values and rows have {n_features}; give "
            "height and width of a row"
        )
    return shape


def guess_image_shape(rows: Any, names: Sequence[str] | None) -> ImageShape | None:
    """Return the sides of rows that look like square pictures: pixels are like those beside them.

    Parameters
    ----------
    rows : ndarray or sparse (m, d)
        Some rows.
    names : sequence of str or None
        Names of columns; pixels have none.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans.demo.glyphs import draw_glyphs
    >>> guess_image_shape(draw_glyphs(200, seed=0).images, None)
    (64, 64)
    >>> guess_image_shape(np.random.default_rng(0).normal(size=(200, 64)), None)
    """
    side = math.isqrt(rows.shape[1])
    square = side * side == rows.shape[1] and side >= LEAST_SIDE
    if scipy.sparse.issparse(rows) or names is not None or not square:
        return None
    pixels = rows[:500].astype(np.float64).reshape(-1, side, side)
    pixels -= pixels.mean(axis=0)
    beside = _correlate(pixels[:, :, 1:], pixels[:, :, :-1])
    below = _correlate(pixels[:, 1:], pixels[:, :-1])
    return (side, side) if min(beside, below) >= LEAST_CORRELATION else None


def find_columns(
    center: Floats, mean: Floats, deviation: Floats | None, names: Sequence[str] | None
) -> tuple[list[int], tuple[ColumnFacts, ...]]:
    """Return the columns in which a center stands out, most of all first.

    Parameters
    ----------
    center, mean : ndarray (d,)
        A cluster's mean, and that of all rows.
    deviation : ndarray (d,) or None
        The standard deviations of the columns, in which differences are compared. None looks for
        the largest values above the mean, as suits counts of words.
    names : sequence of str or None
        Of the columns; without them they are called by their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> found = find_columns(np.array([1.0, 9.0]), np.zeros(2), np.ones(2), ["width", "height"])
    >>> [(column.name, column.value) for column in found[1]]
    [('height', 9.0), ('width', 1.0)]
    """
    score = center - mean
    if deviation is not None:
        score = np.abs(score) / np.where(deviation > 0, deviation, np.inf)
    best = np.argsort(-score, kind="stable")[:SHOWN_COLUMNS]
    chosen = [int(column) for column in best if score[column] > 0]
    return chosen, tuple(
        ColumnFacts(
            f"column {column}" if names is None else str(names[column]),
            float(center[column]),
            float(mean[column]),
        )
        for column in chosen
    )


def values_of(row: Any, columns: Sequence[int]) -> tuple[float, ...]:
    """Return a row's values in some columns, dense or sparse."""
    dense = np.ravel(row.toarray() if hasattr(row, "toarray") else row)
    return tuple(float(dense[column]) for column in columns)


def deviations_of(rows: Any) -> Floats | None:
    """Return the standard deviation of every column of dense rows; None for sparse ones."""
    if scipy.sparse.issparse(rows):
        return None
    found: Floats = rows.astype(np.float64).std(axis=0)
    return found


def _correlate(one: NDArray[Any], other: NDArray[Any]) -> float:
    scale = math.sqrt(float(np.sum(one * one)) * float(np.sum(other * other)))
    return float(np.sum(one * other)) / scale if scale > 0 else 0.0

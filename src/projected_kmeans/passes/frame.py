"""Coordinates around the centers, in which float32 keeps its digits and no square overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.results import Floats

# What the precisions of kernels can hold; NumPy takes a microsecond to look them up.
LIMITS = {np.dtype(name): np.finfo(name) for name in (np.float32, np.float64)}

# Numbers of centers that are moved into a frame at a time: 1 MB of float64, which stays in a cache.
PART_SIZE = 2**17


@dataclass(frozen=True)
class Frame:
    """Coordinates in which kernels measure distances: (x - origin) * scale.

    The origin lies near the mean of the centers, so that float32 has its digits where the centers
    differ, even if all data is far from zero. The scale is chosen so that squared distances
    neither overflow nor become zero, whatever the unit of the data.

    The scale is a power of two, and the origin in each column is a multiple of a power of two
    about as large as the spread of the centers. Numbers with few digits, such as small integers,
    are therefore not rounded on their way into the frame, and equal distances between them stay
    equal.
    """

    origin: NDArray[Any]  # (columns,), in the units of the data
    scale: float
    centers: NDArray[Any]  # (k, columns), in the frame; (0, columns) if a kernel moves them itself

    @classmethod
    def around(
        cls,
        centers: Floats,
        dtype: np.dtype[Any],
        ranges: ColumnRanges | None = None,
        *,
        moved: bool = True,
    ) -> Frame:
        """Return the frame of some centers, which holds them if they are ``moved`` into it.

        Kernels compute in ``dtype``, float32 or float64. With ``ranges`` that hold all rows,
        squared distances of all rows fit into it. Without, those of rows very far from all centers
        may be infinite.
        """
        k, n_columns = centers.shape
        length = max(64, PART_SIZE // max(1, k))
        parts = [slice(start, start + length) for start in range(0, n_columns, length)]
        low, high, mean = np.empty((3, n_columns))
        for part in parts:
            some = centers[:, part]
            np.minimum.reduce(some, out=low[part])
            np.maximum.reduce(some, out=high[part])
            np.add.reduce(some, out=mean[part])
        mean /= k
        spread = np.maximum(high - mean, mean - low)
        grid = np.ldexp(1.0, np.frexp(spread)[1])
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is refused below
            origin = np.where(spread > 0, np.rint(mean / grid) * grid, mean).astype(dtype)
        wide = origin.astype(np.float64)
        if ranges is not None:
            low, high = np.minimum(low, ranges.minimum), np.maximum(high, ranges.maximum)
        reach = np.maximum(np.maximum(high - wide, wide - low), np.abs(wide))
        largest = float(np.maximum.reduce(reach))
        limits = LIMITS[dtype]
        # Rows of float32 and their differences are below twice the largest float32 number.
        if not largest < 4 * float(limits.max):
            raise ValueError(
                f"centers reach {float(np.max(np.abs(centers))):.3g}, which {dtype} cannot hold; "
                "give rows of float64"
            )
        exponent = math.frexp(largest)[1]
        # The largest coordinate stays 16 bits below the square root of the largest number, so that
        # the sum of the squares of many columns does not overflow.
        wanted, limit = limits.maxexp // 2 - 16 - exponent, limits.maxexp - 2
        scale = 2.0 ** min(max(wanted, -limit), limit)
        inside = np.empty((k if moved else 0, n_columns), dtype)
        for part in parts if moved else []:
            differences = centers[:, part] - wide[part]
            differences *= scale
            inside[:, part] = differences
        return cls(origin, scale, inside)

    def undo(self, squared: NDArray[Any]) -> Floats:
        """Return squared distances of the frame in the units of the data."""
        return squared.astype(np.float64) / self.scale / self.scale

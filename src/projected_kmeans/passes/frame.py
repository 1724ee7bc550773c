"""Coordinates around the centers in which no square overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.results import Floats


@dataclass(frozen=True)
class Frame:
    """Coordinates around the centers, in a kernel's precision, in which no square overflows.

    Single precision then has its digits where the centers differ, whatever the data's offset and
    unit. The scale is a power of two, and the origin a multiple of one in each column, so that
    neither rounds numbers that are short themselves: ties between them stay ties.
    """

    origin: NDArray[Any]
    scale: float
    centers: NDArray[Any]

    @classmethod
    def around(
        cls, centers: Floats, dtype: np.dtype[Any], ranges: ColumnRanges | None = None
    ) -> Frame:
        """Return the frame of some centers for a computation in ``dtype``.

        Rows within ``ranges`` have squared distances that neither overflow nor vanish beside the
        largest of them.
        """
        mean = centers.mean(axis=0)
        spread = np.maximum(centers.max(axis=0) - mean, mean - centers.min(axis=0))
        grid = np.ldexp(1.0, np.frexp(spread)[1])
        origin = np.where(spread > 0, np.rint(mean / grid) * grid, mean).astype(dtype)
        offsets = centers - origin
        reach = [offsets, origin]
        if ranges is not None:
            reach += [ranges.minimum - origin, ranges.maximum - origin]
        largest = max(float(np.max(part)) for part in reach)
        exponent = math.frexp(max(largest, *(-float(np.min(part)) for part in reach)))[1]
        scale = _power_of_two(np.finfo(dtype).maxexp // 2 - 16 - exponent, dtype)
        offsets *= scale  # in place, as are all steps here: centers may be wide
        return cls(origin, scale, np.ascontiguousarray(offsets, dtype=dtype))

    def undo(self, squared: NDArray[Any]) -> Floats:
        """Return squared distances in the units of the rows."""
        return squared.astype(np.float64) / self.scale / self.scale


def _power_of_two(exponent: int, dtype: np.dtype[Any]) -> float:
    limit = int(np.finfo(dtype).maxexp) - 2
    return 2.0 ** min(max(exponent, -limit), limit)

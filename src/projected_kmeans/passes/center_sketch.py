"""SCORE: nearest centers by lower bounds on distances, from coordinates along few directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import _native
from projected_kmeans.blas_threads import one_blas_thread
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.some_rows import ROUNDING, label_rest
from projected_kmeans.results import Floats, Labels

# Directions of a sketch, and candidates of a row in it.
DIRECTIONS, CANDIDATES = 64, 8


def _open_sketch(rows: NDArray[Any], problem: Problem) -> Problem:
    source = ArrayBlocks(rows)
    return Problem(source, scan_columns(source, problem.n_threads), None, problem.n_threads)


@dataclass(frozen=True)
class CenterSketch:
    """Coordinates of centers along a few directions, and the length of what is left of each.

    The length counts as one more coordinate. Distances between such coordinates are never larger
    than those between the points themselves.

    Attributes
    ----------
    centers : ndarray of float64 (k, d)
        The centers.
    origin : ndarray of float64 (1, d)
        Their mean, rounded to the type of the rows.
    directions : ndarray of float32 or float64 (t, d)
        Orthonormal.
    coordinates : ndarray of float64 (k, t + 1)
        The coordinates of the centers.
    """

    centers: Floats
    origin: Floats
    directions: NDArray[Any]
    coordinates: Floats

    @classmethod
    def of(cls, centers: Floats, dtype: np.dtype[Any]) -> CenterSketch:
        """Find the directions along which centers differ most."""
        origin = centers.mean(axis=0)[None].astype(dtype).astype(np.float64)
        near = centers - origin
        with one_blas_thread():
            _, vectors = np.linalg.eigh(near.T @ near)
            vectors = vectors[:, -DIRECTIONS:]
            along = near @ vectors
        left = np.einsum("ij,ij->i", near, near) - np.einsum("ij,ij->i", along, along)
        coordinates = np.column_stack([along, np.sqrt(np.maximum(left, 0))])
        return cls(centers, origin, np.ascontiguousarray(vectors.T, dtype=dtype), coordinates)

    def label(self, problem: Problem, labels: Labels) -> float:
        """Overwrite labels by the nearest centers; return the share of all products it took."""
        (k, d), (t, n) = self.centers.shape, (len(self.directions), len(labels))
        lengths = np.sqrt(problem.distances(self.origin, np.zeros(n, np.int32)))
        sketch = self._sketch(problem, lengths)
        frame = Frame.around(self.coordinates, sketch.source.dtype, sketch.ranges)
        lists = np.empty((n, CANDIDATES), np.int32)
        # The kernel lists center 0 last if it is not among the nearest.
        _native.candidate_centers(
            sketch.source.select(),
            frame.origin,
            frame.scale,
            frame.centers,
            np.zeros(n, np.int32),
            lists,
            problem.n_threads,
        )
        self._compare(problem, lists, labels)
        own = np.sqrt(problem.distances(self.centers, labels))
        bound = self._bound_others(sketch, lengths, np.ascontiguousarray(lists[:, -2]))
        rest = np.flatnonzero(~(own * (1 + ROUNDING) < bound))
        label_rest(problem, self.centers, rest, labels)
        return float(t / k + 2 * (t + 1) / d + CANDIDATES / k + len(rest) / n)

    def _bound_others(self, sketch: Problem, lengths: Floats, last: Labels) -> Floats:
        """Return lower bounds on the distances of rows to all centers behind their ``last``.

        They are lowered by what rounding may change: the products by which centers were ranked,
        the coordinates along directions, and the length that is left.
        """
        t, d = self.directions.shape
        unit = float(np.finfo(self.directions.dtype).eps) / 2
        reach = lengths + math.sqrt(float(np.max(np.sum(self.coordinates**2, axis=1))))
        ranked = sketch.distances(self.coordinates, last) - 4 * (t + 9) * unit * reach**2
        coarse = (math.sqrt(t + 1) * (d + 8) * unit + 1e-6) * reach
        left = sketch.source.select()[:, -1].astype(np.float64)
        error = 2 * coarse * reach
        bound: Floats = np.sqrt(np.maximum(ranked, 0)) - coarse
        bound -= error / np.maximum(left, np.sqrt(error))
        return bound

    def _sketch(self, problem: Problem, lengths: Floats) -> Problem:
        """Return the coordinates of rows at these distances from the origin."""
        dtype = self.directions.dtype
        along = np.empty((len(lengths), len(self.directions)), dtype)
        rows, origin = problem.source.select(), self.origin[0].astype(dtype)
        _native.direction_product(rows, origin, 1.0, self.directions, along, problem.n_threads)
        wide = along.astype(np.float64)
        left = np.sqrt(np.maximum(lengths**2 - np.einsum("ij,ij->i", wide, wide), 0))
        return _open_sketch(np.column_stack([along, left.astype(dtype)]), problem)

    def _compare(self, problem: Problem, lists: Labels, labels: Labels) -> None:
        """Overwrite labels by the nearest of each row's candidates."""
        dtype = compute_type(problem.source.dtype)
        frame = Frame.around(self.centers, dtype, problem.ranges)
        labels[:] = lists.min(axis=1)
        _native.nearest_candidate(
            problem.source.select(),
            frame.origin,
            frame.scale,
            frame.centers,
            self.centers,
            lists,
            labels,
            problem.n_threads,
        )

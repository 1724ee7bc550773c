"""The grids on which sums are exact: parts merge in any order, and nothing is rounded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import ColumnRanges
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.grids import MomentGrid
from projected_kmeans.passes.problem import Problem
from tests.support.summed_rows import draw_problem


def test_partial_sums_merge_to_the_same_bits() -> None:
    """Sums of parts, made apart and added in any order, are the sums of the whole."""
    X, labels, references, weights = draw_problem(3, 90, 40, 4, "float64")
    labels = labels.astype(np.int32)
    magic = np.full((1, 42), 6.0 * 2.0**40)
    ratios = np.array([2.0**-44, 2.0**-40, 2.0**-24, 2.0**6])
    grid = MomentGrid(magic, ratios)
    whole = [np.zeros((2, 4, 40)), np.zeros((3, 4, 2))]
    _native.cluster_moments(X, labels, None, weights, references, magic, ratios, *whole, 2)
    parts = []
    for rows in np.array_split(np.random.default_rng(1).permutation(90), 7):
        part = [np.zeros((2, 4, 40)), np.zeros((3, 4, 2))]
        _native.cluster_moments(
            X[rows], labels[rows], None, weights[rows], references, magic, ratios, *part, 1
        )
        parts.append(part)
    for order in (range(7), (6, 2, 5, 0, 1, 4, 3)):
        offsets, totals = (sum(parts[index][which] for index in order) for which in range(2))
        np.testing.assert_array_equal(offsets, whole[0])
        np.testing.assert_array_equal(totals[:, :, 0], whole[1][:, :, 0])
        squares = [grid.add_up_squares(one[:, :, 1]) for one in (totals, whole[1])]
        assert squares[0].tobytes() == squares[1].tobytes()


def test_sums_are_correctly_rounded_on_the_grid() -> None:
    """Large rows that cancel leave exactly the sum of the others, because no partial sum rounds."""
    tiny = 2.0**-60
    X = np.array([[1.0], [tiny], [-1.0], [tiny]] * 500)
    source = ArrayBlocks(X)
    ranges = ColumnRanges(np.array([-1.0]), np.array([1.0]))
    found = Problem(source, ranges).sum(np.zeros(2000, np.int32), np.zeros((1, 1)))
    assert Fraction(float(found.offsets[0, 0])) == 1000 * Fraction(tiny)

"""The spacings on which sums over rows are exact, for all clusters alike or for each its own.

float64 adds two numbers without rounding if both are multiples of the same power of two and the
result is below 2^53 times that power. So every term is rounded to a multiple of a coarse spacing, a
power of two so large that no sum reaches 2^53 times it. What rounding left of the term is rounded
to a multiple of a fine spacing and goes into a second sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from projected_kmeans.results import Floats

# 1.5 * 2^52. Adding this number times a spacing to a term, and subtracting it again, rounds the
# term to a multiple of the spacing, because float64 numbers of that size are one spacing apart.
MAGIC = 1.5 * 2.0**52

# The smallest positive number of float64, and the smallest with all its digits.
SMALLEST = 2.0**-1074
SMALLEST_NORMAL = 2.0**-1022


class MomentGrid(NamedTuple):
    """The spacings in the form that kernels take them."""

    # (1 or k, columns + 2): for each column, then for weights, then for squares, `MAGIC` times the
    # coarse spacing; 0 where all terms are 0. A single row serves all clusters. For sparse rows, a
    # value that is not positive marks a column in which every row of the cluster has a stored
    # entry; it rounds alike.
    magic: Floats
    # (4,): the fine spacing divided by the coarse one, for columns and weights. Then for squares:
    # the fine, the middle and the top spacing, each divided by the coarse one.
    ratios: Floats

    def lose(self, *, weighted: bool) -> Floats:
        """Return what each row can lose (3, 1 or k): mass, the length of its offsets, squares."""
        ratio, square_ratio = self.ratios[:2]
        halves = np.abs(self.magic) / (2 * MAGIC)  # half a coarse spacing
        columns, n_columns = halves[:, :-2], halves.shape[1] - 2
        lost = np.zeros((3, len(halves)))
        if weighted:
            lost[0] = halves[:, -2] * ratio + SMALLEST
        lost[1] = np.sqrt(np.einsum("ij,ij->i", columns, columns)) * (ratio * (1 + 2.0**-20))
        lost[1] += math.sqrt(n_columns) * SMALLEST
        lost[2] = n_columns * (halves[:, -1] * square_ratio + SMALLEST * (halves[:, -1] != 0))
        return lost

    def add_up_squares(self, parts: Floats) -> Floats:
        """Return the values of sums of squares (3, k) that kernels left in three parts.

        Kernels may divide the same sum differently. So what the lower parts have too much is
        carried to the parts above first: then the lower parts are at least 0 and below the
        spacing of the next part, which only one division satisfies.
        """
        top, middle, fine = parts
        spacing = self.magic[:, -1] / MAGIC
        # Below the smallest number, float64 has nothing that could be carried.
        middle_spacing, top_spacing = (np.maximum(spacing * r, SMALLEST) for r in self.ratios[2:])
        carried = np.floor(fine / middle_spacing) * middle_spacing
        middle, fine = middle + carried, fine - carried
        carried = np.floor(middle / top_spacing) * top_spacing
        return np.asarray((top + carried) + ((middle - carried) + fine))

    def add_squares_exactly(self, parts: Floats, times: int, terms: Floats, cluster: int) -> Floats:
        """Return the three parts (3,) of a sum to which squares are added so many times."""
        magic = self.magic[cluster % len(self.magic), -1:]
        unit = float(magic[0]) / MAGIC
        fine, middle, top = (max(unit * ratio, SMALLEST) for ratio in self.ratios[1:])
        added = [part.sum() for part in split(terms, magic, self.ratios[1])]
        total = sum(int(part / fine) for part in parts)
        total += times * sum(int(part / fine) for part in added)
        upper, rest = divmod(total, int(top / fine))
        between, lower = divmod(rest, int(middle / fine))
        return np.array([upper * top, between * middle, lower * fine])


def choose_spacings(largest: Floats, n_rows: int) -> MomentGrid:
    """Return spacings on which no sum rounds, for all clusters alike (1, ...) or for each (k, ...).

    ``largest`` are the largest possible sums of weighted distances from the reference in each
    column, that of weights, and the largest weighted squared distance of a single row.

    Columns and weights. Coarse: let 2^e exceed the largest possible sum. With a spacing of
    2^(e - 50) all partial sums are multiples of the spacing and below 2^53 times it. Fine: what
    rounding leaves of a term is at most half a coarse spacing. With up to 2^r rows, a fine spacing
    of 2^(r - 51) times the coarse one keeps these sums exact, too.

    Squares. Let 2^e exceed the sum of squares of one row, and let the row have up to 2^t terms, two
    for each column because sparse rows add differences. A coarse spacing of 2^(e - 50) and a fine
    one of 2^(t - 51) times that, hold the sums over one row. Sums over rows have three parts. The
    top part holds 2^(r + 1) rows with a spacing of 2^(e + r - 51). The middle spacing is 2^-30 of
    that, and the fine one not below 2^-60 of it, so that a part can take what millions of sums
    bring before it is carried to the part above it.
    """
    # Squares of tiny numbers may vanish; their spacing must not.
    differs = np.maximum.reduce(largest[:, :-2], axis=1) > 0
    largest[:, -1] = np.maximum(largest[:, -1], SMALLEST_NORMAL * differs)
    r, t = math.frexp(n_rows)[1], math.frexp(2 * (largest.shape[1] - 2))[1]
    fine = max(t - 51, r - 61)
    exponents = [r - 51, fine, max(r - 31, fine), r - 1]
    magic = np.where(largest > 0, np.ldexp(MAGIC * 2.0**-50, np.frexp(largest)[1]), 0.0)
    return MomentGrid(magic, np.ldexp(1.0, exponents))


def split(terms: Floats, magic: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Return terms rounded to the coarse spacing, and the rest rounded to the fine one.

    Kernels split terms by the same operations, hence to the same bits.
    """
    coarse = (terms + magic) - magic
    return coarse, ((terms - coarse) + magic * ratio) - magic * ratio

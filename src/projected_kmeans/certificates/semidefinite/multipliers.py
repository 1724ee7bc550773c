"""The numbers that make an admissible matrix N, and N itself.

A clustering of rows with weights w has the matrix Z with Z_ij = sqrt(w_i w_j) / W for rows i and j
in the same cluster of weight W, and 0 otherwise. N is *admissible* if <N, Z> >= 0 for the matrix Z
of every clustering. Let D be the diagonal matrix of the sqrt(w_i), and U = D^-1 Z D^-1, which is
1 / W inside clusters. Then, for all rows,

- Z_ij >= 0,
- U_ij <= U_ii (a *pair cut*: both are 1 / W, or the left one is 0),
- U_ij + U_il <= U_ii + U_jl (a *triangle cut*: if both j and l are with i, all four are 1 / W; if
  one is, the two outer ones are; if none is, the left side is 0).

So N = S + D^-1 (sum over cuts c of t_c B_c) D^-1 is admissible if S >= 0 entry by entry and all
t_c >= 0. With E_ij the matrix that has a single 1, and sym(ij) = (E_ij + E_ji) / 2, a pair cut has
B = E_ii - sym(ij), and a triangle cut has B = E_ii + sym(jl) - sym(ij) - sym(il). Without weights D
is the identity.

Rounding. The t_c are rounded down to multiples of a power of two, so coarse that all sums of the
B_c are exact. What is left are the few operations of each entry of N: the square roots, the two
divisions and the sum, at most 8 roundings of numbers that are at most S_ij + |N_ij - S_ij|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blas_threads import strictly
from projected_kmeans.certificates.proof_rows import ROUNDING
from projected_kmeans.results import Floats

# A pair cut has this in place of its third row.
NO_ROW = -1
# Sums of the B_c have at most this many bits, 2 fewer than float64 holds.
GRID_BITS = 51

# Products of smaller roots could have fewer digits than float64 promises, so cuts prove nothing.
SMALLEST_ROOT = 1e-75


class Admissible(NamedTuple):
    """An admissible matrix as computed."""

    matrix: Floats  # (n, n), symmetric to the last bit
    # At least the Frobenius norm of its difference from an exactly admissible matrix; infinity if
    # nothing is known.
    error: float


@dataclass(frozen=True)
class Multipliers:
    """What a search hands to `prove`; numbers that make no admissible N are refused."""

    entries: Floats  # (n, n): S, or any matrix of which S is the symmetric part; not negative
    # (m, 3): the rows i, j, l of each triangle cut; i, j and `NO_ROW` of each pair cut.
    cuts: NDArray[np.int32]
    values: Floats  # (m,): the t_c; not negative

    def __post_init__(self) -> None:
        n_rows = len(self.entries)
        if self.entries.shape != (n_rows, n_rows) or self.cuts.shape != (len(self.values), 3):
            raise ValueError(
                f"entries {self.entries.shape}, cuts {self.cuts.shape} and values "
                f"{self.values.shape} do not fit together; pass (n, n), (m, 3) and (m,)"
            )
        for name, numbers in (("entries", self.entries), ("values", self.values)):
            if not (np.isfinite(numbers) & (numbers >= 0)).all():
                raise ValueError(
                    f"{name} have numbers that are negative or not finite, which prove nothing; "
                    "set them to 0"
                )
        lowest, highest = np.array([0, 0, NO_ROW]), n_rows - 1
        if not ((self.cuts >= lowest) & (self.cuts <= highest)).all():
            raise ValueError(f"cuts name other rows than 0 to {highest}; leave them out")

    @classmethod
    def zero(cls, n_rows: int) -> Multipliers:
        """Return those of N = 0, which prove the spectral bound."""
        nothing = np.zeros((n_rows, n_rows))
        return cls(nothing, np.empty((0, 3), np.int32), np.empty(0))

    def matrix(self, roots: Floats) -> Admissible:
        """Return N, from the square roots of the weights as computed."""
        entries = (self.entries + self.entries.T) / 2
        if not len(self.values):
            return Admissible(entries, 2 * ROUNDING * _norm(entries))
        sums = self.sum_cuts()
        sums /= np.outer(roots, roots)
        error = 8 * ROUNDING * (_norm(entries) + _norm(sums))
        if roots.min() < SMALLEST_ROOT:
            error = math.inf
        entries += sums
        return Admissible(entries, error)

    def sum_cuts(self) -> Floats:
        """Return the sum of t_c B_c, exact for t_c that are rounded down to a grid."""
        n_rows = len(self.entries)
        first, second, third = self.cuts.T.astype(np.int64)
        is_triangle = third != NO_ROW
        triangle = np.where(is_triangle, third, 0)
        # Entries (a, b) and factors of the three terms that stand off the diagonal.
        sides = [(first, second, -0.5), (first, triangle, -0.5), (second, triangle, 0.5)]
        places = [first * (n_rows + 1)]
        for row, column, _ in sides:
            places += [row * n_rows + column, column * n_rows + row]
        values = _to_grid(self.values, np.concatenate(places), n_rows)
        terms = [values]
        for index, (_, _, factor) in enumerate(sides):
            present = values if index == 0 else np.where(is_triangle, values, 0.0)
            terms += [factor * present] * 2
        sums = np.bincount(np.concatenate(places), np.concatenate(terms), minlength=n_rows**2)
        return np.asarray(sums.reshape(n_rows, n_rows))


def _to_grid(values: Floats, places: NDArray[np.int64], n_rows: int) -> Floats:
    """Return values rounded down to multiples of a power of two, so that sums by place are exact.

    All partial sums of a place are at most the sum of all values that go there. As computed, that
    sum may be too small by a factor that is far below 2.
    """
    repeated = np.tile(values, len(places) // max(1, len(values)))
    largest = 2 * float(np.bincount(places, repeated, minlength=n_rows**2).max())
    if not 0 < largest < math.inf:
        return np.zeros_like(values)
    grid = math.frexp(largest)[1] - GRID_BITS
    return np.ldexp(np.floor(np.ldexp(values, -grid)), grid)


def _norm(matrix: Floats) -> float:
    return float(strictly(lambda: np.linalg.norm(matrix)))

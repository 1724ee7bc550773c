"""Multipliers make matrices that are not negative on clusterings, exactly; others are refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW, Multipliers
from tests.support.optima import partitions


def pattern(labels: tuple[int, ...], weights: NDArray[Any]) -> list[list[Fraction]]:
    """Return U of a clustering: 1 / W inside clusters of weight W, 0 outside."""
    masses = {one: Fraction(0) for one in labels}
    for one, weight in zip(labels, weights, strict=True):
        masses[one] += Fraction(float(weight))
    return [[1 / masses[a] if a == b else Fraction(0) for b in labels] for a in labels]


@pytest.mark.parametrize("cut", [(0, 1, NO_ROW), (0, 1, 2), (2, 0, 1), (0, 1, 1), (0, 0, 1)])
def test_every_clustering_meets_every_cut(cut: tuple[int, int, int]) -> None:
    """<B, U> >= 0 for the pattern U of every clustering of four weighted rows."""
    weights = np.array([0.5, 3.0, 1.0, 7.0])
    matrix = Multipliers(np.zeros((4, 4)), np.array([cut], np.int32), np.ones(1)).sum_cuts()
    for labels in partitions(4, 4):
        U = pattern(labels, weights)
        assert sum(Fraction(matrix[i, j]) * U[i][j] for i in range(4) for j in range(4)) >= 0


def test_a_cut_has_the_entries_of_its_inequality() -> None:
    """A pair cut is Z_ii - Z_ij, and a triangle cut Z_ii + Z_jl - Z_ij - Z_il, symmetric."""
    cuts = np.array([[0, 2, NO_ROW], [1, 0, 2]], np.int32)
    one = Multipliers(np.zeros((3, 3)), cuts, np.array([2.0, 0.0])).sum_cuts()
    other = Multipliers(np.zeros((3, 3)), cuts, np.array([0.0, 2.0])).sum_cuts()
    assert one.tolist() == [[2, 0, -1], [0, 0, 0], [-1, 0, 0]]
    assert other.tolist() == [[0, -1, 1], [-1, 2, -1], [1, -1, 0]]


def test_sums_of_cuts_are_exact() -> None:
    """Thousands of multipliers of all sizes add up to an exactly admissible matrix."""
    stream = np.random.default_rng(0)
    cuts = stream.integers(7, size=(5000, 3)).astype(np.int32)
    cuts[::3, 2] = NO_ROW
    values = 10.0 ** stream.uniform(-20, 3, size=5000)
    found = Multipliers(np.zeros((7, 7)), cuts, values)
    matrix = found.sum_cuts()
    assert (matrix == matrix.T).all()
    for labels in partitions(7, 7)[::25]:
        U = pattern(labels, np.ones(7))
        assert sum(Fraction(matrix[i, j]) * U[i][j] for i in range(7) for j in range(7)) >= 0
    # Rounding down loses little.
    roots = np.ones(7)
    assert np.trace(found.matrix(roots).matrix) == pytest.approx(
        values.sum()
        + values[(cuts[:, 1] == cuts[:, 2])].sum()
        - values[cuts[:, 0] == cuts[:, 1]].sum()
        - values[cuts[:, 0] == cuts[:, 2]].sum(),
        rel=1e-10,
    )


def test_the_error_covers_the_division_by_roots() -> None:
    """With weights, the matrix differs from the exact one by at most the error that is told."""
    stream = np.random.default_rng(2)
    weights = stream.random(6) + 0.01
    cuts = stream.permuted(np.tile(np.arange(6), (40, 1)), axis=1)[:, :3].astype(np.int32)
    found = Multipliers(stream.random((6, 6)), cuts, stream.random(40))
    matrix, error = found.matrix(np.sqrt(weights))
    sums, total = found.sum_cuts(), 0.0
    for i in range(6):
        for j in range(6):
            entry = Fraction(found.entries[i, j] + found.entries[j, i]) / 2
            left = Fraction(matrix[i, j]) - entry  # sums / (r_i r_j), squared to avoid the roots
            exact = Fraction(sums[i, j]) ** 2 / Fraction(weights[i]) / Fraction(weights[j])
            total += float(abs(left**2 - exact) / max(abs(left), Fraction(1, 10**9))) ** 2
    assert (matrix == matrix.T).all()
    assert np.sqrt(total) / 2 <= error < 1e-13


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"entries": -np.eye(3)}, "entries have numbers that are negative or not finite"),
    ({"entries": np.full((3, 3), np.nan)}, "entries have numbers that are negative or not finite"),
    ({"entries": np.full((3, 3), np.inf)}, "entries have numbers that are negative or not finite"),
    ({"entries": np.zeros((3, 2))}, "do not fit together"),
    ({"values": np.array([-1e-300])}, "values have numbers that are negative or not finite"),
    ({"values": np.ones(2)}, "do not fit together"),
    ({"cuts": np.array([[0, 1, 3]], np.int32)}, "cuts name other rows than 0 to 2"),
    ({"cuts": np.array([[0, -1, 2]], np.int32)}, "cuts name other rows than 0 to 2"),
    ({"cuts": np.array([[0, 1, -2]], np.int32)}, "cuts name other rows than 0 to 2"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_what_is_not_admissible_is_refused(changes: dict[str, Any], message: str) -> None:
    """Negative numbers, NaN, unknown rows and wrong sizes give one sentence."""
    right = {
        "entries": np.zeros((3, 3)),
        "cuts": np.array([[0, 1, 2]], np.int32),
        "values": np.ones(1),
    }
    assert Multipliers(**right).sum_cuts().any()
    with pytest.raises(ValueError, match=message):
        Multipliers(**(right | changes))

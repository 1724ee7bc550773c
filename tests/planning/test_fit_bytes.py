"""The count of the bytes that a fit takes."""

from __future__ import annotations

import pytest

from projected_kmeans.planning.approach import choose_approach
from projected_kmeans.planning.fit_bytes import count_bytes, count_selected_bytes
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes

SIZES = Sizes(90_000, 784, 100, 4)


def test_a_fit_by_hand() -> None:
    """Digits, 100 clusters: centers and matrices, 68 bytes a row, the sketch, the subsample."""
    found = count_bytes(SIZES, choose_approach(Settings(100), SIZES))
    swapping = 8 * 16 * 100 * 64
    assert found.tables == 8 * 784 * (8 * 100 + 3 * 128) + swapping
    assert found.state == 90_000 * 68
    assert found.sketch == 90_000 * 64 * 4
    assert found.subsample == 25_600 * (64 * 4 + 60)
    assert found.total == found.tables + found.state + found.sketch + found.subsample


def test_rows_that_are_not_projected_need_no_sketch() -> None:
    """Dense rows have no sketch; sparse rows are seeded on one of 64 columns."""
    settings = Settings(100, projection=None)
    sparse = Sizes(90_000, 784, 100, 4, n_nonzeros=10**6)
    assert count_bytes(SIZES, choose_approach(settings, SIZES)).sketch == 0
    assert count_bytes(sparse, choose_approach(settings, sparse)).sketch == 90_000 * 64 * 4


def test_finalists_and_candidates_are_counted() -> None:
    """Several finalists are lifted with 24 sets of centers; a candidate takes 2 bytes a row."""
    small, many = Sizes(2000, 784, 10, 8), Sizes(90_000, 784, 200, 4)
    finalists = choose_approach(Settings(10, solver="lloyd"), small)
    assert (finalists.n_init, finalists.subsample_rows) == (3, 0)
    assert count_bytes(small, finalists).tables == 8 * 784 * (24 * 10 + 3 * 2 * 34)
    candidates = choose_approach(Settings(200), many)
    assert count_bytes(many, candidates).state == 90_000 * (68 + 2 * 16)


def test_restarts_inside_a_kernel_hold_all_rows() -> None:
    """Restarts inside a kernel hold two copies of the rows in float64, and lift one partition."""
    sizes = Sizes(1797, 64, 10, 8)
    found = count_bytes(sizes, choose_approach(Settings(10), sizes))
    assert found.subsample == 1797 * (2 * 8 * 64 + 100)
    assert found.tables == 8 * 64 * 8 * 10


def test_wide_rows_are_counted_as_hashed() -> None:
    """Directions of wide rows are found in 8,192 columns; dense rows are hashed beforehand."""
    dense, sparse = Sizes(3000, 30_000, 20, 4), Sizes(20_000, 10**6, 30, 4, 4_000_000)
    matrices = 3 * 128 * 8192 * 8
    approach = choose_approach(Settings(20, solver="breathing"), dense)
    hashed = (3000 + 1024) * 8192 * 4
    assert count_bytes(dense, approach).tables == 8 * 30_000 * 24 * 20 + matrices + hashed
    assert count_selected_bytes(dense, approach, stored=True, needs_all=False) == 0
    approach = choose_approach(Settings(30), sparse)
    swaps = 8 * 16 * 30 * 64  # if the rows turn out to have heavy tails
    assert count_bytes(sparse, approach).tables == 8 * 10**6 * 8 * 30 + matrices + swaps
    selected = (5120 + 1024) * 4_000_000 * 8 // 20_000
    assert count_selected_bytes(sparse, approach, stored=True, needs_all=False) == selected


@pytest.mark.parametrize(
    ("projection", "stored", "expected"),
    [
        ("svd", True, (5120 + 1024) * 784 * 4),
        ("svd", False, (5120 + 1024) * 784 * 4),
        ("sign", True, 0),
        (None, True, 0),
        ("columns", True, 90_000 * 784 * 4),
        ("columns", False, 0),
    ],
)
def test_rows_that_are_selected(projection: str | None, stored: bool, expected: int) -> None:
    """Directions need their sample, sampled columns need all rows, other maps need none."""
    approach = choose_approach(Settings(100, projection=projection), SIZES)
    assert count_selected_bytes(SIZES, approach, stored=stored, needs_all=False) == expected
    everything = 90_000 * 784 * 4 if stored else 0
    assert count_selected_bytes(SIZES, approach, stored=stored, needs_all=True) == everything

"""Which fits are made in cells: decided from sizes and settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from projected_kmeans.planning.approach import choose_approach
from projected_kmeans.planning.cell_plan import count_held_rows, takes_cells
from projected_kmeans.planning.fit_bytes import count_bytes
from projected_kmeans.planning.forecast import forecast
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes

MANY = Sizes(500_000, 384, 8192, 4)


@pytest.mark.parametrize(
    ("settings", "sizes", "expected"),
    [
        (Settings(8192), MANY, True),
        (Settings(499), Sizes(90_000, 784, 499, 4), False),
        (Settings(1000), Sizes(3_999, 784, 1000, 4), False),
        (Settings(1000), Sizes(4_000, 784, 1000, 4), True),
        (Settings(8192, solver="lloyd"), MANY, False),
        (Settings(8192, n_init=1), MANY, True),
        (Settings(8192, n_init=2), MANY, False),
        (Settings(8192, n_init=2, solver="cells"), MANY, True),
        (Settings(8192, init="random"), MANY, False),
        (Settings(8192, init=lambda *_: None), MANY, False),
        (Settings(8192, projection=None), MANY, True),
        (Settings(8192, projection=None, metric="cosine"), MANY, False),
        (Settings(8192, projection=None), Sizes(500_000, 384, 8192, 4, 10**7), False),
        (Settings(8192), Sizes(500_000, 384, 8192, 4, 10**7), True),
        (Settings(20, solver="cells"), Sizes(3000, 40, 20, 4), True),
    ],
)
def test_cells_are_taken_where_they_win(settings: Settings, sizes: Sizes, expected: bool) -> None:
    """From 500 clusters of 8 rows on, unless the caller asks for what cells cannot do."""
    approach = choose_approach(settings, sizes)
    assert (approach.solver == "cells") == expected
    assert takes_cells(settings, sizes, approach.projection) == expected


def test_what_the_caller_fixes_stays() -> None:
    """Settings come before the plan, and held rows depend on sizes alone."""
    fixed: dict[str, Any] = {"inertia_tol": 1e-6, "polish_iter": 3, "polish_candidates": 16}
    approach = choose_approach(Settings(8192, **fixed), MANY)
    assert {name: getattr(approach, name) for name in fixed} == fixed
    assert approach.wide_candidates == 16
    assert choose_approach(Settings(8192), MANY).wide_candidates == 128
    assert approach.subsample_rows == count_held_rows(MANY) == 500_000
    assert choose_approach(Settings(8192, polish_candidates=None), MANY).polish_candidates == 0


def test_bytes_and_seconds_are_counted_for_cells() -> None:
    """No list a row is counted for dense rows, but the copy of the sketch is; cells take less."""
    cells, flat = (
        choose_approach(Settings(8192, solver=name), MANY) for name in ("cells", "lloyd")
    )
    counted = count_bytes(MANY, cells)
    assert counted.subsample == 500_000 * (64 * 4 + 60)
    assert counted.state == 500_000 * 68
    drawn = Sizes(5_000_000, 384, 1000, 4)
    twice = count_bytes(drawn, choose_approach(Settings(1000), drawn))
    assert twice.subsample == -(-5_000_000 // 9) * 64 * 4  # for dividing clusters
    few = replace(drawn, n_clusters=600)
    twice = count_bytes(few, choose_approach(Settings(600), few))
    assert twice.subsample == max(2**17 * (2 * 64 * 4 + 60), -(-5_000_000 // 16) * 64 * 4)
    assert forecast(MANY, cells, 1).total < forecast(MANY, flat, 1).total

"""Forecasts: they grow with the work, and count the bytes that the memory plan counts."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.planning.approach import choose_approach
from projected_kmeans.planning.fit_bytes import count_bytes
from projected_kmeans.planning.forecast import forecast, measure_speed
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.size_race import count_starts
from projected_kmeans.planning.sizes import Sizes

SIZES = Sizes(90_000, 784, 100, 4)


def test_forecasts_grow_with_the_work() -> None:
    """More rows take longer in every step, and more memory; all numbers are positive."""
    approach = choose_approach(Settings(100), SIZES)
    one, ten = forecast(SIZES, approach), forecast(Sizes(900_000, 784, 100, 4), approach)
    assert set(one.seconds) == {"check", "reduce", "seed", "cluster", "lift", "polish"}
    assert all(0 < one.seconds[step] <= ten.seconds[step] < np.inf for step in one.seconds)
    assert one.total == pytest.approx(sum(one.seconds.values()))
    more_rows = 810_000 * (64 * 4 + 68)  # a row of the sketch, its state and its weight
    assert (ten.megabytes - one.megabytes) * 2**20 == pytest.approx(more_rows)
    assert one.megabytes * 2**20 < 2 * 90_000 * 64 * 4


@pytest.mark.parametrize("projection", ["svd", "sign", "sparse-sign", None])
def test_the_forecast_counts_the_bytes_of_the_memory_plan(projection: str | None) -> None:
    """Megabytes are those that a limit of memory is compared with."""
    approach = choose_approach(Settings(100, projection=projection), SIZES)
    assert forecast(SIZES, approach).megabytes == count_bytes(SIZES, approach).total / 2**20


def test_limits_of_sizes_cost_passes() -> None:
    """Passes that keep limits are counted, those of all starts where several compete."""
    for sizes in (Sizes(10_000, 50, 10, 4), SIZES):
        k = sizes.n_clusters
        free, limited = (
            forecast(sizes, choose_approach(Settings(k, balanced=balanced), sizes)).seconds
            for balanced in (False, True)
        )
        assert limited["cluster"] > free["cluster"]
        assert limited["polish"] >= 0
    one, eight = count_starts(90_000, 100), count_starts(10_000, 10)
    assert (one, eight) == (1, 8)


def test_no_map_costs_nothing_to_reduce_and_lift() -> None:
    """Without a projection there is nothing to reduce, to lift or to polish."""
    approach = choose_approach(Settings(100, projection=None), SIZES)
    seconds = forecast(SIZES, approach).seconds
    assert [seconds[step] for step in ("reduce", "lift", "polish")] == [0, 0, 0]


def test_the_speed_of_a_machine() -> None:
    """The machine does at least a tenth of a billion operations a second, and is timed once."""
    speed = measure_speed()
    assert speed.products > 1e8
    assert speed.reads > 1e8
    assert measure_speed() is speed

"""Forecasts: they grow with the work, and count the bytes that the memory plan counts."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.search.approach import choose_approach
from projected_kmeans.search.forecast import forecast_fit, measure_speed
from projected_kmeans.search.memory_plan import count_bytes
from projected_kmeans.search.settings import Settings, Sizes

SIZES = Sizes(90_000, 784, 100, 4)


@pytest.mark.parametrize("k", [5, 100, 3000])
def test_forecasts_grow_with_the_work(k: int) -> None:
    """More rows take longer in all, and more memory; all numbers are positive."""
    sizes, many = Sizes(90_000, 784, k, 4), Sizes(900_000, 784, k, 4)
    one = forecast_fit(Settings(k), sizes)
    ten = forecast_fit(Settings(k), many)
    assert set(one.seconds) == {"check", "reduce", "seed", "cluster", "lift", "polish"}
    assert all(0 < seconds < np.inf for seconds in (*one.seconds.values(), *ten.seconds.values()))
    assert one.total == pytest.approx(sum(one.seconds.values()))
    assert ten.total > one.total
    more = (ten.megabytes - one.megabytes) * 2**20
    assert more >= 810_000 * 4 * choose_approach(Settings(k), sizes).n_components


def test_more_clusters_take_longer() -> None:
    """Passes among near centers cost less than passes over all, but more clusters cost more."""
    totals = []
    for k in (10, 100, 1000, 10_000):
        sizes = Sizes(200_000, 256, k, 4)
        totals.append(forecast_fit(Settings(k), sizes).total)
    assert totals == sorted(totals)
    sizes = Sizes(200_000, 256, 10_000, 4)
    full = forecast_fit(Settings(10_000, solver="lloyd"), sizes)
    assert full.seconds["cluster"] > totals[-1]


@pytest.mark.parametrize("projection", ["svd", "sign", "sparse-sign", None])
@pytest.mark.parametrize("limited", [False, True])
def test_the_forecast_counts_the_bytes_of_the_memory_plan(
    projection: str | None, limited: bool
) -> None:
    """Megabytes are those that a limit of memory is compared with."""
    settings = Settings(100, projection=projection, balanced=limited)
    approach = choose_approach(settings, SIZES)
    counted = count_bytes(SIZES, approach, approach.n_components, limited=limited)
    assert forecast_fit(settings, SIZES).megabytes == counted.total / 2**20


def test_limits_of_sizes_cost_passes() -> None:
    """Passes that keep limits are counted."""
    for sizes in (Sizes(10_000, 50, 10, 4), SIZES):
        k = sizes.n_clusters
        free, limited = (
            forecast_fit(Settings(k, balanced=balanced), sizes).seconds
            for balanced in (False, True)
        )
        assert limited["cluster"] > free["cluster"]
        assert limited["polish"] >= free["polish"]


def test_no_map_costs_nothing_to_reduce_and_lift() -> None:
    """Without a projection there is nothing to reduce, to lift or to polish."""
    seconds = forecast_fit(Settings(100, projection=None), SIZES).seconds
    assert [seconds[step] for step in ("reduce", "lift", "polish")] == [0, 0, 0]


def test_the_speed_of_a_machine() -> None:
    """The machine does at least a tenth of a billion operations a second, and is timed once."""
    speed = measure_speed()
    assert speed.products > 1e8
    assert speed.reads > 1e8
    assert measure_speed() is speed

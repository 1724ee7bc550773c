"""Recipes: settings with every "auto" resolved, and the map built."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from projected_kmeans import SignProjection, SpectralProjection
from projected_kmeans.search.approach import choose_approach
from projected_kmeans.search.memory_plan import MemoryPlan
from projected_kmeans.search.recipe import resolve_recipe
from projected_kmeans.search.settings import Settings, Sizes

SIZES = Sizes(9000, 500, 20, 8)


def test_a_recipe_has_its_map() -> None:
    """The map is fitted to the shape of the rows, with the dimensions of the approach."""
    settings = Settings(20, random_state=7, n_threads=2)
    recipe = resolve_recipe(settings, SIZES)
    assert (recipe.key, recipe.n_threads) == (7, 2)
    assert recipe.memory == MemoryPlan(total_bytes=recipe.memory.total_bytes)
    assert isinstance(recipe.projection, SpectralProjection)
    approach = choose_approach(settings, SIZES)
    assert recipe.projection.n_components_ == approach.n_components
    assert (recipe.projection.key_, recipe.projection.n_features_in_) == (7, 500)
    assert recipe.solve is recipe.own_solver is recipe.limits is None


def test_the_map_decides_only_where_t_is_open() -> None:
    """Principal directions choose their number, unless the caller names it or eps."""
    free = resolve_recipe(Settings(20), SIZES).projection
    assert isinstance(free, SpectralProjection)
    assert free.n_components == "auto"
    for options in ({"n_components": 9}, {"eps": 0.5}):
        fixed = resolve_recipe(Settings(20, **options), SIZES).projection
        assert isinstance(fixed, SpectralProjection)
        assert fixed.n_components == fixed.n_components_ == options.get("n_components", 40)


def test_solvers_that_need_an_array_are_refused_on_dask() -> None:
    """Without a projection rows of workers cannot become one array."""
    there = replace(SIZES, stored=True, distant=True)
    for solver in ("exact", KMeans(20)):
        settings = Settings(20, solver=solver, projection=None)
        with pytest.raises(ValueError, match="cannot work on rows of Dask's workers; use"):
            resolve_recipe(settings, there)
        resolve_recipe(Settings(20, solver=solver), there)


def test_the_map_of_the_caller_is_copied() -> None:
    """A transformer is cloned, so that the caller's own is never fitted; None stays None."""
    for own in (PCA(3), SignProjection(3)):
        recipe = resolve_recipe(Settings(20, projection=own), SIZES)
        assert type(recipe.projection) is type(own)
        assert recipe.projection is not own
        assert choose_approach(Settings(20, projection=own), SIZES).projection == "transformer"
    assert resolve_recipe(Settings(20, projection=None), SIZES).projection is None


def test_a_random_state_is_resolved_once() -> None:
    """A RandomState gives one key for the run and its map, and another one for the next run."""
    state = np.random.RandomState(0)
    one, other = (
        resolve_recipe(Settings(20, projection="sign", random_state=state), SIZES) for _ in range(2)
    )
    assert isinstance(one.projection, SignProjection)
    assert one.projection.key_ == one.key != other.key

"""Recipes: settings with every "auto" resolved, and the map built."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA

from projected_kmeans import SignProjection, SpectralProjection
from projected_kmeans.planning.approach import choose_approach
from projected_kmeans.planning.memory_plan import MemoryPlan
from projected_kmeans.planning.recipe import resolve_recipe
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes

SIZES = Sizes(9000, 500, 20, 8)


def test_a_recipe_has_the_approach_and_its_map() -> None:
    """The map is fitted to the shape of the rows, with the dimensions of the approach."""
    settings = Settings(20, random_state=7, n_threads=2)
    recipe = resolve_recipe(settings, SIZES)
    assert recipe.approach == choose_approach(settings, SIZES)
    assert (recipe.key, recipe.n_threads, recipe.memory) == (7, 2, MemoryPlan())
    assert isinstance(recipe.projection, SpectralProjection)
    assert recipe.projection.n_components_ == recipe.approach.n_components == 64
    assert (recipe.projection.key_, recipe.projection.n_features_in_) == (7, 500)


def test_the_map_of_the_caller_is_copied() -> None:
    """A transformer is cloned, so that the caller's own is never fitted; None stays None."""
    for own in (PCA(3), SignProjection(3)):
        recipe = resolve_recipe(Settings(20, projection=own), SIZES)
        assert type(recipe.projection) is type(own)
        assert recipe.projection is not own
        assert recipe.approach.projection == "transformer"
    assert resolve_recipe(Settings(20, projection=None), SIZES).projection is None


def test_a_random_state_is_resolved_once() -> None:
    """A RandomState gives one key for the run and its map, and another one for the next run."""
    state = np.random.RandomState(0)
    one, other = (
        resolve_recipe(Settings(20, projection="sign", random_state=state), SIZES) for _ in range(2)
    )
    assert isinstance(one.projection, SignProjection)
    assert one.projection.key_ == one.key != other.key

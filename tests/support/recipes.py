"""Recipes for steps that are tested one by one."""

from __future__ import annotations

from typing import Any

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.search.approach import Sizes
from projected_kmeans.search.recipe import Recipe, resolve_recipe
from projected_kmeans.search.settings import Settings


def make_recipe(rows: BlockSource, **options: Any) -> Recipe:
    """Return the recipe of a model with five clusters and a sign map, unless told otherwise."""
    model = ProjectedKMeans(5, random_state=3, **{"projection": "sign", **options})
    return resolve_recipe(Settings.of(model.get_params(deep=False)), Sizes.of(rows, 5))

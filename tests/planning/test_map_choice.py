"""Which map "auto" means, with how many dimensions, and the reason."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from projected_kmeans import ProjectedKMeans, target_dimension
from projected_kmeans.planning.map_choice import choose_automatic_map, choose_map
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes
from tests.support.blobs import draw_blobs

WIDE = Sizes(9000, 5000, 40, 8)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (Sizes(90_000, 784, 100, 4), ("svd", 64)),
        (Sizes(90_000, 784, 10, 4), ("svd", 34)),
        (Sizes(90_000, 64, 100, 4), (None, 64)),
        (Sizes(1000, 20, 8, 8), (None, 20)),
        (Sizes(1000, 5000, 1, 8), (None, 5000)),
        (Sizes(10_000, 1_000_000, 10, 4), ("svd", 34)),
        (Sizes(20_000, 1_000_000, 30, 4, 4_000_000), ("svd", 64)),
        (Sizes(50_000, 100_000, 50, 4, 5_000_000), ("svd", 64)),
        (Sizes(50_000, 100_000, 50, 4, 2_000_000_000), ("sign", target_dimension(50))),
    ],
)
def test_sizes_decide_the_map(sizes: Sizes, expected: tuple[str | None, int]) -> None:
    """Few columns are kept, many are projected, and long sparse rows only by signs."""
    assert choose_automatic_map(sizes, None)[:2] == expected


def test_the_reason_tells_of_hashed_columns() -> None:
    """Rows that are wide enough to be hashed are said to be."""
    wide, narrow = Sizes(600, 200_000, 10, 4), Sizes(600, 2000, 10, 4)
    assert choose_automatic_map(wide, None).reason.endswith("of 200000 columns, hashed to 8192")
    assert choose_automatic_map(narrow, None).reason.endswith("of 2000 columns")


def test_eps_asks_for_what_its_theorem_says() -> None:
    """A named eps is honoured without a cap, and where d is smaller the reason says so."""
    wide = Sizes(9000, 5000, 40, 8)
    assert choose_automatic_map(wide, 0.1)[:2] == ("svd", 400)
    name, t, reason = choose_automatic_map(Sizes(9000, 300, 40, 8), 0.1)
    assert (name, t) == (None, 300)
    assert reason == "eps=0.1 asks for no fewer than all 300 columns (Cohen et al. 2015)"
    X, _ = draw_blobs(d=60)
    model = ProjectedKMeans(3, eps=0.2, random_state=0).fit(X)
    assert model.n_components_ == 15
    assert ProjectedKMeans(3, projection="sign", eps=0.5).fit(X).n_components_ == target_dimension(
        3, eps=0.5
    )


@pytest.mark.parametrize(
    ("settings", "name", "n_components", "reason"),
    [
        (Settings(40, projection=None), None, 5000, "the caller wants no projection"),
        (Settings(40, projection=PCA(3)), "transformer", 5000, "a map of their own"),
        (Settings(40, projection="sign"), "sign", target_dimension(40), "wants this map"),
        (Settings(40, projection="svd"), "svd", 64, "wants this map"),
        (Settings(40, projection="svd", eps=0.1), "svd", 400, "wants this map"),
        (Settings(4, projection="columns", eps=0.9), "columns", 11, "wants this map"),
        (Settings(40, projection="hadamard", n_components=7), "hadamard", 7, "wants this map"),
        (Settings(40, n_components=5000), None, 5000, "n_components=5000 keeps all columns"),
        (Settings(40, n_components=9), "svd", 9, "principal directions keep"),
    ],
)
def test_the_caller_comes_first(
    settings: Settings, name: str | None, n_components: int, reason: str
) -> None:
    """A map or a number of dimensions that the caller names is taken."""
    sizes = Sizes(9000, 5000, settings.n_clusters, 8)
    chosen = choose_map(settings, sizes)
    assert chosen[:2] == (name, n_components)
    assert reason in chosen.reason


def test_few_columns_are_reduced_only_if_asked() -> None:
    """50 columns are not worth a sketch, unless the caller names fewer dimensions."""
    sizes = Sizes(9000, 50, 40, 8)
    assert choose_map(Settings(40), sizes).name is None
    chosen = choose_map(Settings(40, n_components=9), sizes)
    assert chosen == ("svd", 9, "n_components=9 is fewer than 50 columns")


@pytest.mark.parametrize("name", ["sign", "sparse-sign", "hadamard", "gaussian", "svd", "columns"])
def test_the_map_of_a_fit_has_the_chosen_dimensions(name: str) -> None:
    """The dimensions that are planned are those of the map that a fit builds."""
    X = np.random.default_rng(0).normal(size=(60, 40))
    model = ProjectedKMeans(3, projection=name, eps=0.6, random_state=0).fit(X)
    chosen = choose_map(Settings(3, projection=name, eps=0.6), Sizes(60, 40, 3, 8))
    assert model.n_components_ == model.projection_.n_components_ == chosen.n_components

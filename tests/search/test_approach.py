"""What every "auto" means: the map, levels, starts, near centers, swaps, tolerances, polishing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from projected_kmeans import (
    ProjectedKMeans,
    SpectralProjection,
    clustering_accuracy,
    target_dimension,
)
from projected_kmeans.projections.spectral import EXPECTED_COMPONENTS
from projected_kmeans.search.approach import (
    LEVEL_FACTOR,
    MIN_LISTED_CLUSTERS,
    choose_approach,
    choose_map,
    count_largest,
)
from projected_kmeans.search.settings import Settings, Sizes
from tests.support.blobs import assert_consistent, draw_blobs

DIGITS = (90_000, 784)


def choose(k: int, shape: tuple[int, int] = DIGITS, nnz: int | None = None, **options: Any) -> Any:
    """Return the approach for float32 rows of a shape."""
    return choose_approach(Settings(k, **options), Sizes(*shape, k, 4, nnz))


# --- the map -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (Sizes(90_000, 784, 100, 4), ("svd", EXPECTED_COMPONENTS)),
        (Sizes(90_000, 784, 10, 4), ("svd", 34)),
        (Sizes(90_000, 64, 100, 4), (None, 64)),
        (Sizes(1000, 20, 8, 8), (None, 20)),
        (Sizes(1000, 5000, 1, 8), (None, 5000)),
        (Sizes(10_000, 1_000_000, 10, 4), ("svd", 34)),
        (Sizes(20_000, 1_000_000, 30, 4, 4_000_000), ("svd", EXPECTED_COMPONENTS)),
        (Sizes(50_000, 100_000, 50, 4, 5_000_000), ("svd", EXPECTED_COMPONENTS)),
        (Sizes(50_000, 100_000, 50, 4, 2_000_000_000), ("sign", target_dimension(50))),
    ],
)
def test_sizes_decide_the_map(sizes: Sizes, expected: tuple[str | None, int]) -> None:
    """Few columns are kept, many are projected, and long sparse rows only by signs."""
    assert choose_map(Settings(sizes.n_clusters), sizes)[:2] == expected


def test_the_reason_tells_of_hashed_columns() -> None:
    """Rows that are wide enough to be hashed are said to be."""
    wide, narrow = Sizes(600, 200_000, 10, 4), Sizes(600, 2000, 10, 4)
    assert choose_map(Settings(10), wide).reason.endswith("of 200000 columns, hashed to 8192")
    assert choose_map(Settings(10), narrow).reason.endswith("of 2000 columns")


def test_eps_asks_for_what_its_theorem_says() -> None:
    """A named eps is honoured without a cap, and where d is smaller the reason says so."""
    wide = Sizes(9000, 5000, 40, 8)
    assert choose_map(Settings(40, eps=0.1), wide)[:2] == ("svd", 400)
    name, t, reason = choose_map(Settings(40, eps=0.1), Sizes(9000, 300, 40, 8))
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
        (Settings(40, projection="svd"), "svd", EXPECTED_COMPONENTS, "wants this map"),
        (Settings(40, projection="svd", eps=0.1), "svd", 400, "wants this map"),
        (Settings(4, projection="columns", eps=0.9), "columns", 11, "wants this map"),
        (Settings(40, projection="hadamard", n_components=7), "hadamard", 7, "wants this map"),
        (Settings(40, n_components=5000), None, 5000, "n_components=5000 keeps all columns"),
        (Settings(40, n_components=9), "svd", 9, "principal directions"),
    ],
)
def test_a_map_that_the_caller_names_is_taken(
    settings: Settings, name: str | None, n_components: int, reason: str
) -> None:
    """A map or a number of dimensions that the caller names comes first."""
    sizes = Sizes(9000, 5000, settings.n_clusters, 8)
    chosen = choose_map(settings, sizes)
    assert chosen[:2] == (name, n_components)
    assert reason in chosen.reason
    approach = choose_approach(settings, sizes)
    assert (approach.projection, approach.n_components) == (name, n_components)


def test_few_columns_are_reduced_only_if_asked() -> None:
    """50 columns are not worth a sketch, unless the caller names fewer dimensions."""
    sizes = Sizes(9000, 50, 40, 8)
    assert choose_map(Settings(40), sizes).name is None
    chosen = choose_map(Settings(40, n_components=9), sizes)
    assert chosen == ("svd", 9, "n_components=9 is fewer than 50 columns")
    reason = choose_map(Settings(40), sizes).reason
    assert reason == "50 columns are too few for a sketch to save work"


@pytest.mark.parametrize("name", ["sign", "sparse-sign", "hadamard", "gaussian", "svd", "columns"])
def test_the_map_of_a_fit_has_the_chosen_dimensions(name: str) -> None:
    """The dimensions that are planned are those of the map that a fit builds."""
    X = np.random.default_rng(0).normal(size=(60, 40))
    model = ProjectedKMeans(3, projection=name, eps=0.6, random_state=0).fit(X)
    chosen = choose_map(Settings(3, projection=name, eps=0.6), Sizes(60, 40, 3, 8))
    assert model.n_components_ == model.projection_.n_components_ == chosen.n_components


def draw_slow(n: int = 4000, d: int = 420) -> NDArray[np.float32]:
    """Return rows that need more directions than most: one is large, and 150 hold the rest."""
    variances = np.concatenate([[20.0], np.ones(149), np.full(d - 150, 1e-3)])
    stream = np.random.default_rng(0)
    return (stream.normal(size=(n, d)) * np.sqrt(variances)).astype(np.float32)


def test_the_reason_tells_the_figures_of_the_spectrum() -> None:
    """Kept variance, and that of the next k directions, are those of a full decomposition."""
    X, k = draw_slow(), 60
    model = ProjectedKMeans(k, random_state=0, max_iter=3).fit(X)
    approach, t = model.approach_, model.n_components_
    assert approach.n_components == t == model.projection_.n_components_
    words = approach.reason.split()
    assert words[:4] == [str(t), "of", "420", "directions"]
    kept, following = (float(word.strip("%;")) / 100 for word in words if "%" in word)
    variances = np.sort(np.linalg.eigvalsh(np.cov(X.T.astype(float))))[::-1]
    shares = variances / variances.sum()
    # Found from 4,000 rows by a sketch, whose directions keep a little less than the best ones.
    assert kept == pytest.approx(shares[:t].sum(), abs=0.05)
    assert following >= shares[t : t + k].sum() - 0.01
    assert f"the next {min(k, 420 - t)} hold" in approach.reason


def test_a_plan_before_the_rows_are_seen_is_refined_by_what_the_map_learnt() -> None:
    """Without the map, t is what rows of this size need; with it, what these rows need."""
    X, k = draw_slow(), 60
    settings, sizes = Settings(k), Sizes(*X.shape, k, 4)
    before = choose_approach(settings, sizes)
    learnt = SpectralProjection(n_clusters=k, random_state=0).fit(X)
    after = choose_approach(settings, sizes, learnt)
    assert before.n_components == EXPECTED_COMPONENTS
    assert after.n_components == learnt.n_components_ != before.n_components
    assert "%" in after.reason
    assert "%" not in before.reason
    fixed = choose_approach(Settings(k, n_components=9), sizes, SpectralProjection(9).fit(X))
    assert fixed.n_components == 9
    assert "%" not in fixed.reason


@pytest.mark.parametrize(
    ("settings", "shape"),
    [
        (Settings(100), (9000, 700)),
        (Settings(100, n_components=30), (9000, 700)),
        (Settings(100, eps=0.5), (9000, 700)),
        (Settings(5), (9000, 700)),
        (Settings(100), (9000, 40)),
        (Settings(100), (9000, 150)),
        (Settings(100, projection="sign"), (9000, 5000)),
    ],
)
def test_memory_is_planned_for_the_largest_map(settings: Settings, shape: tuple[int, int]) -> None:
    """What is planned is at least what the map chooses, and no more than all columns."""
    sizes = Sizes(*shape, settings.n_clusters, 4)
    chosen = choose_map(settings, sizes)
    assert chosen.n_components <= count_largest(settings, sizes) <= shape[1]
    if settings.n_components != "auto" or settings.eps is not None or chosen.name != "svd":
        assert count_largest(settings, sizes) == chosen.n_components


# --- levels, starts, near centers, swaps ---------------------------------------------------------


@pytest.mark.parametrize("k", [1, 10, 100, 1000, 20_000])
@pytest.mark.parametrize("n", [50_000, 10**6, 10**8])
def test_levels_grow_to_all_rows(n: int, k: int) -> None:
    """Samples have enough rows a cluster, each several times the one before, and far from all."""
    levels = choose(k, (n, 300)).level_rows
    assert levels[-1] == n
    assert all(LEVEL_FACTOR * before <= after for before, after in pairwise(levels[:-1]))
    assert all(2 * sample <= n for sample in levels[:-1])
    assert all(sample >= 100 * k for sample in levels[:-1])


def test_few_rows_are_one_level() -> None:
    """Where a sample would not save much, all rows are searched at once."""
    assert choose(10, (3000, 300)).level_rows == (3000,)
    assert choose(10).level_rows == (2048, 10_240, 90_000)
    assert choose(5000, (60_000, 300)).level_rows == (60_000,)
    assert len(choose(10, (10**6, 300)).level_rows) > 2


@pytest.mark.parametrize(
    "options",
    [{"init": list(range(100))}, {"init": lambda *_: None}, {"solver": "orss06"}],
    ids=["indices", "callable", "orss06"],
)
def test_some_searches_begin_with_all_rows(options: dict[str, Any]) -> None:
    """Centers that the caller gives, and solvers of the paper, see all rows at once."""
    found = choose(100, **options)
    assert found.level_rows == (90_000,)
    assert (found.swap_rounds, found.n_near, found.in_kernel) == (0, 0, False)


@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
def test_named_methods_go_over_levels_without_swaps(solver: str) -> None:
    """Levels belong to these solvers, too, but no center moves and rows meet all of them."""
    named, auto = choose(200, solver=solver), choose(200)
    assert named.level_rows == auto.level_rows
    assert (named.swap_rounds, named.n_near) == (0, 0)
    assert auto.swap_rounds > 0
    assert 0 < auto.n_near < 200
    assert (named.solver, auto.solver) == (solver, "lloyd")


@pytest.mark.parametrize(
    ("k", "options", "near"),
    [
        (MIN_LISTED_CLUSTERS - 1, {}, False),
        (MIN_LISTED_CLUSTERS, {}, True),
        (1000, {"projection": None}, True),
        (1000, {"projection": None, "nnz": 10**6}, False),
        (1000, {"nnz": 10**6}, True),
        (1000, {"max_cluster_size": "equal"}, False),
        (1000, {"max_cluster_size": 500}, False),
        (1000, {"init": "random"}, True),
        (1000, {"metric": "cosine"}, True),
    ],
)
def test_rows_of_many_clusters_meet_near_centers(
    k: int, options: dict[str, Any], near: bool
) -> None:
    """From some number of clusters on; not where limits of sizes or sparse rows forbid it."""
    found = choose(k, **options)
    assert (found.n_near > 0) == near
    assert found.n_near < k


def test_one_cluster_has_nothing_to_swap() -> None:
    """A single center stays at the mean."""
    assert choose(1).swap_rounds == 0
    assert choose(2).swap_rounds > 0


def test_fewer_starts_for_more_clusters() -> None:
    """Several starts compete for few clusters, one is enough for many."""
    starts = [choose(k, (10**5, 784), init="random").n_init for k in (8, 40, 100, 1000)]
    assert starts == sorted(starts, reverse=True)
    assert starts[0] > 1
    assert starts[-1] == 1


@pytest.mark.parametrize(
    ("options", "n_init"),
    [
        ({"n_init": 7}, 7),
        ({"n_init": 7, "solver": "lloyd"}, 7),
        ({"init": lambda *_: None}, 3),
        ({"init": lambda *_: None, "n_init": 2}, 2),
        ({"init": list(range(10))}, 1),
        ({"init": list(range(10)), "n_init": 5}, 1),
        ({"solver": "orss06"}, 1),
    ],
)
def test_starts_that_the_caller_fixes(options: dict[str, Any], n_init: int) -> None:
    """A number of starts is taken, unless all of them would be the same."""
    assert choose(10, **options).n_init == n_init


@pytest.mark.parametrize(
    ("settings", "in_kernel"),
    [
        (Settings(10), True),
        (Settings(10, n_init=1), False),
        (Settings(10, n_init=7), False),
        (Settings(10, solver="sdp"), True),
        (Settings(10, projection="svd", n_components=9), True),
        (Settings(10, projection="svd", n_components=9, metric="cosine"), True),
        (Settings(10, solver="lloyd"), False),
        (Settings(10, solver="hartigan"), False),
        (Settings(10, init="random"), False),
        (Settings(10, init=list(range(10))), False),
        (Settings(10, init=lambda *_: None), False),
        (Settings(10, metric="cosine"), False),
    ],
)
def test_starts_on_few_rows_run_inside_a_kernel(settings: Settings, in_kernel: bool) -> None:
    """1797 x 64 rows are searched by the kernel, but not from chosen centers or by a solver."""
    found = choose_approach(settings, Sizes(1797, 64, 10, 8))
    assert found.in_kernel == in_kernel
    if in_kernel:
        assert found.n_init > 1
        assert found.swap_rounds > 0
        assert found.inertia_tol == 0


def test_more_work_runs_no_starts_inside_a_kernel() -> None:
    """Many entries, many clusters and sparse rows are searched by passes in Python."""
    assert choose_approach(Settings(10), Sizes(2000, 64, 10, 8)).in_kernel
    assert not choose_approach(Settings(10), Sizes(4000, 64, 10, 8)).in_kernel
    assert not choose_approach(Settings(160), Sizes(2000, 64, 160, 8)).in_kernel
    assert not choose_approach(Settings(10), Sizes(1797, 64, 10, 8, n_nonzeros=5000)).in_kernel
    sampled = choose(8, (10**6, 20))
    assert sampled.in_kernel  # the first level of many rows is small
    assert len(sampled.level_rows) > 1


# --- tolerances and polishing --------------------------------------------------------------------


def test_small_fits_run_until_nothing_changes() -> None:
    """Little work has no tolerance; much work has one that grows with the clusters."""
    assert choose(10, (1797, 64)).inertia_tol == 0
    tolerances = [choose(k).inertia_tol for k in (10, 50, 100, 1000)]
    assert 0 < tolerances[0] < tolerances[1] <= tolerances[2] <= tolerances[3] < 1e-3
    assert choose(100, tol=0).inertia_tol == choose(1000, tol=0).inertia_tol == 0


@pytest.mark.parametrize(
    ("options", "polished"),
    [
        ({}, True),
        ({"projection": "sign"}, True),
        ({"metric": "cosine"}, True),
        ({"solver": "lloyd"}, True),
        ({"projection": None}, False),
        ({"solver": KMeans(100)}, False),
        ({"polish_iter": 0}, False),
    ],
)
def test_sketches_are_polished(options: dict[str, Any], polished: bool) -> None:
    """Passes over the original rows follow, unless nothing is projected or the solver is own."""
    assert (choose(100, **options).polish_iter > 0) == polished


def test_a_number_of_passes_is_taken_as_it_is() -> None:
    """If the caller says how many passes follow, no tolerance ends them sooner."""
    fixed, auto = choose(100, polish_iter=3), choose(100)
    assert (fixed.polish_iter, fixed.polish_tol) == (3, 0.0)
    assert auto.polish_tol > 0


def test_the_name_of_a_solver_of_the_caller() -> None:
    """A clusterer or a function is called "own" in the plan."""
    assert choose(100, solver=KMeans(100)).solver == "own"
    assert choose(100, solver="sdp").solver == "lloyd"


def test_the_caller_comes_first() -> None:
    """What the caller fixes is done, and not what would have been planned."""
    X, _ = draw_blobs(d=60)
    fixed = {"solver": "hartigan", "n_init": 2, "polish_iter": 3}
    model = ProjectedKMeans(3, random_state=0, **fixed).fit(X)
    assert {name: getattr(model.approach_, name) for name in fixed} == fixed


# --- what the choices are good for ---------------------------------------------------------------


def test_samples_are_as_good_as_all_rows() -> None:
    """On 30,000 rows the levels end within 1 % of a run that begins with all rows."""
    # Keys are fixed.
    stream = np.random.default_rng(0)
    X = (stream.normal(size=(30_000, 40)) * np.linspace(3, 0.2, 40)).astype(np.float32)
    sampled = ProjectedKMeans(20, random_state=0, projection=None).fit(X)
    assert len(sampled.approach_.level_rows) > 1
    first = X[stream.choice(30_000, 20, replace=False)]
    full = ProjectedKMeans(20, random_state=0, projection=None, init=first).fit(X)
    assert full.approach_.level_rows == (30_000,)
    assert sampled.inertia_ <= 1.01 * full.inertia_


@pytest.mark.parametrize(("n", "k"), [(40_000, 50), (8_000, 40)])
def test_planted_clusters_are_found(n: int, k: int) -> None:
    """Well separated clusters are all found, while k-means++ and Lloyd alone miss some."""
    # The key is fixed.
    stream = np.random.default_rng(1)
    planted = stream.integers(k, size=n)
    X = stream.normal(size=(k, 256))[planted] + stream.normal(size=(n, 256))
    model = ProjectedKMeans(k, random_state=0).fit(X.astype(np.float32))
    assert clustering_accuracy(planted, model.labels_) == 1


def test_near_centers_and_swaps_beat_lloyd_on_many_clusters() -> None:
    """With 200 clusters the plan ends below the median of runs of Lloyd's method, consistently."""
    # Keys are fixed.
    stream = np.random.default_rng(3)
    means = np.repeat(4 * stream.normal(size=(20, 30)), 10, axis=0) + stream.normal(size=(200, 30))
    X = (means[stream.integers(200, size=6000)] + 0.5 * stream.normal(size=(6000, 30))).astype("f4")
    model = ProjectedKMeans(200, random_state=0, projection=None).fit(X)
    assert model.approach_.n_near > 0
    assert_consistent(model, X)
    plain = [
        ProjectedKMeans(200, projection=None, solver="lloyd", n_init=1, random_state=key).fit(X)
        for key in range(5)
    ]
    assert model.inertia_ < np.median([each.inertia_ for each in plain])

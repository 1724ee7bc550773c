"""What every "auto" means: restarts, solver, tolerance and polishing, and what the caller fixes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans, clustering_accuracy
from projected_kmeans.planning.approach import choose_approach, choose_effort
from projected_kmeans.planning.map_choice import MapChoice
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes
from tests.support.blobs import draw_blobs


def test_many_rows_let_restarts_compete_on_a_subsample() -> None:
    """Many rows give a subsample, much work a single run, small work a full local search."""
    many = choose_effort(Sizes(90_000, 784, 64, 4), MapChoice("svd", 64, ""))
    assert (many.subsample_rows, many.n_init, many.solver) == (16_384, 2, "lloyd")
    third = choose_effort(Sizes(50_000, 3072, 100, 4), MapChoice("svd", 64, ""))
    assert (third.subsample_rows, third.n_init, third.solver) == (16_666, 1, "lloyd")
    one = choose_effort(Sizes(90_000, 784, 200, 4), MapChoice("svd", 64, ""))
    assert (one.subsample_rows, one.n_init) == (30_000, 1)
    on_all = choose_effort(Sizes(20_000, 784, 100, 4), MapChoice("svd", 64, ""))
    assert (on_all.subsample_rows, on_all.n_init) == (0, 3)
    few = choose_effort(Sizes(90_000, 784, 1000, 4), MapChoice("svd", 64, ""))
    assert (few.subsample_rows, few.n_init, few.polish_candidates) == (30_000, 1, 16)
    fewer = choose_effort(Sizes(60_000, 784, 1000, 4), MapChoice("svd", 64, ""))
    assert (fewer.subsample_rows, fewer.n_init, fewer.min_breathing_gain) == (0, 1, math.inf)
    small = choose_effort(Sizes(400, 4096, 40, 1), MapChoice("svd", 64, ""))
    assert (small.solver, small.n_init, small.inertia_tol) == ("breathing", 3, 0.0)
    assert many.min_breathing_gain == few.min_breathing_gain < small.min_breathing_gain == math.inf
    smaller = choose_effort(Sizes(1797, 64, 10, 8), MapChoice(None, 64, ""))
    assert (smaller.solver, smaller.n_init, smaller.min_breathing_gain) == ("lloyd", 3, 0.0)
    flat = choose_effort(Sizes(12_000, 4, 5, 8), MapChoice(None, 4, ""))
    assert (flat.subsample_rows, flat.min_breathing_gain, flat.momentum) == (0, 0.0, 0.0)
    given = choose_effort(Sizes(90_000, 784, 100, 4), MapChoice("svd", 64, ""), draws_centers=False)
    assert (given.subsample_rows, given.n_init) == (0, 1)


@pytest.mark.parametrize(("solver", "looks"), [("auto", True), ("cells", True), ("lloyd", False)])
def test_cells_look_ahead_and_other_named_solvers_do_not(solver: str, looks: bool) -> None:
    """Thousands of clusters are found by the solver "cells", whether it is named or not."""
    chosen = choose_approach(Settings(1000, solver=solver), Sizes(90_000, 784, 1000, 4))
    assert chosen.solver == ("lloyd" if solver == "lloyd" else "cells")
    assert (chosen.momentum > 0) == looks


@pytest.mark.parametrize("sizes", [Sizes(90_000, 784, 5, 4), Sizes(100_000, 10, 8, 4)])
def test_few_clusters_of_many_rows_are_not_small(sizes: Sizes) -> None:
    """Their restarts compete on a subsample and passes look ahead, although a pass is little work.

    Given centers of rows that are not projected are those of Lloyd's method, without looking ahead.
    """
    chosen = MapChoice("svd" if sizes.n_columns > 64 else None, min(17, sizes.n_columns), "")
    effort = choose_effort(sizes, chosen)
    assert (effort.solver, effort.subsample_rows, effort.n_init) == ("lloyd", 4096, 8)
    assert effort.momentum > 0
    assert effort.inertia_tol > 0
    given = choose_effort(sizes, chosen, draws_centers=False)
    assert (given.momentum > 0) == (chosen.name is not None)


def test_the_caller_comes_first() -> None:
    """What the caller fixes is done, and not what would have been planned."""
    X, _ = draw_blobs(d=60)
    fixed = {"solver": "hartigan", "n_init": 2, "polish_iter": 3, "inertia_tol": 0.01}
    model = ProjectedKMeans(3, random_state=0, **fixed).fit(X)
    assert {name: getattr(model.approach_, name) for name in fixed} == fixed


def test_a_subsample_is_as_good_as_all_rows() -> None:
    """On 30,000 rows the best restart on a subsample ends within 1 % of a run on all rows."""
    # Keys are fixed; over keys 0 to 9 the ratio was between 0.998 and 1.0012.
    stream = np.random.default_rng(0)
    X = stream.normal(size=(30_000, 40)).astype(np.float32) * np.linspace(3, 0.2, 40)
    X = X.astype(np.float32)
    sampled = ProjectedKMeans(20, random_state=0, projection=None).fit(X)
    assert sampled.approach_.subsample_rows == 5120
    full = ProjectedKMeans(20, random_state=0, projection=None, n_init=1).fit(X)
    assert full.approach_.subsample_rows == 0
    assert sampled.inertia_ <= 1.01 * full.inertia_


@pytest.mark.parametrize(("n", "k", "subsample"), [(40_000, 50, 12_800), (8_000, 40, 0)])
def test_planted_clusters_are_found(n: int, k: int, subsample: int) -> None:
    """Well separated clusters are all found, while k-means++ and Lloyd alone miss some."""
    # The key is fixed. Keys 0 to 9 all found both; without breathing only 1 and 3 of the ten did.
    stream = np.random.default_rng(1)
    planted = stream.integers(k, size=n)
    X = stream.normal(size=(k, 256))[planted] + stream.normal(size=(n, 256))
    model = ProjectedKMeans(k, random_state=0).fit(X.astype(np.float32))
    assert (model.approach_.solver, model.approach_.subsample_rows) == ("lloyd", subsample)
    assert clustering_accuracy(planted, model.labels_) == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            Settings(100, n_init=1),
            {"n_init": 1, "subsample_rows": 0, "min_breathing_gain": math.inf},
        ),
        (Settings(100, solver="lloyd"), {"min_breathing_gain": math.inf, "subsample_rows": 25_600}),
        (Settings(100, solver="hartigan"), {"subsample_rows": 0, "inertia_tol": 0.0}),
        (Settings(100, solver="breathing", inertia_tol=0.1), {"inertia_tol": 0.1}),
        (Settings(100, polish_candidates=5), {"polish_candidates": 5}),
        (Settings(100, polish_candidates=100), {"polish_candidates": 0}),
        (Settings(200, polish_candidates=None), {"polish_candidates": 0}),
        (Settings(200), {"polish_candidates": 16}),
        (Settings(100), {"polish_iter": 1, "inertia_tol": 3e-5, "momentum": 0.9}),
        (Settings(100, inertia_tol=1e-6), {"inertia_tol": 1e-6, "momentum": 0.9}),
        (Settings(100, solver="lloyd"), {"inertia_tol": 3e-5, "momentum": 0.0}),
        (Settings(100, solver="lloyd", inertia_tol=1e-6), {"inertia_tol": 1e-6, "momentum": 0.0}),
        (Settings(100, n_init=9), {"inertia_tol": 3e-5, "momentum": 0.9}),
        (Settings(100, projection="sign"), {"polish_iter": 2}),
        (Settings(100, projection=None), {"polish_iter": 0}),
        (Settings(100, metric="cosine"), {"polish_iter": 3}),
        (Settings(100, metric="cosine", polish_iter=1), {"polish_iter": 1}),
        (
            Settings(100, metric="cosine", projection=None),
            {"solver": "lloyd", "inertia_tol": 0.0, "min_breathing_gain": math.inf},
        ),
        (Settings(100, init=lambda *_: None), {"n_init": 3, "subsample_rows": 0}),
        (Settings(100, init=list(range(100))), {"n_init": 1, "subsample_rows": 0}),
    ],
)
def test_settings_change_the_approach(settings: Settings, expected: dict[str, object]) -> None:
    """Each setting has its effect on 90,000 x 784 rows, and on what depends on it."""
    found = choose_approach(settings, Sizes(90_000, 784, settings.n_clusters, 4))
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "scouts", "n_init"),
    [
        (Settings(10), True, 4),
        (Settings(10, n_init=1), False, 1),
        (Settings(10, n_init=7), False, 7),
        (Settings(10, solver="sdp"), True, 4),
        (Settings(10, projection="svd", n_components=9), True, 4),
        (Settings(10, projection="svd", n_components=9, metric="cosine"), True, 4),
        (Settings(10, solver="lloyd"), False, 3),
        (Settings(10, solver="breathing"), False, 3),
        (Settings(10, init="random"), False, 3),
        (Settings(10, init=list(range(10))), False, 1),
        (Settings(10, init=lambda *_: None), False, 3),
        (Settings(10, metric="cosine"), False, 3),
    ],
)
def test_restarts_on_small_rows_run_inside_a_kernel(
    settings: Settings, scouts: bool, n_init: int
) -> None:
    """1797 x 64 rows are searched by the kernel, but not from chosen centers or by a solver."""
    found = choose_approach(settings, Sizes(1797, 64, 10, 8))
    assert (found.scouts, found.n_init) == (scouts, n_init)
    if scouts:
        assert (found.solver, found.min_breathing_gain, found.inertia_tol) == ("lloyd", math.inf, 0)


def test_more_work_runs_no_restarts_inside_a_kernel() -> None:
    """Above 2^17 entries or 10 million products, and for sparse rows, Python makes the passes."""
    assert choose_approach(Settings(10), Sizes(2048, 64, 10, 8)).scouts
    assert not choose_approach(Settings(10), Sizes(2049, 64, 10, 8)).scouts
    assert not choose_approach(Settings(160), Sizes(2000, 64, 160, 8)).scouts
    sparse = Sizes(1797, 64, 10, 8, n_nonzeros=5000)
    assert not choose_approach(Settings(10), sparse).scouts


@pytest.mark.parametrize(("solver", "min_gain"), [("auto", 0.0), ("lloyd", math.inf)])
def test_small_rows_breathe_from_other_seedings(solver: str, min_gain: float) -> None:
    """1797 x 64 rows breathe to the end where the kernel does not know the seeding."""
    found = choose_approach(Settings(10, init="random", solver=solver), Sizes(1797, 64, 10, 8))
    assert (found.solver, found.min_breathing_gain) == ("lloyd", min_gain)


def test_only_the_best_restart_breathes_if_nothing_is_projected() -> None:
    """The other restarts end with Lloyd's method: the trace has one long restart of three."""
    X, _ = draw_blobs(gap=0.2, d=6)
    model = ProjectedKMeans(5, random_state=0, init="k-means||").fit(X)
    assert (model.approach_.projection, model.approach_.n_init) == (None, 3)
    seen = [state.restart for state in model.trace_ if state.step == "cluster"]
    # One breath takes at least three passes; restart 0, 1 and 2 follow each other, then the best.
    order = [one for one, before in zip(seen, [None, *seen], strict=False) if one != before]
    assert order[:2] == [0, 1]
    assert 3 <= len(order) <= 4
    alone = ProjectedKMeans(5, random_state=0, solver="lloyd", init="k-means||").fit(X)
    assert model.inertia_ <= alone.inertia_
    assert len(seen) > len([state for state in alone.trace_ if state.step == "cluster"])


def test_sparse_rows_without_a_map_run_once() -> None:
    """Sparse rows that are not projected get one run of Lloyd's method on all rows."""
    sizes = Sizes(90_000, 784, 100, 4, n_nonzeros=10**6)
    found = choose_approach(Settings(100, projection=None), sizes)
    assert (found.solver, found.n_init, found.subsample_rows) == ("lloyd", 1, 0)
    assert found.min_breathing_gain == math.inf

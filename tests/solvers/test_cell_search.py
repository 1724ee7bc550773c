"""Very many clusters in cells: bits, inertia, checkpoints and limits of whole fits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.planning import cell_plan
from projected_kmeans.planning.recipe import resolve_recipe
from projected_kmeans.planning.settings import Settings
from projected_kmeans.planning.sizes import Sizes
from projected_kmeans.running import checkpoint as running_checkpoint
from projected_kmeans.running.run import Run
from projected_kmeans.solvers import cell_passes, swaps
from projected_kmeans.solvers.cell_passes import CellPasses
from projected_kmeans.solvers.cell_search import search_cells
from projected_kmeans.solvers.cell_seeding import seed_by_cells
from projected_kmeans.solvers.near_centers import count_neighbours
from projected_kmeans.solvers.single_restart import Effort
from projected_kmeans.sources.open_rows import open_rows
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.problems import make_problem

K = 80


class Killed(BaseException):
    """Ends a fit as abruptly as an exception can."""


def draw_tree(n: int = 3000, d: int = 40, dtype: Any = np.float32) -> NDArray[Any]:
    """Return rows around 80 means, eight around each of ten places."""
    stream = np.random.default_rng(5)
    means = np.repeat(4 * stream.normal(size=(10, d)), 8, axis=0) + stream.normal(size=(80, d))
    return (means[stream.integers(80, size=n)] + 0.5 * stream.normal(size=(n, d))).astype(dtype)


def fit(X: Any, sample_weight: Any = None, **options: Any) -> ProjectedKMeans:
    """Fit rows with the solver "cells" in a sketch of ten principal directions."""
    options = {"projection": "svd", "n_components": 10, "solver": "cells", **options}
    return ProjectedKMeans(K, random_state=1, **options).fit(X, sample_weight=sample_weight)


def solve(X: NDArray[Any], k: int = K, **changes: Any) -> Any:
    """Return what the search finds in the rows themselves."""
    effort = Effort("cells", 3, 100, 0.0, changes.pop("inertia_tol", 1e-4))
    problem = make_problem(X, **changes)
    return search_cells(problem, k, len(X), effort, Run())


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_the_partition_does_not_depend_on_threads_or_blocks(dtype: str) -> None:
    """One thread and two, one block and many, give the same bits."""
    X = draw_tree()
    X = (8 * (X - X.min())).clip(0, 255).astype(dtype)
    one = solve(X)
    for changes in ({"n_threads": 2}, {"block_rows": 7}, {"block_rows": 1000, "n_threads": 3}):
        other = solve(X, **changes)
        np.testing.assert_array_equal(one.labels, other.labels)
        assert one.centers.tobytes() == other.centers.tobytes()
        assert one.history == other.history


@pytest.mark.parametrize("drawn", [False, True])
def test_rows_may_lie_anywhere(
    drawn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in memory, in a file under a memory limit, and on Dask give the same bits.

    Either all rows take part in seeding and in dividing clusters, or some that are drawn.
    """
    if drawn:
        monkeypatch.setattr(cell_plan, "MIN_HELD_ROWS", 2000)
        monkeypatch.setattr(cell_plan, "HELD_ROWS_PER_CLUSTER", 10)
        monkeypatch.setattr(swaps, "SPLIT_ROWS", 20)
    X = draw_tree(n=60_000 if drawn else 3000, d=24)
    options = {"n_components": 20, "inertia_tol": 1e-3}
    whole = fit(X, **options)
    assert whole.approach_.subsample_rows == (2000 if drawn else 3000)
    np.save(tmp_path / "rows.npy", X)
    stored = open_rows(tmp_path / "rows.npy")
    limited = {**options, "memory_limit": "13MB"}
    settings = Settings(K, projection="svd", solver="cells", **limited)
    recipe = resolve_recipe(settings, Sizes(*X.shape, K, 4), stored=True)
    assert recipe.memory.sketch_in_memory != drawn
    assert_same_fit(fit(stored, **limited), whole)
    distant = fit(da.from_array(X, chunks=(len(X) // 4 + 1, -1)), **options)
    np.testing.assert_array_equal(np.asarray(distant.labels_), whole.labels_)
    assert distant.inertia_ == whole.inertia_


@pytest.mark.parametrize("kind", ["dense", "weighted", "cosine", "sparse", "unprojected"])
def test_centers_labels_and_inertia_belong_together(kind: str) -> None:
    """Whatever the rows are, centers are the means and the inertia is that of the labels."""
    X: Any = draw_tree()
    if kind == "dense":
        model = fit(X)
        assert_consistent(model, X)
    elif kind == "unprojected":
        model = fit(X, projection=None)
        assert_consistent(model, X)
    elif kind == "weighted":
        weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
        model = fit(X, weights)
        repeated = np.repeat(X, weights.astype(int), axis=0)
        labels = np.repeat(model.labels_, weights.astype(int))
        assert model.inertia_ == pytest.approx(reference.inertia(repeated, labels), rel=1e-6)
    elif kind == "cosine":
        model = fit(X, metric="cosine")
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        gaps = unit - model.cluster_centers_[model.labels_]
        assert model.inertia_ == pytest.approx(float(np.sum(gaps.astype(float) ** 2)), rel=1e-5)
    else:
        sparse = np.where(np.abs(X) > 3, X, 0)
        model = fit(scipy.sparse.csr_array(sparse))
        assert_consistent(model, sparse)
    assert model.approach_.solver == "cells"
    assert all(later < earlier for earlier, later in pairwise(model.history_))


def test_planted_clusters_are_found() -> None:
    """Nearly all means of a tree are found, of which most runs of Lloyd's method miss more.

    Two clusters that share a center cost about 5 % of the inertia.
    """
    X = draw_tree()
    found = solve(X, inertia_tol=0.0)
    noise = 0.25 * X.shape[1] * (len(X) - K)
    assert found.inertia < 1.05 * noise
    flat = [
        ProjectedKMeans(K, projection=None, solver="lloyd", n_init=1, random_state=key).fit(X)
        for key in range(8)
    ]
    assert found.inertia <= np.median([one.inertia_ for one in flat])


def test_every_row_is_near_its_center() -> None:
    """Where the list of a cluster holds all centers, the rows end at their nearest centers."""
    X = draw_tree(n=600)
    k = 20
    assert count_neighbours(k) == k
    found = solve(X, k, inertia_tol=0.0)
    expected = reference.nearest_center(X, found.centers, found.labels)
    assert found.converged
    np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 30])
def test_few_clusters_and_few_rows(k: int) -> None:
    """Any number of clusters works, also as many as there are rows."""
    X = draw_tree(n=30)
    model = ProjectedKMeans(k, solver="cells", projection=None, random_state=0).fit(X)
    assert set(model.labels_) == set(range(k))
    assert_consistent(model, X)


def test_fewer_distinct_rows_than_clusters() -> None:
    """Equal rows share a cluster, and some clusters stay empty, as with other solvers."""
    X = np.repeat(draw_tree(n=12), 5, axis=0)
    with pytest.warns(UserWarning, match="clusters"):
        model = ProjectedKMeans(20, solver="cells", projection=None, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-6)


def test_swaps_that_gain_nothing_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """If swaps raise the inertia, the partition before them is kept, and no others follow."""
    X = draw_tree()
    rounds: list[int] = []

    def swap_badly(gains: Any, costs: Any, neighbours: Any) -> tuple[Any, Any]:
        """Remove the center that is missed most."""
        rounds.append(1)
        worst, least = int(np.argmax(costs)), int(np.argmin(gains))
        return np.array([worst]), np.array([least])

    monkeypatch.setattr(cell_passes, "choose_swaps", swap_badly)
    found = solve(X)
    assert len(rounds) == 1
    monkeypatch.setattr(cell_passes, "SWAP_ROUNDS", 0)
    without = solve(X)
    assert found.inertia == pytest.approx(without.inertia, rel=1e-12)
    assert all(later < earlier for earlier, later in pairwise(found.history))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_search_goes_on_from_its_checkpoint(
    weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fit that was killed after any pass ends with the bits of one that was not."""
    monkeypatch.setattr(running_checkpoint, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(running_checkpoint, "WORK_PER_WRITE", 0.0)
    X = draw_tree(n=1500)
    weights = np.linspace(0, 2, len(X)) if weighted else None
    whole = fit(X, weights)
    for step, at in [("seed", K), *(("cluster", n) for n in range(1, whole.n_iter_ + 1))]:

        def kill(state: FitState, step: str = step, at: int = at) -> None:
            if (state.step, state.iteration) == (step, at):
                raise Killed

        with pytest.raises(Killed):
            fit(X, weights, checkpoint=tmp_path / "steps", callback=kill)
    assert_same_fit(fit(X, weights, checkpoint=tmp_path / "steps"), whole)


def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """A fit that a callback stopped has a result, and ends with the same bits when called again."""
    X = draw_tree(n=1500)
    whole = fit(X)
    for stop in (1, 2, 4):

        def callback(state: FitState, stop: int = stop) -> bool:
            return state.step == "cluster" and state.iteration == stop

        part = fit(X, checkpoint=tmp_path / "steps", callback=callback)
        assert (part.stopped_, part.n_iter_) == ("callback", stop)
        assert part.history_ == whole.history_[:stop]
    assert_same_fit(fit(X, checkpoint=tmp_path / "steps"), whole)
    assert fit(X, time_budget=0.0).stopped_ == "time"


def test_states_of_other_rows_do_not_fit() -> None:
    """A state fits the passes that it comes from, and none of other rows or other sums."""
    X = draw_tree(n=500)
    problem = make_problem(X)
    effort = Effort("cells", 3, 100, 0.0, 1e-4)
    seeds = seed_by_cells(problem, K, len(X), 3)
    passes = CellPasses(problem, seeds, effort, 0)
    for _ in range(3):
        assert passes.step()
        if passes.swaps_next:
            passes.swap()
    state = passes.state()
    assert passes.fits(state)
    shorter = make_problem(X[:-1])
    other = CellPasses(shorter, seed_by_cells(shorter, K, len(X), 3), effort, 0)
    assert not other.fits(state)
    assert not passes.fits(replace(state, inertia=2 * state.inertia))
    assert not passes.fits(replace(state, cells=state.cells[:-1]))
    assert not passes.fits(replace(state, labels_before=state.labels_before + np.int32(K)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"init": "random"}, "draws its own first centers"),
        ({"init": np.zeros((K, 40))}, "draws its own first centers"),
        ({"projection": None, "metric": "cosine"}, "needs a projection with metric='cosine'"),
    ],
)
def test_what_cells_cannot_do_is_refused(options: dict[str, Any], words: str) -> None:
    """A parameter that contradicts the solver is refused in a sentence."""
    with pytest.raises(ValueError, match=words):
        fit(draw_tree(n=500), **options)


def test_scattered_rows_are_found() -> None:
    """Rows without clusters are scattered, those of a tree are not, and polishing tells them apart.

    Scattered rows get further polish passes, if the caller has not said how many there are.
    """
    noise = np.random.default_rng(2).normal(size=(6000, 60)).astype(np.float32)
    assert solve(noise[:, :30], 400).scattered
    assert not solve(draw_tree()).scattered
    options = {"n_components": 20, "solver": "cells", "projection": "svd", "random_state": 0}
    longer = ProjectedKMeans(400, **options).fit(noise)
    once = ProjectedKMeans(400, polish_iter=1, **options).fit(noise)
    assert longer.approach_.extra_polish > once.approach_.extra_polish == 0
    assert longer.inertia_ < once.inertia_


def test_restarts_keep_the_lowest_inertia() -> None:
    """With several restarts, the one with the lowest inertia on the sketch is kept."""
    X, _ = draw_blobs(n=400, d=30, k=40, gap=0.6)
    X = X.astype(np.float32)
    runs = [
        search_cells(make_problem(X), 40, len(X), Effort("cells", 1, 300, 0.0, 1e-4), Run(), index)
        for index in range(3)
    ]
    options = {"projection": None, "solver": "cells", "random_state": 1, "tol": 0.0}
    model = ProjectedKMeans(40, n_init=3, **options).fit(X)
    assert min(run.inertia for run in runs) >= model.inertia_
    assert model.history_ == min(runs, key=lambda run: run.inertia).history

"""The loop over levels: samples, starts, all rows of the sketch, and the original rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from projected_kmeans import ProjectedKMeans, inertia
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.results import Clustering, FitState
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search import approach as plan
from projected_kmeans.search import levels as module
from projected_kmeans.search.approach import choose_approach
from projected_kmeans.search.level import LevelSearch
from projected_kmeans.search.levels import (
    draw_sample,
    first_of_lowest,
    search_original,
    search_sketch,
)
from projected_kmeans.search.recipe import resolve_recipe
from projected_kmeans.search.reduction import reduce_rows
from projected_kmeans.search.settings import Settings, Sizes
from projected_kmeans.sources.open_rows import open_rows
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.problems import make_problem
from tests.support.seedings import assert_distribution
from tests.support.small_blocks import use_small_blocks

K = 8


@pytest.fixture
def small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thousand rows have samples of 80, 160 and 320 rows, none of them inside a kernel."""
    monkeypatch.setattr(plan, "ROWS_PER_CLUSTER", 10)
    monkeypatch.setattr(plan, "MIN_LEVEL_ROWS", 40)
    monkeypatch.setattr(plan, "LEVEL_FACTOR", 2)
    monkeypatch.setattr(plan, "MAX_KERNEL_ENTRIES", 0)


@pytest.fixture
def near_centers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows of eight clusters meet three centers."""
    monkeypatch.setattr(plan, "MIN_LISTED_CLUSTERS", K)
    monkeypatch.setattr(plan, "NEAR_OF_FEW", 3)


def draw_rows(n: int = 1000, d: int = 60) -> NDArray[np.float64]:
    """Return rows of groups that overlap."""
    return draw_blobs(n=n, d=d, k=12, gap=0.5)[0]


def fit(X: Any, sample_weight: Any = None, **options: Any) -> ProjectedKMeans:
    """Fit a sketch of ten directions, unless told otherwise."""
    options = {"n_clusters": K, "n_components": 10, "projection": "svd", **options}
    return ProjectedKMeans(random_state=1, **options).fit(X, sample_weight=sample_weight)


def spy_levels(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list of the rows and columns of every level that is searched from now on."""
    shapes: list[tuple[int, int]] = []
    plain = LevelSearch.__init__

    def note(self: LevelSearch, problem: Any, *others: Any, **more: Any) -> None:
        shapes.append(problem.source.shape)
        plain(self, problem, *others, **more)

    monkeypatch.setattr(LevelSearch, "__init__", note)
    return shapes


# --- samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_is_drawn_in_memory(weighted: bool, tmp_path: Path) -> None:
    """It has different rows in their order, each with its weight, wherever rows lie."""
    X = np.random.default_rng(0).normal(size=(500, 3))
    weights = np.random.default_rng(1).integers(0, 3, 500).astype(float) if weighted else None
    np.save(tmp_path / "rows.npy", X)
    drawn = []
    for source in (open_blocks(X), StoredBlocks(open_rows(tmp_path / "rows.npy"))):
        problem = replace(make_problem(X, weights), source=source)
        sample = draw_sample(problem, 100, key=3, number=1)
        assert sample.source.resident
        assert sample.source.shape == (100, 3)
        drawn.append(sample)
    rows = np.asarray(drawn[0].source.select())
    np.testing.assert_array_equal(np.asarray(drawn[1].source.select()), rows)
    places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    assert all(before < after for before, after in pairwise(places))
    if weights is None:
        assert drawn[0].weights is None
    else:
        assert drawn[0].weights is not None
        np.testing.assert_array_equal(drawn[0].weights, weights[places])
        assert drawn[0].weights.min() > 0


def test_samples_depend_on_key_and_number() -> None:
    """Another key, and another level, draw other rows; the same ones draw the same."""
    problem = make_problem(np.arange(500.0)[:, None])

    def draw(key: int, number: int) -> tuple[float, ...]:
        return tuple(np.asarray(draw_sample(problem, 20, key, number).source.select()).ravel())

    assert draw(1, 0) == draw(1, 0)
    assert len({draw(1, 0), draw(2, 0), draw(1, 1)}) == 3


def test_rows_with_weight_are_drawn_alike() -> None:
    """Over many keys every row with weight is drawn as often as any other, the others never."""
    weights = np.array([1.0, 0.0, 5.0, 0.1, 1.0, 0.0, 2.0, 7.0])
    problem = make_problem(np.arange(8.0)[:, None], weights)
    counts = np.zeros(8)
    for key in range(1500):
        counts[np.asarray(draw_sample(problem, 2, key).source.select()).ravel().astype(int)] += 1
    assert_distribution(counts, (weights > 0).astype(float))


@pytest.mark.parametrize("n_rows", [5, 6, 100])
def test_as_many_rows_as_have_weight_are_no_sample(n_rows: int) -> None:
    """If a sample would leave nothing out, it is the problem itself."""
    problem = make_problem(np.arange(8.0)[:, None], np.repeat([1.0, 0.0], [5, 3]))
    assert draw_sample(problem, n_rows, 0) is problem


# --- the loop ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_levels")
def test_levels_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts run on the smallest sample, then larger ones, all of the sketch, and all columns."""
    shapes = spy_levels(monkeypatch)
    X = draw_rows()
    model = fit(X)
    approach = model.approach_
    assert approach.level_rows == (80, 160, 320, 1000)
    expected = [(80, 10)] * approach.n_init + [(160, 10), (320, 10), (1000, 10), (1000, 60)]
    assert shapes == expected
    assert_consistent(model, X)
    assert all(later <= earlier for earlier, later in pairwise(model.history_))
    steps = [state.step for state in model.trace_]
    assert set(steps) <= {"cluster", "lift", "polish"}


@pytest.mark.usefixtures("small_levels")
def test_without_a_map_levels_are_samples_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last level has all rows in all columns, and nothing is lifted."""
    shapes = spy_levels(monkeypatch)
    X = draw_rows()
    model = fit(X, projection=None, n_components="auto")
    assert shapes[-1] == (1000, 60)
    assert {columns for _, columns in shapes} == {60}
    assert {state.step for state in model.trace_} == {"cluster"}
    assert_consistent(model, X)


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"projection": None, "n_components": "auto"}, {"metric": "cosine"}, {"solver": "lloyd"}],
    ids=["svd", "none", "cosine", "lloyd"],
)
def test_threads_blocks_and_places_change_no_bit(
    near: bool,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """One thread and several, small blocks, a file under a limit, and Dask give the same bits."""
    if near:
        request.getfixturevalue("near_centers")
    X = draw_rows().astype(np.float32)
    whole = fit(X, n_threads=1, **options)
    assert (whole.approach_.n_near > 0) == (near and options.get("solver") != "lloyd")
    assert_same_fit(fit(X, n_threads=3, **options), whole)
    np.save(tmp_path / "rows.npy", X)
    assert_same_fit(fit(open_rows(tmp_path / "rows.npy"), **options), whole)
    limited = {**options, "memory_limit": "20MB"}
    assert_same_fit(fit(open_rows(tmp_path / "rows.npy"), **limited), whole)
    distant = fit(da.from_array(X, chunks=(300, -1)), **options)
    np.testing.assert_array_equal(np.asarray(distant.labels_), whole.labels_)
    assert distant.cluster_centers_.tobytes() == whole.cluster_centers_.tobytes()
    assert distant.inertia_ == whole.inertia_
    use_small_blocks(monkeypatch, 17 * 4 * 60)
    assert_same_fit(fit(X, **options), whole)


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("kind", ["dense", "weighted", "cosine", "sparse", "unprojected"])
def test_centers_labels_and_inertia_belong_together(
    near: bool, kind: str, request: pytest.FixtureRequest
) -> None:
    """Whatever the rows are, centers are the means and the inertia is that of the labels."""
    if near:
        request.getfixturevalue("near_centers")
    X: Any = draw_rows()
    if kind == "dense":
        model = fit(X)
        assert_consistent(model, X)
    elif kind == "unprojected":
        model = fit(X, projection=None, n_components="auto")
        assert_consistent(model, X)
    elif kind == "weighted":
        weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
        model = fit(X, weights)
        repeated = np.repeat(X, weights.astype(int), axis=0)
        labels = np.repeat(model.labels_, weights.astype(int))
        # Labels are those of the nearest centers, from which centers differ by next to nothing.
        assert model.inertia_ == pytest.approx(inertia(repeated, labels), rel=1e-3)
        assert model.inertia_ == pytest.approx(-model.score(X, sample_weight=weights), rel=1e-9)
    elif kind == "cosine":
        model = fit(X, metric="cosine")
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        gaps = unit - model.cluster_centers_[model.labels_]
        assert model.inertia_ == pytest.approx(float(np.sum(gaps**2)), rel=1e-9)
    else:
        sparse = np.where(np.abs(X) > 1, X, 0)
        model = fit(scipy.sparse.csr_array(sparse))
        assert_consistent(model, sparse)
    assert len(model.approach_.level_rows) > 1
    assert all(later <= earlier for earlier, later in pairwise(model.history_))


def test_few_and_equal_rows() -> None:
    """Any number of clusters works, also as many as there are rows, and fewer distinct rows."""
    X = draw_rows(n=30, d=5)
    for k in (1, 2, 3, 5, 30):
        model = ProjectedKMeans(k, projection=None, random_state=0, n_init=2).fit(X)
        assert set(model.labels_) == set(range(k))
        assert_consistent(model, X)
    with pytest.warns(UserWarning, match="clusters"):
        model = ProjectedKMeans(20, projection=None, random_state=0, n_init=2).fit(
            np.repeat(X[:12], 5, axis=0)
        )
    assert model.inertia_ == pytest.approx(0.0, abs=1e-6)


@pytest.mark.usefixtures("small_levels")
def test_weights_without_rows_change_nothing() -> None:
    """Rows without weight are in no sample and no sum, however far they are."""
    X = draw_rows()
    weights = np.ones(len(X))
    weights[:100] = 0.0
    far = X.copy()
    far[:100] *= 1000
    one, other = (fit(rows, weights, projection=None, n_components="auto") for rows in (X, far))
    np.testing.assert_array_equal(one.labels_[100:], other.labels_[100:])
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-9)


# --- starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", ["few rows", "small_levels"])
def test_the_best_start_goes_on(levels: str, request: pytest.FixtureRequest) -> None:
    """Of several starts the one with the lowest inertia on the first level is kept."""
    if levels == "small_levels":
        request.getfixturevalue(levels)
    ended: list[Clustering] = []
    keep = Run.keep

    class Noted(Run):
        """A run that notes what is kept."""

        def keep(self, name: str, value: Any) -> None:
            if name.startswith("start-"):
                ended.append(value)
            keep(self, name, value)

    source = open_blocks(draw_rows())
    settings = Settings(K, projection=None, n_init=5, init="random", random_state=1)
    sizes = Sizes.of(source, K)
    recipe, approach = resolve_recipe(settings, sizes), choose_approach(settings, sizes)
    original, sketch = reduce_rows(recipe, source, None, Run())
    found = search_sketch(recipe, approach, original, sketch, Noted())
    assert len(ended) == 5
    assert len({each.inertia for each in ended}) > 1
    assert len(found.labels) == 1000
    if levels == "few rows":
        assert found.inertia == min(each.inertia for each in ended)


def test_of_equal_starts_the_first_is_kept() -> None:
    """A start that is better by rounding alone does not win: other machines round otherwise."""
    assert first_of_lowest([2.0, 2.0 * (1 - 3e-16), 2.0 * (1 - 6e-16)]) == 0
    assert first_of_lowest([2.0, 1.0, 1.0]) == 1
    assert first_of_lowest([0.0, 0.0]) == 0
    assert first_of_lowest([1.0, 1.0 - 1e-9]) == 1


def test_starts_are_counted_through() -> None:
    """The callback sees which start a pass belongs to, and passes of each begin with 1."""
    seen: dict[int, list[FitState]] = {}

    def callback(state: FitState) -> None:
        if state.step == "cluster":
            seen.setdefault(state.restart, []).append(state)

    fit(draw_rows(), projection=None, n_components="auto", n_init=3, callback=callback)
    assert sorted(seen) == [0, 1, 2]
    for states in seen.values():
        passes = [state.iteration for state in states]
        assert passes == sorted(passes)
        told = [state.inertia for state in states if state.inertia is not None]
        assert told == sorted(told, reverse=True)


# --- stopping ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_levels")
@pytest.mark.parametrize("options", [{}, {"projection": None, "n_components": "auto"}])
def test_a_stop_at_any_unit_gives_a_partition_of_all_rows(options: dict[str, Any]) -> None:
    """Wherever a fit is stopped, all rows have labels of k clusters, and the inertia is theirs."""
    X, units = draw_rows(), list[FitState]()
    whole = fit(X, callback=lambda state: bool(units.append(state)), **options)
    assert {state.step for state in units} >= {"seed", "cluster"}
    for stop in range(1, len(units) + 1):
        n_seen = 0

        def end(state: FitState, stop: int = stop) -> bool:
            nonlocal n_seen
            n_seen += 1
            return n_seen >= stop

        model = fit(X, callback=end, **options)
        assert model.stopped_ == "callback"
        assert len(model.labels_) == 1000
        assert set(model.labels_) <= set(range(K))
        assert len(set(model.labels_)) >= K - 1
        assert np.isfinite(model.cluster_centers_).all()
        means = np.nan_to_num(reference.means(X, model.labels_, K))
        assert model.inertia_ <= float(np.sum((X - X.mean(axis=0)) ** 2))
        assert model.inertia_ >= float(np.sum((X - means[model.labels_]) ** 2)) * (1 - 1e-9)
    assert whole.stopped_ == "converged"


def test_a_stopped_run_makes_one_pass_over_all_rows(small_levels: None) -> None:
    """After a stop on a sample the larger samples are left out, and all rows are labelled once."""
    shapes: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        found = spy_levels(patch)
        fit(draw_rows(), callback=lambda state: state.step == "cluster")
        shapes = [rows for rows, _ in found]
    assert shapes == [80, 1000]


# --- the original rows ---------------------------------------------------------------------------


Steps = Callable[..., tuple[Any, Any, Any, Any, Run]]


def open_steps(X: NDArray[Any], run: Run | None = None, **options: Any) -> tuple[Any, ...]:
    """Return recipe, approach, original rows, sketch and run of a fit by hand."""
    source, run = open_blocks(X), run or Run()
    options = {"projection": "sign", "random_state": 3, "n_components": 10, **options}
    settings, sizes = Settings(K, **options), Sizes.of(source, K)
    recipe = resolve_recipe(settings, sizes)
    original, sketch = reduce_rows(recipe, source, None, run)
    return recipe, choose_approach(settings, sizes, recipe.projection), original, sketch, run


@pytest.mark.parametrize("polish_iter", [0, 3, "auto"])
def test_steps_by_hand_are_the_fit(polish_iter: int | str) -> None:
    """The steps called one after the other give the labels and centers of the estimator."""
    X = draw_rows()
    steps = open_steps(X, polish_iter=polish_iter)
    sketched = search_sketch(*steps)
    lifted = search_original(*steps[:4], sketched, steps[4])
    options = {"random_state": 3, "projection": "sign", "n_components": 10}
    model = ProjectedKMeans(K, polish_iter=polish_iter, **options).fit(X)
    np.testing.assert_array_equal(lifted.original.labels, model.labels_)
    assert lifted.original.centers.tobytes() == model.cluster_centers_.tobytes()
    assert lifted.sketched.history == model.history_


@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
def test_without_polishing_the_partition_is_that_of_the_sketch(solver: str) -> None:
    """The paper's algorithm: labels of the sketch, with their means among the original rows."""
    X = draw_rows()
    steps = open_steps(X, polish_iter=0, solver=solver)
    sketched = search_sketch(*steps)
    lifted = search_original(*steps[:4], sketched, steps[4])
    np.testing.assert_array_equal(lifted.original.labels, sketched.labels)
    means = reference.means(X, sketched.labels, K)
    np.testing.assert_allclose(lifted.original.centers, means, rtol=0, atol=1e-12)
    exact = reference.extended_inertia(X, sketched.labels)
    assert lifted.original.inertia == pytest.approx(exact, rel=1e-12)


def test_polishing_lowers_the_inertia_and_ends_at_predictions() -> None:
    """Passes over the original rows gain, the more of them the more, and labels are nearest."""
    X = draw_rows()
    ends = [fit(X, projection="sign", polish_iter=n) for n in (0, 1, 5, "auto")]
    values = [model.inertia_ for model in ends]
    assert values[0] > values[1] > values[2]
    assert values[3] <= values[2] * (1 + 1e-3)
    for model in ends[1:]:
        assert_consistent(model, X)


def test_passes_that_are_counted_are_made() -> None:
    """With a number of passes, so many are made unless nothing changes."""
    X = draw_rows()
    for n_passes in (1, 2, 3):
        model = fit(X, projection="sign", polish_iter=n_passes)
        made = [state.iteration for state in model.trace_ if state.step == "polish"]
        assert made[:n_passes] == list(range(1, n_passes + 1))
        assert len(made) <= n_passes + 1


def test_polishing_among_near_centers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Original rows meet half as many centers as the sketch; labels are the nearest of all."""
    X = draw_rows()
    options = {"projection": "sign", "polish_iter": 3}
    full = fit(X, **options)
    monkeypatch.setattr(plan, "MIN_LISTED_CLUSTERS", 2)
    monkeypatch.setattr(plan, "NEAR_OF_FEW", 6)
    few = fit(X, **options)
    assert few.approach_.n_near == 6
    assert_consistent(few, X)
    assert full.inertia_ <= few.inertia_ < fit(X, projection="sign", polish_iter=0).inertia_
    assert_same_fit(fit(X, n_threads=3, **options), few)


def test_a_stopped_run_is_lifted_and_not_polished() -> None:
    """A run that was asked to stop needs a result, but no further pass."""
    X = draw_rows()
    run = Run(Monitor(lambda state: state.step == "cluster"))
    steps = open_steps(X, run, polish_iter=3)
    sketched = search_sketch(*steps)
    assert sketched.n_iter == 1
    lifted = search_original(*steps[:4], sketched, steps[4])
    np.testing.assert_array_equal(lifted.original.labels, sketched.labels)
    assert "polish" not in run.monitor.seconds
    assert set(run.monitor.seconds) == {"check", "reduce", "seed", "cluster", "lift"}


def test_labels_of_a_solver_of_the_caller_stay() -> None:
    """What a clusterer of the caller aims at is not known, so that nothing is moved."""
    X = draw_rows()
    own = KMeans(K, n_init=1, max_iter=1, random_state=0)
    for options in ({"projection": None, "n_components": "auto"}, {"projection": "sign"}):
        model = fit(X, solver=own, **options)
        assert model.approach_.solver == "own"
        means = reference.means(X, model.labels_, K)
        np.testing.assert_allclose(model.cluster_centers_, means, rtol=0, atol=1e-10)
        assert model.inertia_ == pytest.approx(inertia(X, model.labels_), rel=1e-10)


def test_single_points_move_on_the_sketch() -> None:
    """With solver="hartigan" the inertia of the sketch ends where no single move lowers it."""
    X = draw_rows(n=300)
    steps = open_steps(X, solver="hartigan", polish_iter=0)
    found = search_sketch(*steps)
    plain = search_sketch(*open_steps(X, solver="lloyd", polish_iter=0))
    assert found.inertia <= plain.inertia
    sketch = np.asarray(steps[3].source.select()).astype(float)
    change = reference.changes(sketch, found.labels, K, np.ones(300))
    own = change[np.arange(300), found.labels]
    assert (change.min(axis=1) >= own - 1e-9 * own.max()).all()


def test_a_level_knows_its_number() -> None:
    """Draws of the original level differ from those of every level of the sketch."""
    assert len(choose_approach(Settings(1), Sizes(10**12, 300, 1, 4)).level_rows) < module.ORIGINAL


@pytest.mark.parametrize("sparse", [False, True])
def test_one_pass_over_the_original_rows_gives_final_labels(
    monkeypatch: pytest.MonkeyPatch, sparse: bool
) -> None:
    """With few clusters that are found on the sketch, rows meet all centers once, not twice."""
    X, _ = draw_blobs(n=900, d=300, k=K, gap=2.0)
    rows = scipy.sparse.csr_array(X * (X > 0)) if sparse else X
    widths: list[int] = []
    plain = NearestSearch.assign

    def note(self: NearestSearch, centers: Any, *others: Any, **more: Any) -> None:
        widths.append(centers.shape[1])
        plain(self, centers, *others, **more)

    monkeypatch.setattr(NearestSearch, "assign", note)
    model = ProjectedKMeans(K, random_state=0).fit(rows)
    assert widths.count(300) == 1
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.inertia_ == pytest.approx(-model.score(rows), rel=1e-12)
    assert model.inertia_ <= model.trace_[-1].inertia * (1 + 1e-12)

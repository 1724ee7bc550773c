"""Lloyd's method against its twin, scikit-learn and hand-made cases."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.tasks import Task
from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.sums import GridSums
from projected_kmeans.results import Clustering, Labels
from projected_kmeans.search.lloyd import Lloyd, LloydState, choose_refills, run_lloyd
from tests import reference
from tests.support.layouts import seeds, types
from tests.support.problems import make_problem


def solve(X: NDArray[Any], centers: Any, max_iter: int = 300, **options: Any) -> Clustering:
    """Run Lloyd's method on rows without weights."""
    return run_lloyd(make_problem(X), np.asarray(centers, float), max_iter=max_iter, **options)


def draw_clusters(seed: int, n: int, d: int, k: int, gap: float) -> tuple[Any, Any]:
    """Return rows around k means that lie about ``gap`` apart, and the mean of each row."""
    stream = np.random.default_rng(seed)
    home = np.concatenate([np.arange(k), stream.integers(k, size=n - k)])
    return stream.normal(size=(n, d)) + gap * stream.normal(size=(k, d))[home], home


@given(seed=seeds, d=st.integers(1, 6), k=st.integers(1, 5), dtype=types)
def test_separated_clusters_are_found(seed: int, d: int, k: int, dtype: str) -> None:
    """From one row of each of some far clusters, the labels are the twin's in one pass."""
    stream = np.random.default_rng(seed)
    home = np.concatenate([np.arange(k), stream.integers(k, size=25)])
    X = (20 * home[:, None] + stream.integers(0, 4, size=(25 + k, d))).astype(dtype)
    found = solve(X, X[:k])
    np.testing.assert_array_equal(found.labels, home)
    np.testing.assert_array_equal(found.labels, reference.lloyd(X, X[:k].astype(float), 300)[0])
    np.testing.assert_allclose(found.centers, reference.means(X, home, k), rtol=1e-14)
    assert found.inertia == pytest.approx(reference.inertia(X, home), rel=1e-13)
    assert found.converged


@settings(max_examples=20)
@given(seed=seeds, n=st.integers(5, 30), d=st.integers(1, 5), k=st.integers(1, 4))
def test_equals_the_twin(seed: int, n: int, d: int, k: int) -> None:
    """Labels and the inertia of every pass are the twin's, unless a cluster becomes empty."""
    X, _ = draw_clusters(seed, n, d, k, 1.0)
    labels, history = reference.lloyd(X, X[:k], 300)
    assume(len(np.unique(labels)) == k)
    found = solve(X, X[:k])
    np.testing.assert_array_equal(found.labels, labels)
    # A last pass that changes no label may still lower the inertia by its rounding.
    assert found.n_iter - len(history) in (0, 1)
    np.testing.assert_allclose(found.history[: len(history)], history, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_equals_scikit_learn(seed: int) -> None:
    """From equal first centers, scikit-learn comes to the same labels, centers and inertia."""
    X, _ = draw_clusters(seed, 400, 6, 7, 2.0)
    first = X[:7].copy()
    referee = KMeans(7, init=first, n_init=1, algorithm="lloyd", tol=0, max_iter=1000).fit(X)
    found = solve(X, first, max_iter=1000)
    assert np.bincount(found.labels, minlength=7).min() > 0
    np.testing.assert_array_equal(found.labels, referee.labels_)
    np.testing.assert_allclose(found.centers, referee.cluster_centers_, rtol=0, atol=1e-12)
    assert found.inertia == pytest.approx(referee.inertia_, rel=1e-12)


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 4),
    k=st.integers(1, 8),
    levels=st.integers(1, 6),
    weighted=st.booleans(),
)
def test_inertia_never_rises(
    seed: int, n: int, d: int, k: int, levels: int, weighted: bool
) -> None:
    """Each pass lowers the inertia, and what is returned is true of its labels, ties or not."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, levels, size=(n, d)).astype(float)
    weights = stream.integers(0, 3, size=n).astype(float) if weighted else None
    if weights is not None:
        weights[0] = 1.0
    centers = stream.normal(size=(k, d)) * levels
    found = run_lloyd(make_problem(X, weights), centers, max_iter=50)
    assert (np.diff(found.history) < 0).all()
    assert found.history[-1] == found.inertia
    assert len(found.history) == found.n_iter
    exact = reference.inertia(X, found.labels, weights)
    assert found.inertia == pytest.approx(exact, rel=1e-12, abs=1e-12)
    means = reference.means(X, found.labels, k, weights)
    filled = found.mass > 0
    np.testing.assert_allclose(found.centers[filled], means[filled], rtol=0, atol=1e-12)


@settings(max_examples=40)
@given(seed=seeds, n=st.integers(1, 30), d=st.integers(1, 3), k=st.integers(1, 8))
def test_clusters_stay_empty_only_for_want_of_distinct_rows(
    seed: int, n: int, d: int, k: int
) -> None:
    """From any centers there are k clusters, or at least as many as there are distinct rows."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 3, size=(n, d)).astype(float)
    centers = np.concatenate([X[:1]] * k) + 100.0 * (stream.random((k, 1)) < 0.3)
    found = solve(X, centers)
    distinct = len(np.unique(X, axis=0))
    assert np.count_nonzero(found.mass) >= min(k, distinct)
    assert (found.inertia == 0) or k < distinct


def test_an_empty_cluster_takes_the_farthest_row() -> None:
    """A center that no row is nearest to takes the row farthest from its own center."""
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    found = solve(X, [[0.0], [100.0]], max_iter=1)
    np.testing.assert_array_equal(found.labels, [0, 0, 0, 1])
    assert found.inertia == 2.0


def test_a_row_of_no_weight_fills_no_cluster() -> None:
    """An empty cluster takes a row with weight, though one without lies farther out."""
    X = np.array([[0.0], [1.0], [5.0], [50.0]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    found = run_lloyd(make_problem(X, weights), np.array([[0.0], [1000.0]]), max_iter=20)
    np.testing.assert_array_equal(found.labels[:3], [0, 0, 1])
    assert found.inertia == 0.5
    np.testing.assert_array_equal(found.mass, [2, 1])


def test_a_row_of_no_weight_keeps_its_nearest_center() -> None:
    """If only a row without weight could fill a cluster, the cluster stays empty."""
    X = np.array([[50.0], [0.0], [0.0]])
    problem = make_problem(X, np.array([0.0, 1.0, 1.0]))
    found = run_lloyd(problem, np.array([[0.0], [1000.0]]), max_iter=20)
    np.testing.assert_array_equal(found.labels, [0, 0, 0])
    np.testing.assert_array_equal(found.mass, [2, 0])


def test_filling_a_cluster_empties_no_other() -> None:
    """The last row of a cluster is not given away to an empty one."""
    found = solve(np.array([[1.0], [2.0]]), [[0.0], [100.0], [200.0]])
    np.testing.assert_array_equal(found.labels, [0, 1])
    np.testing.assert_array_equal(found.mass, [1, 1, 0])


def test_ties_are_kept() -> None:
    """A row midway between two centers stays in its cluster after the first pass."""
    X = np.array([[-1.0], [1.0], [0.0], [0.0]])
    start = solve(X, [[-1.0], [1.0]], max_iter=1)
    np.testing.assert_array_equal(start.labels, [0, 1, 0, 0])
    balanced = Clustering(
        np.array([0, 1, 1, 0], np.int32), np.array([[-0.5], [0.5]]), np.full(2, 2.0), 1.0, 2.0
    )
    found = run_lloyd(make_problem(X), balanced.centers, max_iter=10, start=balanced)
    np.testing.assert_array_equal(found.labels, balanced.labels)
    assert (found.inertia, found.n_iter, found.converged) == (1.0, 0, True)


def test_the_start_is_returned_where_nothing_lowers_it() -> None:
    """A partition that no pass improves comes back with no passes counted."""
    X, _ = draw_clusters(1, 60, 3, 4, 3.0)
    best = solve(X, X[:4])
    again = run_lloyd(make_problem(X), best.centers, max_iter=10, start=best)
    np.testing.assert_array_equal(again.labels, best.labels)
    assert again.inertia == best.inertia
    assert (again.n_iter, again.history, again.converged) == (0, (), True)


def test_one_cluster_is_the_mean() -> None:
    """One cluster has the mean for center and the sum of squares about it."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    found = solve(X, X[:1])
    np.testing.assert_allclose(found.centers[0], X.mean(axis=0), rtol=0, atol=1e-15)
    assert found.inertia == pytest.approx(30 * X.var(axis=0).sum(), rel=1e-13)


def test_as_many_clusters_as_rows() -> None:
    """If every row is its own center, the inertia is zero."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    found = solve(X, X)
    np.testing.assert_array_equal(found.labels, np.arange(12))
    assert found.inertia == 0


def test_one_row() -> None:
    """A single row is its own cluster."""
    found = solve(np.array([[3.0, 4.0]]), [[0.0, 0.0]])
    np.testing.assert_array_equal(found.centers, [[3, 4]])
    assert (found.inertia, found.sum_of_squares) == (0.0, 25.0)


def test_equal_rows() -> None:
    """Rows that are all equal make one cluster; the others keep their centers."""
    X = np.full((5, 2), 0.1)
    found = solve(X, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(found.mass, [5, 0, 0])
    np.testing.assert_array_equal(found.centers[1:], [[1, 1], [2, 2]])
    assert found.inertia <= 1e-30


def test_small_cases_reach_the_optimum_from_some_start() -> None:
    """Over all choices of rows as centers, the best inertia is the optimum of all partitions."""
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(7, 2)) + 3 * np.eye(7, 2) * (seed % 2)
        starts = [X[[i, j]] for i in range(7) for j in range(i)]
        best = min(solve(X, start).inertia for start in starts)
        optimum = reference.brute_force_optimum(X, 2)
        assert optimum * (1 - 1e-12) <= best <= optimum * (1 + 1e-12)


@settings(max_examples=15)
@given(seed=seeds, block_rows=st.integers(1, 80), n_threads=st.integers(1, 4), dtype=types)
def test_bits_do_not_depend_on_blocks_or_threads(
    seed: int, block_rows: int, n_threads: int, dtype: str
) -> None:
    """A whole run has the same bits for any block size and number of threads."""
    stream = np.random.default_rng(seed)
    X = (10 * stream.random(size=(70, 5))).astype(dtype)
    whole = solve(X, X[:6])
    problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
    other = run_lloyd(problem, X[:6].astype(float), max_iter=300)
    np.testing.assert_array_equal(whole.labels, other.labels)
    assert whole.centers.tobytes() == other.centers.tobytes()
    assert whole.history == other.history


def test_row_order_does_not_matter() -> None:
    """Rows in another order give the same centers, bit by bit."""
    X, _ = draw_clusters(3, 200, 5, 4, 1.5)
    order = np.random.default_rng(0).permutation(200)
    one, other = solve(X, X[:4]), solve(X[order], X[:4])
    np.testing.assert_array_equal(one.labels[order], other.labels)
    assert one.centers.tobytes() == other.centers.tobytes()


def test_max_iter_bounds_the_passes() -> None:
    """The run stops after max_iter passes and says that it did not converge."""
    X, _ = draw_clusters(5, 300, 2, 6, 0.5)
    whole = solve(X, X[:6])
    assert whole.n_iter > 3
    found = solve(X, X[:6], max_iter=3)
    assert (found.n_iter, found.converged) == (3, False)
    assert found.history == whole.history[:3]


def test_tol_stops_early() -> None:
    """The run stops after the first pass in which the centers' squared shift is at most tol."""
    X, _ = draw_clusters(5, 300, 2, 6, 0.5)
    centers = [X[:6]] + [solve(X, X[:6], max_iter=i).centers for i in range(1, 8)]
    shifts = [np.sum((b - a) ** 2) for a, b in itertools.pairwise(centers)]
    tol = shifts[3]
    expected = 1 + next(i for i, shift in enumerate(shifts) if shift <= tol)
    found = solve(X, X[:6], tol=tol)
    assert (found.n_iter, found.converged) == (expected, True)


def test_the_caller_can_stop() -> None:
    """A true answer ends the run with the partition of that pass."""
    X, _ = draw_clusters(5, 300, 2, 6, 0.5)
    seen: list[tuple[int, float]] = []

    def on_pass(done: int, value: float) -> bool:
        seen.append((done, value))
        return done == 2

    found = solve(X, X[:6], on_pass=on_pass)
    assert [done for done, _ in seen] == [1, 2]
    assert tuple(value for _, value in seen) == found.history
    assert (found.n_iter, found.converged) == (2, False)


def test_no_pass_is_refused() -> None:
    """max_iter=0 without a start gives a sentence."""
    with pytest.raises(ValueError, match="max_iter=0 allows no pass"):
        solve(np.zeros((2, 1)), [[0.0]], max_iter=0)


def follow_states(
    problem: Problem, centers: NDArray[Any], n_near: int, momentum: float
) -> tuple[Clustering, list[LloydState], Callable[[], Lloyd]]:
    """Return the end of a run, its state after every pass, and what begins the same run again."""

    def begin() -> Lloyd:
        search = NearestSearch(problem, len(centers), n_near)
        search.keep_lists()
        return Lloyd(problem, centers, max_iter=60, search=search, momentum=momentum)

    lloyd, states = begin(), list[LloydState]()
    while lloyd.step():
        states.append(copy.deepcopy(lloyd.state()))
    return lloyd.result(), states, begin


@pytest.mark.parametrize("n_near", [0, 6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 1.0])
def test_a_state_goes_on_to_the_same_bits(n_near: int, weighted: bool, momentum: float) -> None:
    """A run that goes on from the state after any pass ends with the same bits."""
    X, _ = draw_clusters(4, 400, 6, 16, 1.0)
    weights = np.linspace(0, 2, len(X)) if weighted else None
    centers = np.concatenate([X[:10], 50 + np.arange(6.0)[:, None] + X[:6]])  # six lose all rows
    problem = make_problem(X, weights)
    whole, states, begin = follow_states(problem, centers, n_near, momentum)
    assert len(states) > 4
    assert (states[-1].remembered.lists.size > 0) == (n_near > 0)
    for state in states:
        lloyd = begin()
        assert lloyd.resume(copy.deepcopy(state))
        while lloyd.step():
            pass
        found = lloyd.result()
        np.testing.assert_array_equal(found.labels, whole.labels)
        assert found.centers.tobytes() == whole.centers.tobytes()
        assert (found.inertia, found.history) == (whole.inertia, whole.history)
        assert (found.converged, found.n_iter) == (whole.converged, whole.n_iter)


@pytest.mark.parametrize("n_passes", [0, 1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_another_partition_goes_on_from_its_means(n_passes: int, weighted: bool) -> None:
    """After any passes a partition from outside has its own inertia and leads where it leads."""
    X, _ = draw_clusters(6, 300, 4, 8, 1.0)
    weights = np.linspace(0, 2, len(X)) if weighted else None
    problem = make_problem(X, weights)
    start = problem.sum(np.zeros(300, np.int32), X[:8]).describe(np.zeros(300, np.int32))
    lloyd = Lloyd(problem, X[:8].copy(), max_iter=90, start=None if n_passes else start)
    for _ in range(n_passes):
        assert lloyd.step()
    labels = np.random.default_rng(0).integers(8, size=300).astype(np.int32)
    lloyd.relabel(labels)
    np.testing.assert_array_equal(lloyd.labels, labels)
    assert lloyd.inertia == pytest.approx(reference.inertia(X, labels, weights), rel=1e-12)
    means = reference.means(X, labels, 8, weights)
    np.testing.assert_allclose(lloyd.centers, means, rtol=0, atol=1e-12)
    began = problem.sum(labels, means).describe(labels)
    expected = run_lloyd(problem, began.centers, max_iter=50, start=began)
    while lloyd.step():
        pass
    np.testing.assert_array_equal(lloyd.result().labels, expected.labels)
    assert lloyd.inertia == pytest.approx(expected.inertia, rel=1e-12)


class StrayingSearch(NearestSearch):
    """A search that gives some rows another label in one of its passes."""

    def __init__(self, problem: Problem, k: int, straying_pass: int) -> None:
        super().__init__(problem, k)
        self._k, self._n_left = k, straying_pass

    def assign(self, *arguments: Any, then: Any = (), **options: Any) -> None:
        """Make a pass; change labels of some rows in the one that strays."""
        self._n_left -= 1
        labels = arguments[1]
        if self._n_left:
            super().assign(*arguments, then=then, **options)
            return
        labels[:50] = (labels[:50] + 1) % self._k
        self._problem.source.walk(*then)


def test_passes_go_on_after_one_that_was_taken_back() -> None:
    """A pass that raises the inertia leaves no trace in the sums of those that follow it."""
    X, _ = draw_clusters(2, 300, 4, 6, 1.0)
    problem = make_problem(X)
    expected = run_lloyd(problem, X[:6].copy(), max_iter=300)
    lloyd = Lloyd(problem, X[:6].copy(), max_iter=300, search=StrayingSearch(problem, 6, 3))
    assert lloyd.step()
    assert lloyd.step()
    assert not lloyd.step()
    assert lloyd.inertia == pytest.approx(reference.inertia(X, lloyd.labels), rel=1e-12)
    lloyd.go_on()
    while lloyd.step():
        assert lloyd.inertia == pytest.approx(reference.inertia(X, lloyd.labels), rel=1e-12)
    np.testing.assert_array_equal(lloyd.result().labels, expected.labels)
    assert lloyd.inertia == pytest.approx(expected.inertia, rel=1e-12)


def test_the_farthest_rows_that_differ_fill_clusters() -> None:
    """Equal rows are taken once, and a row never leaves a cluster without other rows."""
    X = np.array([[0.0], [1.0], [9.0], [9.0], [50.0]])
    problem, centers = make_problem(X), np.array([[0.0], [90.0], [80.0], [20.0]])
    labels = np.array([0, 0, 0, 0, 3], np.int32)
    rows, targets = choose_refills(problem, problem.sum(labels, centers), centers, labels)
    np.testing.assert_array_equal(rows, [1, 2])  # row 4 is alone, and row 3 equals row 2
    np.testing.assert_array_equal(targets, [2, 1])


@settings(max_examples=20)
@given(seed=seeds, d=st.integers(1, 5), k=st.integers(2, 8), momentum=st.floats(0.1, 4.0))
def test_momentum_ends_where_no_row_wants_to_move(
    seed: int, d: int, k: int, momentum: float
) -> None:
    """However far passes look ahead, the inertia falls, and every row ends at its nearest mean."""
    X, _ = draw_clusters(seed, 200, d, k, 1.0)
    found = solve(X, X[:k], momentum=momentum)
    assert found.converged
    assert all(later < earlier for earlier, later in itertools.pairwise(found.history))
    assert found.inertia == pytest.approx(reference.inertia(X, found.labels), rel=1e-12)
    np.testing.assert_allclose(found.centers, reference.means(X, found.labels, k), rtol=1e-9)
    distances = reference.squared_distances(X, found.centers)
    own = np.take_along_axis(distances, found.labels[None].astype(np.int64), axis=0)[0]
    np.testing.assert_allclose(own, distances.min(axis=0), rtol=1e-9, atol=1e-12)


def test_momentum_takes_fewer_passes() -> None:
    """Looking ahead takes at most three quarters of the passes over rows without clear clusters."""
    # The rows are fixed: 295 of 495 passes over ten sets of first centers.
    X = np.random.default_rng(5).normal(size=(3000, 8))
    firsts = [X[10 * start : 10 * start + 8] for start in range(10)]
    plain = sum(solve(X, first).n_iter for first in firsts)
    assert sum(solve(X, first, momentum=0.9).n_iter for first in firsts) <= 0.75 * plain


def test_a_pass_that_looks_too_far_is_taken_back() -> None:
    """A pass ahead of the means that raises the inertia is followed by one at the means."""
    X, _ = draw_clusters(1, 300, 3, 5, 1.0)
    lloyd = Lloyd(make_problem(X), X[:5].copy(), max_iter=300, momentum=1.0)
    assert lloyd.step()
    assert lloyd.step()
    state = copy.deepcopy(lloyd.state())
    far = Lloyd(make_problem(X), X[:5].copy(), max_iter=300)
    assert far.resume(replace(state, ahead=state.ahead[::-1] + 100.0, momentum=1.0))
    near = Lloyd(make_problem(X), X[:5].copy(), max_iter=300)
    assert near.resume(replace(state, ahead=np.empty(0), momentum=1.0))
    assert far.step()
    assert near.step()
    np.testing.assert_array_equal(far.labels, near.labels)
    assert far.inertia == near.inertia
    assert (far.state().momentum, near.state().momentum) == (0.5, 1.0)


def test_later_passes_add_only_the_rows_that_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are summed in the first pass only; sums then follow the labels before each pass."""
    begun: list[bool] = []
    adding = GridSums.adding

    def note(sums: GridSums, labels: Labels, before: Labels | None = None) -> Task:
        begun.append(before is None)
        return adding(sums, labels, before)

    monkeypatch.setattr(GridSums, "adding", note)
    X = np.random.default_rng(0).normal(size=(500, 3))
    found = run_lloyd(make_problem(X), X[:6].copy(), max_iter=8)
    assert found.n_iter == 8
    assert begun == [True] + 7 * [False]


@settings(max_examples=40)
@given(
    seed=seeds,
    n=st.integers(6, 40),
    k=st.integers(2, 5),
    dtype=types,
    far=st.sampled_from([0, 900]),
)
def test_a_pass_that_settles_gives_the_labels_of_predict(
    seed: int, n: int, k: int, dtype: str, far: int
) -> None:
    """Labels are the lowest of the nearest centers as stored, and the history is about these."""
    stream = np.random.default_rng(seed)
    X = (stream.integers(0, 6, size=(n, 2)) + far).astype(dtype)
    labels = np.concatenate([np.arange(k), stream.integers(k, size=n - k)]).astype(np.int32)
    problem = make_problem(X)
    start = problem.sum(labels, X[:k].astype(float)).describe(labels)
    lloyd = Lloyd(problem, start.centers, max_iter=5, start=start, settles=True)
    moved = lloyd.step()
    if lloyd.settled_at is None:  # a cluster was filled, or nothing was gained
        return
    stored = start.centers.astype(compute_type(X.dtype)).astype(float)
    np.testing.assert_array_equal(lloyd.settled_at, stored)
    gaps = ((X.astype(float)[:, None] - stored) ** 2).sum(axis=2)
    nearest = np.sort(gaps, axis=1)
    np.testing.assert_allclose(gaps[np.arange(n), lloyd.labels], nearest[:, 0], rtol=1e-9)
    clear = nearest[:, 1] > nearest[:, 0] * (1 + 1e-9)
    np.testing.assert_array_equal(lloyd.labels[clear], gaps.argmin(axis=1)[clear])
    if moved:
        assert lloyd.history == [pytest.approx(nearest[:, 0].sum(), rel=1e-9, abs=1e-9)]
        assert lloyd.inertia <= lloyd.history[0] <= start.inertia
    lloyd.step()
    assert (lloyd.settled_at is None) == lloyd.made_pass


def test_of_equally_near_centers_a_pass_that_settles_takes_the_lowest() -> None:
    """A row in the middle leaves the higher center, which an ordinary pass lets it keep."""
    X = np.array([[-1.0], [1.0], [3.0], [5.0], [2.0], [2.0], [9.0], [8.0]])
    labels = np.array([0, 0, 1, 1, 1, 1, 2, 1], np.int32)
    problem = make_problem(X)
    start = problem.sum(labels, X[:3]).describe(labels)
    start = replace(start, centers=np.array([[0.0], [4.0], [9.0]]))
    ended = []
    for settles in (False, True):
        lloyd = Lloyd(problem, start.centers, max_iter=1, start=start, settles=settles)
        assert lloyd.step()
        ended.append(lloyd.labels.tolist())
    assert ended == [[0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 1, 1, 0, 0, 2, 2]]

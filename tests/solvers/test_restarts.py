"""Restarts by successive halving: who goes on, who is judged, and what is left of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.results import Clustering
from projected_kmeans.running.run import Run
from projected_kmeans.solvers import single_restart
from projected_kmeans.solvers.lloyd import run_lloyd
from projected_kmeans.solvers.restarts import FINALISTS, FIRST_PASSES, run_restarts
from projected_kmeans.solvers.resumable_solvers import run_to_plateau
from projected_kmeans.solvers.single_restart import Effort
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.problems import make_problem
from tests.support.small_blocks import use_small_blocks


def watch(X: NDArray[Any], **options: Any) -> tuple[dict[int, list[FitState]], ProjectedKMeans]:
    """Return what the callback sees of each restart's passes, and the model."""
    seen: dict[int, list[FitState]] = {}

    def callback(state: FitState) -> None:
        if state.step == "cluster":
            seen.setdefault(state.restart, []).append(state)

    options = {"init": "random", "random_state": 1, "tol": 0, "polish_iter": 0} | options
    return seen, ProjectedKMeans(5, callback=callback, **options).fit(X)


def test_the_better_half_goes_on() -> None:
    """All of ten begin, the best five go on, three finish; passes are counted through."""
    X, _ = draw_blobs(n=600, gap=0.1)
    seen, _ = watch(X, n_init=10)
    assert sorted(seen) == list(range(10))
    for states in seen.values():
        assert [state.iteration for state in states] == list(range(1, len(states) + 1))
        inertias = [state.inertia for state in states]
        assert inertias == sorted(inertias, reverse=True)
    first = {restart: states[:FIRST_PASSES][-1].inertia for restart, states in seen.items()}
    longer = {restart for restart, states in seen.items() if len(states) > FIRST_PASSES}
    assert longer <= set(sorted(first, key=first.__getitem__)[:5])
    longest = {restart for restart, states in seen.items() if len(states) > 2 * FIRST_PASSES}
    assert 0 < len(longest) <= FINALISTS


def test_a_pause_changes_nothing() -> None:
    """The winner's passes and result are those of the same restart run alone to its end."""
    X, _ = draw_blobs(gap=0.15)
    problem = make_problem(X)
    first = [X[np.random.default_rng(seed).choice(len(X), 5, replace=False)] for seed in range(8)]
    effort = Effort("lloyd", 0, 300, 0.0, 0.0)
    found = run_restarts(problem, 5, 8, lambda index, on_center: first[index], effort, Run())
    assert len(found) == FINALISTS
    alone = [run_lloyd(problem, centers, max_iter=300) for centers in first]
    for one in found:
        (twin,) = [other for other in alone if other.history[0] == one.history[0]]
        np.testing.assert_array_equal(one.labels, twin.labels)
        assert one.labels.dtype == np.int32
        # Sums begin anew about other points after a pause, which may cost the last bit.
        np.testing.assert_allclose(one.history, twin.history, rtol=1e-14)
        np.testing.assert_allclose(one.centers, twin.centers, rtol=0, atol=1e-13)
        assert (one.n_iter, one.converged) == (twin.n_iter, twin.converged)


@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
@pytest.mark.parametrize("projection", ["sign", None])
def test_threads_and_blocks_change_no_bit(
    solver: str, projection: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halving, judging and polishing give the same bits for any threads and blocks."""
    X, _ = draw_blobs(gap=0.15)
    options = {"n_init": 9, "solver": solver, "projection": projection, "polish_iter": 2}
    _, one = watch(X, n_threads=1, **options)
    use_small_blocks(monkeypatch, 17 * 8 * 200)
    _, other = watch(X, n_threads=3, **options)
    assert_same_fit(one, other)
    assert one.n_iter_ == len(one.history_)


def test_weights_and_empty_clusters_survive_the_judging() -> None:
    """Fewer distinct rows than clusters, with weights: finalists are lifted all the same."""
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 60)), 5, axis=0)
    weights = np.arange(20.0)
    model = ProjectedKMeans(6, projection="sign", n_components=10, n_init=5, random_state=0)
    with pytest.warns(UserWarning, match="distinct clusters"):
        model.fit(X, sample_weight=weights)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)
    assert np.isfinite(model.cluster_centers_).all()


def test_few_passes_allow_no_rounds() -> None:
    """If max_iter is less than a round, every restart ends there and the best are lifted."""
    X, _ = draw_blobs(gap=0.15)
    seen, model = watch(X, n_init=8, max_iter=2)
    assert all(len(states) <= 2 for states in seen.values())
    assert model.stopped_ == "max_iter"


def test_restarts_that_differ_by_rounding_keep_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart that is better by rounding alone does not win: other machines round otherwise."""
    X, _ = draw_blobs(gap=3.0)
    options = {"random_state": 2, "polish_iter": 0, "projection": "sign", "solver": "lloyd"}
    first = ProjectedKMeans(5, n_init=1, **options).fit(X)
    calls: list[Clustering] = []

    def run_and_round(*arguments: Any, **keywords: Any) -> Clustering:
        found = run_to_plateau(*arguments, **keywords)
        calls.append(replace(found, inertia=found.inertia * (1 - 3e-16 * len(calls))))
        return calls[-1]

    monkeypatch.setattr(single_restart, "run_to_plateau", run_and_round)
    model = ProjectedKMeans(5, n_init=4, **options).fit(X)
    assert calls[0].inertia == pytest.approx(calls[-1].inertia, rel=1e-14)
    assert not np.array_equal(calls[0].labels, calls[-1].labels)
    np.testing.assert_array_equal(model.labels_, first.labels_)

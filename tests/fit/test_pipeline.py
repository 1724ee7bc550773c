"""Clustering, lifting and polishing in their order: who wins, and when a step does nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.fit.pipeline import cluster_sketch, lift_partition
from projected_kmeans.fit.polishing import polish_partition
from projected_kmeans.fit.reduction import reduce_rows
from projected_kmeans.results import Clustering
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers import lifting
from tests.support.blobs import assert_consistent, draw_blobs
from tests.support.recipes import make_recipe


def test_the_winner_is_the_best_finalist_in_the_original_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its inertia is the lowest of all finalists after lifting, not only on the sketch."""
    judged: list[list[Clustering]] = []
    plain = lifting.lift_together

    def spy(*arguments: Any) -> lifting.LiftedTogether:
        found = plain(*arguments)
        judged.append(found.partitions)
        return found

    monkeypatch.setattr(lifting, "lift_together", spy)
    surprises = 0
    for seed in range(6):
        X, _ = draw_blobs(seed, gap=0.15)
        model = ProjectedKMeans(
            5, n_init=7, n_components=8, init="random", tol=0, polish_iter=0, random_state=seed
        ).fit(X)
        inertias = [one.inertia for one in judged[-1]]
        assert model.inertia_ == min(inertias)
        assert_consistent(model, X)
        surprises += model.inertia_ != inertias[0]
    assert len(judged) == 6
    assert surprises > 0


def test_steps_by_hand_are_the_fit() -> None:
    """The steps called one after the other give the labels and centers of the estimator."""
    X, _ = draw_blobs(gap=0.15)
    source = open_blocks(X)
    recipe, run = make_recipe(source, polish_iter=3), Run()
    original, sketch = reduce_rows(recipe, source, None, run)
    finalists = cluster_sketch(recipe, original, sketch, run)
    lifted = lift_partition(original, sketch, finalists, run)
    polished = polish_partition(recipe, original, sketch, lifted, run)
    model = ProjectedKMeans(5, random_state=3, projection="sign", polish_iter=3).fit(X)
    np.testing.assert_array_equal(polished.labels, model.labels_)
    assert polished.centers.tobytes() == model.cluster_centers_.tobytes()
    assert lifted.sketched.history == model.history_
    assert polished.inertia < lifted.original.inertia


def test_nothing_is_lifted_without_a_map() -> None:
    """If nothing is projected, the finalist with the lowest inertia is the result."""
    X, _ = draw_blobs(gap=0.15)
    source = open_blocks(X)
    recipe, run = make_recipe(source, projection=None), Run()
    original, sketch = reduce_rows(recipe, source, None, run)
    finalists = cluster_sketch(recipe, original, sketch, run)
    lifted = lift_partition(original, sketch, finalists, run)
    assert lifted.original is lifted.sketched
    assert lifted.original.inertia == min(one.inertia for one in finalists)
    assert "lift" not in run.monitor.seconds


def test_a_stopped_run_is_not_polished() -> None:
    """A run that was asked to stop is lifted, because it needs a result, but not polished."""
    X, _ = draw_blobs(gap=0.15)
    source = open_blocks(X)
    run = Run(Monitor(lambda state: state.step == "cluster"))
    recipe = make_recipe(source, polish_iter=3)
    original, sketch = reduce_rows(recipe, source, None, run)
    finalists = cluster_sketch(recipe, original, sketch, run)
    assert [one.n_iter for one in finalists] == [1]
    lifted = lift_partition(original, sketch, finalists, run)
    assert polish_partition(recipe, original, sketch, lifted, run) is lifted.original
    assert set(run.monitor.seconds) == {"check", "reduce", "seed", "cluster", "lift"}


def test_candidates_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A polish pass over candidates says how many distances it computed."""
    X, _ = draw_blobs(gap=0.15)
    source = open_blocks(X)
    recipe, run = make_recipe(source, polish_iter=1), Run()
    recipe = replace(recipe, approach=replace(recipe.approach, polish_candidates=2))
    original, sketch = reduce_rows(recipe, source, None, run)
    lifted = lift_partition(original, sketch, cluster_sketch(recipe, original, sketch, run), run)
    with caplog.at_level("DEBUG", logger="projected_kmeans"):
        polish_partition(recipe, original, sketch, lifted, run)
    expected = "polish: 300 distances in 200 columns; full passes would take 5 a row"
    assert expected in caplog.messages

"""Fits of rows with heavy tails: all rows are searched by swaps, and all promises hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import assert_consistent, assert_same_fit

K = 30


def draw_tails(n: int = 24_000, d: int = 50, degrees: float = 2.0) -> NDArray[np.float32]:
    """Return rows of a multivariate t distribution."""
    stream = np.random.default_rng(4)
    lengths = np.sqrt(stream.chisquare(degrees, (n, 1)) / degrees)
    return (stream.normal(size=(n, d)) / lengths).astype(np.float32)


def fit(X: Any, sample_weight: Any = None, **options: Any) -> ProjectedKMeans:
    """Fit rows with the automatic plan in a sketch of 20 principal directions."""
    options = {"projection": "svd", "n_components": 20, "random_state": 1, **options}
    return ProjectedKMeans(K, **options).fit(X, sample_weight=sample_weight)


def test_swaps_on_all_rows_end_lower_where_tails_are_heavy() -> None:
    """The plan turns to swaps, and ends below restarts on a subsample; no cells are named."""
    X = draw_tails()
    swapped, restarted = fit(X), fit(X, n_init=3)
    assert (swapped.approach_.solver, swapped.approach_.n_init) == ("cells", 1)
    assert swapped.hierarchy_ is None
    assert (restarted.approach_.solver, restarted.approach_.n_init) == ("lloyd", 3)
    assert swapped.inertia_ < restarted.inertia_
    assert_consistent(swapped, X)


@pytest.mark.parametrize("degrees", [2.0, 50.0])
def test_the_plan_watches_only_what_the_caller_leaves_to_it(degrees: float) -> None:
    """Rows with light tails, and fits whose search is given, go on as planned."""
    X = draw_tails(degrees=degrees)
    heavy = degrees == 2.0
    assert (fit(X).approach_.solver == "cells") == heavy
    for options in ({"solver": "lloyd"}, {"n_init": 2}, {"init": "random"}):
        assert fit(X, max_iter=3, **options).approach_.solver == "lloyd"


@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"projection": None}])
def test_the_partition_does_not_depend_on_threads_or_where_rows_lie(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """One thread and two, memory, a file and Dask give the same bits."""
    X = draw_tails(d=45)
    if options.get("projection", "svd") is None:
        options = {**options, "n_components": "auto"}
    options = {"inertia_tol": 1e-3, **options}
    one = fit(X, n_threads=1, **options)
    assert_same_fit(fit(X, n_threads=2, **options), one)
    np.save(tmp_path / "rows.npy", X)
    assert_same_fit(fit(open_rows(tmp_path / "rows.npy"), **options), one)
    distant = fit(da.from_array(X, chunks=(9000, -1)), **options)
    np.testing.assert_array_equal(np.asarray(distant.labels_), one.labels_)
    assert distant.inertia_ == one.inertia_


def draw_far_values() -> NDArray[np.float32]:
    """Return rows whose values are far one by one, each in a column of its own."""
    return np.random.default_rng(3).standard_t(2, size=(16_000, 250)).astype(np.float32)


def test_far_values_are_searched_in_the_original_space() -> None:
    """A sketch does not see them: the automatic plan leaves it, and a map that is named stays."""
    # Keys are fixed. Over keys 0 to 5 the inertia was .4 to 4.6 % below that with the map named.
    X = draw_far_values()
    free = ProjectedKMeans(40, random_state=2).fit(X)
    assert free.projection_ is None
    assert free.approach_.projection is None
    assert (free.approach_.solver, free.n_components_) == ("cells", 250)
    named = ProjectedKMeans(40, random_state=2, projection="svd").fit(X)
    assert (named.approach_.solver, named.approach_.projection) == ("cells", "svd")
    assert free.inertia_ < 0.99 * named.inertia_
    assert_consistent(free, X)


def test_a_fit_that_left_the_sketch_is_recalled_as_it_was(tmp_path: Path) -> None:
    """A finished fit, one that was stopped, and one of a file have the same bits and approach."""
    X = draw_far_values()
    np.save(tmp_path / "rows.npy", X)

    def stop(state: FitState) -> bool:
        return state.step == "cluster" and state.iteration == 3

    def fit_freely(rows: Any, **options: Any) -> ProjectedKMeans:
        return ProjectedKMeans(40, random_state=2, inertia_tol=1e-3, **options).fit(rows)

    whole = fit_freely(X)
    assert_same_fit(fit_freely(open_rows(tmp_path / "rows.npy")), whole)
    fit_freely(X, checkpoint=tmp_path / "run", callback=stop)
    for _ in range(2):  # it goes on, and is finished
        found = fit_freely(X, checkpoint=tmp_path / "run")
        assert_same_fit(found, whole)
        assert found.approach_ == whole.approach_
        assert found.projection_ is None


def test_weights_count_rows_as_often() -> None:
    """Rows without weight change nothing, however far they are."""
    X = draw_tails()
    weights = np.ones(len(X))
    weights[:100] = 0.0
    far = X.copy()
    far[:100] *= 3
    assert fit(X, weights).inertia_ == pytest.approx(fit(far, weights).inertia_, rel=0.05)


def test_a_fit_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """A fit that a callback stopped after a swap ends with the bits of one that was not."""
    X = draw_tails()

    def stop(state: FitState) -> bool:
        return state.step == "cluster" and state.iteration == 4

    whole = fit(X)
    fit(X, checkpoint=tmp_path / "run", callback=stop)
    resumed = fit(X, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    assert resumed.inertia_ == whole.inertia_
    again = fit(X, checkpoint=tmp_path / "run")
    assert again.approach_ == whole.approach_


def test_polishing_goes_on_while_it_gains() -> None:
    """Rows without principal directions get more passes; a number that is given is kept."""
    noise = np.random.default_rng(0).normal(size=(20_000, 128)).astype(np.float32)
    options: dict[str, Any] = {"random_state": 0, "max_iter": 10}
    automatic = ProjectedKMeans(50, **options).fit(noise)
    one = ProjectedKMeans(50, polish_iter=1, **options).fit(noise)
    n_passes = [sum(state.step == "polish" for state in fit.trace_) for fit in (automatic, one)]
    assert 1 < n_passes[0] <= 6
    assert n_passes[1] == 1
    gains = [state.inertia for state in automatic.trace_ if state.step == "polish"]
    assert all(after < before for before, after in pairwise(gains))
    assert automatic.inertia_ < one.inertia_

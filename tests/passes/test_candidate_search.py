"""Polish passes over candidates: both kernels against their twins, and what a run of them keeps."""

from __future__ import annotations

import itertools
import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, _native
from projected_kmeans.passes.candidate_search import CandidateSearch, list_candidates
from projected_kmeans.passes.problem import Problem
from projected_kmeans.results import Clustering
from projected_kmeans.solvers.lloyd import run_lloyd
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.layouts import (
    TYPES,
    compute_type,
    draw_rows,
    lay_out,
    layouts,
    seeds,
    threads,
    types,
)
from tests.support.problems import make_problem


def make_start(X: NDArray[Any], k: int, seed: int = 0) -> Clustering:
    """Return a partition by nearest of k random rows, with its means."""
    stream = np.random.default_rng(seed)
    centers = X[stream.choice(len(X), k, replace=False)].astype(np.float64)
    return run_lloyd(make_problem(X), centers, max_iter=1)


def polish_among(problem: Problem, start: Clustering, lists: Any, **options: Any) -> Clustering:
    """Run Lloyd's method over candidates."""
    search = CandidateSearch(problem, lists)
    return run_lloyd(problem, start.centers, start=start, search=search, **options)


def draw_grid(seed: int, n: int, d: int, k: int, dtype: str) -> tuple[Any, Any, Any]:
    """Return small integers, which no kernel rounds, as rows, centers and labels."""
    stream = np.random.default_rng(seed)
    X = stream.integers(0, 5, size=(n, d)).astype(dtype)
    labels = stream.integers(k, size=n).astype(np.int32)
    return X, stream.integers(0, 5, size=(k, d)).astype(float), labels


@settings(max_examples=60)
@given(
    seed=seeds,
    n=st.integers(1, 70),
    d=st.integers(1, 40),
    k=st.integers(1, 30),
    m=st.integers(1, 12),
    dtype=types,
    layout=layouts,
    n_threads=threads,
    wide=st.booleans(),
)
def test_both_kernels_equal_their_twins(
    seed: int, n: int, d: int, k: int, m: int, dtype: str, layout: str, n_threads: int, wide: bool
) -> None:
    """Both kernels are exact on small integers, for all types, layouts, ties and duplicates."""
    X, centers, labels = draw_grid(seed, n, d, k, dtype)
    real = compute_type(dtype)
    origin, inside = np.zeros(d, real), centers.astype(real)
    lists = np.empty((n, min(m, k)), np.int32 if wide else np.uint16)
    rows = lay_out(X, layout)
    _native.candidate_centers(rows, origin, 1.0, inside, labels, lists, n_threads)
    expected = reference.candidate_centers(X, centers, labels, min(m, k))
    np.testing.assert_array_equal(lists, expected)
    found = labels.copy()
    _native.nearest_candidate(rows, origin, 1.0, inside, centers, lists, found, n_threads)
    np.testing.assert_array_equal(found, reference.nearest_candidate(X, centers, expected, labels))


@pytest.mark.parametrize("dtype", TYPES)
def test_threads_and_blocks_change_no_bit(dtype: str) -> None:
    """Random rows give the same lists, labels and centers for any threads and blocks."""
    X = draw_rows(3, 700, 37, dtype)
    start = make_start(X, 40)
    runs = []
    for block_rows, n_threads in ((None, 1), (13, 3), (256, 2)):
        problem = make_problem(X, block_rows=block_rows, n_threads=n_threads)
        lists = list_candidates(problem, start, 6)
        runs.append((lists, polish_among(problem, start, lists, max_iter=5)))
    for lists, found in runs[1:]:
        np.testing.assert_array_equal(lists, runs[0][0])
        np.testing.assert_array_equal(found.labels, runs[0][1].labels)
        assert found.centers.tobytes() == runs[0][1].centers.tobytes()
        assert found.history == runs[0][1].history


def test_random_rows_get_their_nearest_centers() -> None:
    """Away from ties, rounded distances give the exact lists; a large offset costs nothing."""
    X = np.random.default_rng(1).normal(size=(300, 20)).astype(np.float32) + np.float32(1e4)
    start = make_start(X, 25)
    lists = list_candidates(make_problem(X), start, 5)
    assert lists.dtype == np.uint16
    distances = reference.squared_distances(X, start.centers).T
    for row, found in enumerate(lists):
        others = np.setdiff1d(np.arange(25), found)
        nearest = [one for one in found if one != start.labels[row]]
        assert distances[row, nearest].max() <= distances[row, others].min() * (1 + 1e-4)
    assert (lists == start.labels[:, None]).any(axis=1).all()


@given(seed=seeds, n=st.integers(5, 60), k=st.integers(1, 12), m=st.integers(1, 5))
def test_inertia_never_rises_and_no_cluster_is_lost(seed: int, n: int, k: int, m: int) -> None:
    """Every pass lowers the inertia; clusters that had rows keep some."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    k = min(k, n)
    start = make_start(X, k, seed)
    problem = make_problem(X)
    found = polish_among(problem, start, list_candidates(problem, start, m), max_iter=9)
    values = (start.inertia, *found.history)
    assert all(later < earlier for earlier, later in itertools.pairwise(values))
    assert found.inertia == values[-1]
    assert found.inertia == pytest.approx(reference.inertia(X, found.labels), rel=1e-11)
    assert ((found.mass > 0) == (start.mass > 0)).all()


def test_all_candidates_are_a_full_pass() -> None:
    """With all centers as candidates the passes are those of Lloyd's method."""
    X = np.random.default_rng(2).normal(size=(400, 6))
    start = make_start(X, 12)
    problem = make_problem(X)
    lists = list_candidates(problem, start, 12)
    among = polish_among(problem, start, lists, max_iter=4)
    full = run_lloyd(problem, start.centers, max_iter=4, start=start)
    np.testing.assert_array_equal(among.labels, full.labels)
    assert among.history == pytest.approx(full.history, rel=1e-13)


def test_the_caller_can_stop() -> None:
    """If the callback returns True, the run ends after that pass."""
    X = np.random.default_rng(2).normal(size=(400, 6))
    start = make_start(X, 12)
    problem = make_problem(X)
    lists = list_candidates(problem, start, 4)
    found = polish_among(problem, start, lists, max_iter=9, on_pass=lambda done, value: done == 2)
    assert (found.n_iter, found.converged) == (2, False)


def test_the_estimator_polishes_among_candidates(caplog: pytest.LogCaptureFixture) -> None:
    """Polishing among candidates gains nearly as much as full passes; the log reports its cost."""
    X, _ = draw_blobs(n=600, k=30, gap=0.5)
    options = {"projection": "sign", "n_components": 10, "polish_iter": 2, "random_state": 0}
    options["solver"] = "lloyd"
    raw = ProjectedKMeans(30, **(options | {"polish_iter": 0})).fit(X)
    full = ProjectedKMeans(30, polish_candidates=None, **options).fit(X)
    with caplog.at_level(logging.DEBUG, logger="projected_kmeans"):
        few = ProjectedKMeans(30, polish_candidates=6, **options).fit(X)
    assert_consistent(few, X)
    assert full.inertia_ < few.inertia_ < raw.inertia_
    assert "polish: 7200 distances in 200 columns; full passes would take 30 a row" in caplog.text
    again = ProjectedKMeans(30, polish_candidates=6, n_threads=3, **options).fit(X)
    assert_same_fit(few, again)
    many = ProjectedKMeans(30, polish_candidates=30, **options).fit(X)
    assert_same_fit(many, full)


def test_auto_takes_candidates_for_many_clusters() -> None:
    """From 128 clusters on, automatic polishing compares each row with 16 centers."""
    X, _ = draw_blobs(n=400, k=130, d=150)
    for k, spelt in ((127, None), (128, 16)):
        options = {"n_components": 20, "random_state": 0, "n_init": 1}
        automatic = ProjectedKMeans(k, **options).fit(X)
        assert_same_fit(automatic, ProjectedKMeans(k, polish_candidates=spelt, **options).fit(X))


@pytest.mark.parametrize("value", [0, -3, 2.5, "all"])
def test_bad_candidates_are_refused(value: object) -> None:
    """Values that make no sense are refused with one sentence."""
    with pytest.raises((ValueError, TypeError), match=r"polish_candidates=.*; use .* or 'auto'"):
        ProjectedKMeans(2, polish_candidates=value).fit(np.eye(3))


def test_kernels_refuse_what_does_not_fit() -> None:
    """Candidates that name no center, or too many of them, are refused."""
    X, centers, labels = draw_grid(0, 5, 3, 4, "float64")
    origin = np.zeros(3)
    with pytest.raises(ValueError, match="at most n_centers"):
        _native.candidate_centers(X, origin, 1.0, centers, labels, np.empty((5, 5), np.uint16), 1)
    lists = np.full((5, 2), 4, np.uint16)
    with pytest.raises(ValueError, match="name a center"):
        _native.nearest_candidate(X, origin, 1.0, centers, centers, lists, labels, 1)

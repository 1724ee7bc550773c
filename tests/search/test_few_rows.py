"""Starts inside a kernel: how good their centers are, and what they depend on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from projected_kmeans import ProjectedKMeans, open_rows
from projected_kmeans.results import FitState
from projected_kmeans.search import seeding
from projected_kmeans.search.lloyd import run_lloyd
from projected_kmeans.search.paper_solvers import find_optimum
from projected_kmeans.search.seeding import FewRows, count_last_swaps
from tests.support.blobs import assert_same_fit, draw_blobs
from tests.support.problems import make_problem


def draw_groups() -> NDArray[np.float64]:
    """Return 400 rows of 7 columns in 9 overlapping groups."""
    stream = np.random.default_rng(5)
    return stream.normal(size=(9, 7))[stream.integers(9, size=400)] + stream.normal(size=(400, 7))


def find(X: NDArray[Any], k: int, key: int = 0, **options: Any) -> NDArray[np.float64]:
    """Return the centers that four starts find."""
    problem = make_problem(X, options.pop("weights", None), **options)
    return FewRows(problem, k, 4, 300, key).find_centers(lambda _: False)


def measure(X: NDArray[Any], centers: NDArray[np.float64]) -> float:
    """Return the inertia of the nearest centers."""
    return float(((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum())


@pytest.mark.parametrize(
    ("load", "k", "n_keys"),
    [(load_digits, 10, 4), (load_iris, 3, 10), (load_wine, 3, 10), (load_breast_cancer, 8, 4)],
)
def test_the_default_is_no_worse_than_ten_restarts_of_scikit_learn(
    load: Any, k: int, n_keys: int
) -> None:
    """The mean and the highest inertia over some keys are at most those of KMeans(n_init=10)."""
    # Keys are fixed; the tolerances are those of inertias that agree to four digits.
    X = load().data
    ours = [ProjectedKMeans(k, random_state=key).fit(X).inertia_ for key in range(n_keys)]
    theirs = [KMeans(k, n_init=10, random_state=key).fit(X).inertia_ for key in range(n_keys)]
    assert np.mean(ours) <= np.mean(theirs) * (1 + 5e-5)
    assert max(ours) <= max(theirs) * (1 + 2e-4)


def test_the_optimum_of_few_rows_is_found() -> None:
    """Of 12 rows in 4 clusters the best partition is found, for each of 20 draws of the rows."""
    for draw in range(20):
        X = np.random.default_rng(draw).normal(size=(12, 2))
        best = find_optimum(make_problem(X), 4)
        assert measure(X, find(X, 4)) == pytest.approx(best.inertia, rel=1e-9)


def test_centers_are_where_exact_passes_stay() -> None:
    """Lloyd's method with exact sums changes no label of the rows after its first pass."""
    X = draw_groups()
    found = run_lloyd(make_problem(X), find(X, 9), max_iter=50)
    assert (found.n_iter, found.converged) == (1, True)


@pytest.mark.parametrize("side_by_side", [True, False])
def test_blocks_and_threads_change_nothing(
    side_by_side: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Centers have the same bits for any blocks and threads, and others for another key."""
    X = draw_groups()
    first = find(X, 9, key=3, n_threads=1)
    monkeypatch.setattr(seeding, "MIN_PARALLEL_WORK", 0 if side_by_side else math.inf)
    for options in ({"block_rows": 13}, {"n_threads": 2}, {"block_rows": 1, "n_threads": 3}):
        assert find(X, 9, key=3, **options).tobytes() == first.tobytes()
    assert find(X, 9, key=4).tobytes() != first.tobytes()


@pytest.mark.parametrize("options", [{}, {"projection": "svd", "n_components": 3}])
def test_files_and_dask_give_the_bits_of_memory(tmp_path: Path, options: dict[str, Any]) -> None:
    """Rows in a file and rows of Dask are fitted as rows in memory are."""
    X = draw_groups()
    np.save(tmp_path / "rows.npy", X)
    expected = ProjectedKMeans(9, random_state=1, **options).fit(X)
    assert expected.approach_.in_kernel
    for rows in (open_rows(tmp_path / "rows.npy"), dask.array.from_array(X, chunks=(70, 7))):
        found = ProjectedKMeans(9, random_state=1, **options).fit(rows)
        np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
        assert found.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()


def test_weights_count_as_repeated_rows() -> None:
    """Whole weights lead to the inertia of repeated rows, and rows without weight to no center."""
    X = draw_groups()
    weights = np.random.default_rng(6).integers(0, 4, len(X)).astype(np.float64)
    weighted = ProjectedKMeans(9, random_state=0).fit(X, sample_weight=weights)
    repeated = ProjectedKMeans(9, random_state=0).fit(np.repeat(X, weights.astype(int), axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=0.01)
    far = np.concatenate([X, np.full((1, 7), 1e6)])
    centers = find(far, 9, weights=np.append(weights, 0.0))
    assert np.abs(centers).max() < 10


def test_offsets_units_and_far_rows_cost_no_digits() -> None:
    """Groups are found far from zero, in tiny and huge units, and beside a very far row."""
    X, _ = draw_blobs(gap=20.0, d=3)
    best = ProjectedKMeans(3, random_state=0).fit(X).inertia_
    for scale, offset in ((1.0, 1e6), (1e-140, 0.0), (1e140, 0.0)):
        model = ProjectedKMeans(3, random_state=0).fit(X * scale + offset)
        assert model.inertia_ == pytest.approx(best * scale * scale, rel=1e-3)
    far = np.concatenate([X, np.full((1, 3), 1e9)])
    assert ProjectedKMeans(4, random_state=0).fit(far).inertia_ == pytest.approx(best)


def test_fewer_distinct_rows_than_clusters() -> None:
    """Rows that repeat give a fit without inertia, with a warning as for other solvers."""
    X = np.repeat(np.arange(3.0), 5)[:, None]
    with pytest.warns(UserWarning, match="distinct"):
        model = ProjectedKMeans(5, random_state=0).fit(X)
    assert model.inertia_ == 0


def test_a_callback_ends_starts_and_one_result_is_left() -> None:
    """A fit that is stopped after its first start has the partition of that start."""
    X = draw_groups()
    seen: list[FitState] = []

    def stop(state: FitState) -> bool:
        seen.append(state)
        return state.step == "seed"

    model = ProjectedKMeans(9, random_state=0, callback=stop).fit(X)
    assert len([state for state in seen if state.step == "seed"]) == 1
    assert seen[-1].iteration <= 9
    assert model.stopped_ == "callback"
    assert len(np.unique(model.labels_)) == 9


def test_a_checkpoint_gives_the_same_fit(tmp_path: Path) -> None:
    """A fit that goes on from a checkpoint after its starts ends with the same bits."""
    X = draw_groups()
    expected = ProjectedKMeans(9, random_state=2).fit(X)
    folder = tmp_path / "checkpoint"

    def fail(state: FitState) -> None:
        if state.step == "cluster":
            raise RuntimeError("the process ends here")

    with pytest.raises(RuntimeError, match="ends here"):
        ProjectedKMeans(9, random_state=2, checkpoint=folder, callback=fail).fit(X)
    assert_same_fit(ProjectedKMeans(9, random_state=2, checkpoint=folder).fit(X), expected)


def test_max_iter_limits_each_start() -> None:
    """One pass is all that a start may make: the swaps of more passes end lower."""
    X = draw_groups()
    problem = make_problem(X)
    short = FewRows(problem, 9, 1, 1, 0).find_centers(lambda _: False)
    assert measure(X, short) > measure(X, find(X, 9))


def test_more_starts_end_no_higher() -> None:
    """The first starts are the same for any number of them, and the best of all goes on."""
    X = draw_groups()
    problem = make_problem(X)
    ends = [
        measure(X, FewRows(problem, 9, n, 300, 1).find_centers(lambda _: False)) for n in (1, 8)
    ]
    assert ends[1] <= ends[0] * (1 + 1e-12)


def test_progress_is_told_after_each_start() -> None:
    """Centers of all starts count up to k, and a true answer begins no further start."""
    X, told = draw_groups(), list[int]()
    few = FewRows(make_problem(X), 9, 3, 300, 0)
    few.find_centers(lambda done: bool(told.append(done)))
    assert told == [3, 6, 9]
    told.clear()
    few.find_centers(lambda done: told.append(done) is None)
    assert told == [3]


def test_the_last_search_is_longer_where_clusters_are_small() -> None:
    """It makes at most k attempts and at least a few, fewer for larger clusters."""
    assert count_last_swaps(400, 40) == 40
    assert (count_last_swaps(1797, 30), count_last_swaps(1797, 10)) == (15, 6)
    assert count_last_swaps(10**6, 40) == count_last_swaps(10**6, 2) > 0
    values = [count_last_swaps(n, 100) for n in (1000, 10_000, 30_000, 100_000)]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16"])
def test_rows_of_any_type_are_searched(dtype: str) -> None:
    """Centers are those of the same numbers in float64."""
    X = np.random.default_rng(7).integers(0, 100, size=(300, 5)).astype(dtype)
    assert find(X, 6).tobytes() == find(X.astype(np.float64), 6).tobytes()

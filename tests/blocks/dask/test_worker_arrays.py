"""Arrays with an entry for each row that stay on the workers, beside NumPy arrays of the same."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import pytest

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.blocks.dask.collections import open_collection
from projected_kmeans.blocks.dask.worker_arrays import WorkerArray
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.row_arrays import (
    ChangedEntries,
    apply_to_entries,
    find_first_rows,
)
from projected_kmeans.blocks.tasks import Block, Task, fill, read, update
from projected_kmeans.search import approach, memory_plan, swaps
from tests.support.blobs import assert_same_fit
from tests.support.dask_rows import CHUNKS, OPTIONS, ROWS, D, N, fit

# Fits whose arrays all stay on the workers, beside those of `OPTIONS`.
FITS: dict[str, dict[str, Any]] = {
    **{name: OPTIONS[name] for name in ("default", "none", "finalists", "k-means||", "cosine")},
    "samples": {"projection": "sign", "n_components": 16, "n_init": 3},
    "bounds": {**OPTIONS["none"], "n_clusters": 40},
    "near centers": {"n_clusters": 150, "projection": "sign", "n_components": 16},
    "near centers of rows": {"n_clusters": 150, "projection": None},
    "swaps": {"projection": None, "max_iter": 30, "n_init": 1},
    "one level": {"n_clusters": 40, "projection": None, "init": "random", "max_iter": 30},
    "proven labels": {"projection": "svd", "n_components": 4, "n_clusters": 64},
    "weights": {**OPTIONS["none"], "weighted": True},
    "limits": {**OPTIONS["sign"], "max_cluster_size": "equal"},
    "trim": {**OPTIONS["sign"], "trim": 0.01},
}


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every sketch stay on the workers."""
    monkeypatch.setattr(memory_plan, "MAX_SKETCH_BYTES", 0)


def run(X: Any, name: str, **others: Any) -> ProjectedKMeans:
    """Return one of the fits, of any number of clusters."""
    options = dict(FITS[name])
    if options.pop("weighted", False):
        others["sample_weight"] = np.arange(N) % 5 + 0.5
    given = {key: others.pop(key) for key in ("client", "sample_weight") if key in others}
    options = {"n_clusters": 5, "random_state": 3, **options, **others}
    return ProjectedKMeans(**options).fit(X, **given)


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_whose_arrays_stay_there_has_the_bits_of_one_machine(
    name: str, clients: Callable[..., Any]
) -> None:
    """Labels, centers, inertia and history do not depend on where labels and bounds lie."""
    X = da.from_array(ROWS, chunks=CHUNKS["uneven"])
    model = run(X, name, client=clients(2))
    assert model.labels_.chunks[0] == X.chunks[0]
    assert_same_fit(model, run(ROWS, name))


@pytest.mark.parametrize("name", ["default", "samples", "near centers", "trim", "limits"])
def test_a_sketch_here_of_rows_there_has_the_bits_of_one_machine(
    name: str, clients: Callable[..., Any]
) -> None:
    """Labels found in this process lead to the same passes and swaps over rows of the workers."""
    X = da.from_array(ROWS, chunks=CHUNKS["uneven"])
    assert_same_fit(run(X, name, client=clients(2)), run(ROWS, name))


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 40},
        {"n_clusters": 40, "projection": "svd", "n_components": 8, "tol": 0},
        {"n_clusters": 60, "projection": "svd", "n_components": 8},
    ],
)
def test_nothing_with_an_entry_a_row_comes_to_the_client(
    options: dict[str, Any], clients: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes of all blocks in any walk of a fit takes less than a byte a row."""
    brought: list[int] = []
    results = Workers.results_of

    def weigh(self: Workers, futures: Any) -> Iterator[tuple[int, Any]]:
        total = 0
        for place, result in results(self, futures):
            parts = [result] if isinstance(result, np.ndarray) else result
            total += sum(part.nbytes for part in parts if np.ndim(part) == 1 and len(part) > 1000)
            yield place, result
        brought.append(total)

    # The largest samples of rows, which do not grow with their number, are taken from these few.
    monkeypatch.setattr(swaps, "SPLIT_ROWS", 64)
    monkeypatch.setattr(approach, "MIN_LISTED_CLUSTERS", 50)
    monkeypatch.setattr(Workers, "results_of", weigh)
    rows = np.tile(ROWS, (4, 1))
    # Tiled there: Dask warns of a graph that holds all rows.
    X = da.tile(da.from_array(ROWS, chunks=(9_000, D)), (4, 1))
    model = ProjectedKMeans(random_state=3, **options).fit(X, client=clients(2))
    assert len(model.approach_.level_rows) > 1
    assert (model.approach_.n_near > 0) == (options["n_clusters"] == 60)
    assert max(brought) < len(rows)
    assert isinstance(model.labels_, da.Array)


@pytest.mark.usefixtures("all_there")
@pytest.mark.parametrize("step", ["cluster", "lift", "polish"])
def test_parts_that_are_lost_with_a_worker_are_made_again(step: str, processes: Any) -> None:
    """A worker that is killed takes labels and bounds with it; the fit has the same bits."""
    killed: list[int] = []

    def kill(state: FitState) -> None:
        if state.step == step and not killed and state.iteration > (step != "lift"):
            killed.append(next(iter(processes.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    X = da.from_array(ROWS, chunks=(700, D))
    options = {"n_clusters": 40, "polish_iter": 3, "n_init": 1, "tol": 0}
    model = run(X, "near centers", client=processes, callback=kill, **options)
    assert len(killed) == 1
    assert_same_fit(model, run(ROWS, "near centers", **options))
    processes.wait_for_workers(2, timeout=600)


@pytest.fixture
def both(clients: Callable[..., Any]) -> tuple[Any, Any]:
    """Return labels of the same rows in this process and on workers."""
    array = da.from_array(ROWS, chunks=CHUNKS["uneven"])
    sources = ArrayBlocks(ROWS, 100), open_collection(array, clients(2))
    made = [source.new_row_array(np.dtype(np.int32), 7) for source in sources]
    for source, labels in zip(sources, made, strict=True):
        source.walk(Task(label, (update(labels),)))
    here, there = made
    assert isinstance(there, WorkerArray)
    return here, there


def label(block: Block, labels: Any) -> None:
    """Label rows by their first entries, on top of what the labels were."""
    labels += np.abs(block.rows[:, 0]).astype(np.int32) + (np.arange(*block.span.indices(N)) > 9000)


def test_entries_are_those_of_a_numpy_array(both: tuple[Any, Any]) -> None:
    """Taken, changed, mapped and counted entries are those of the same array in this process."""
    here, there = both
    assert (np.asarray(there) == here).all()
    rows = np.array([12_999, 3, 699, 700, 3])
    assert there[rows].tolist() == here[rows].tolist()
    assert there[rows[:0]].shape == (0,)
    n_clusters = int(here.max()) + 2
    first = find_first_rows(here, n_clusters)
    assert find_first_rows(there, n_clusters).tolist() == first.tolist()
    expected = [np.flatnonzero(here == one)[:1].sum() for one in range(n_clusters)]
    assert first.tolist() == expected
    doubled = apply_to_entries(partial(np.multiply, np.int32(2)), there)
    assert (np.asarray(doubled) == 2 * here).all()


def test_a_copy_is_not_changed_with_its_original(both: tuple[Any, Any]) -> None:
    """Entries that are put or replaced later leave a copy as it was."""
    here, there = both
    copied = there.copy()
    rows, values = np.array([9000, 5]), np.array([1, 2], np.int32)
    for array in both:
        array[rows] = values
    assert (np.asarray(there) == here).all()
    assert copied[rows].tolist() != values.tolist()
    copied[...] = there
    assert (np.asarray(copied) == here).all()
    copied[...] = here + np.int32(1)
    assert (np.asarray(copied) == here + 1).all()


def test_entries_can_be_arrays(clients: Callable[..., Any]) -> None:
    """Entries may be short arrays, set to one number or to others; they begin as was asked."""
    source = open_collection(da.from_array(ROWS, chunks=CHUNKS["even"]), clients(2))
    lists = source.new_row_array(np.dtype(np.uint16), np.array([4, 5, 6]), (3,))
    lists[np.array([1, 12_000])] = 8
    lists[np.array([12_500, 2])] = np.array([[1, 2, 3], [7, 8, 9]])
    expected = np.tile(np.array([4, 5, 6], np.uint16), (N, 1))
    expected[[1, 12_000]] = 8
    expected[[12_500, 2]] = [[1, 2, 3], [7, 8, 9]]
    assert (np.asarray(lists) == expected).all()
    assert (lists.shape, lists.size, len(lists)) == ((N, 3), 3 * N, N)


def test_changes_are_counted_on_the_way(both: tuple[Any, Any], clients: Callable[..., Any]) -> None:
    """A walk tells whether any entry of two arrays differs."""
    _, there = both
    source = open_collection(da.from_array(ROWS, chunks=CHUNKS["uneven"]), clients(2))
    other = there.copy()
    for changed in (False, True):
        if changed:
            other[np.array([8000])] = -5
        seen = ChangedEntries(there, other)
        source.walk(seen.task)
        assert bool(seen) == changed


def test_a_walk_that_fails_leaves_arrays_alone(
    both: tuple[Any, Any], clients: Callable[..., Any]
) -> None:
    """If a kernel finds bad rows, arrays on the workers keep their parts."""
    here, there = both
    source = open_collection(da.from_array(ROWS, chunks=CHUNKS["uneven"]), clients(2))
    with pytest.raises(ValueError, match="bad rows"):
        source.walk(Task(spoil, (update(there),)))
    assert (np.asarray(there) == here).all()
    out = np.empty(N, np.int32)
    source.walk(Task(keep, (read(there), fill(out))))
    assert (out == here).all()


def spoil(block: Block, labels: Any) -> None:
    """Change labels, and then find that the rows are bad."""
    labels[:] = -1
    if block.start > 5000:
        raise ValueError("bad rows")


def keep(block: Block, labels: Any, out: Any) -> None:
    """Copy labels that lie on the workers into an array that comes back."""
    out[:] = labels


@pytest.mark.usefixtures("all_there")
def test_labels_of_a_model_outlive_what_made_them(clients: Callable[..., Any]) -> None:
    """Labels can be computed after the fit is gone; a pickle leaves them with the workers."""
    expected = fit(ROWS)
    model = fit(da.from_array(ROWS, chunks=CHUNKS["even"]), client=clients(1))
    assert (model.labels_[:50].compute(scheduler=clients(1)) == expected.labels_[:50]).all()
    copied = pickle.loads(pickle.dumps(model))
    assert copied.inertia_ == expected.inertia_
    assert "labels_" not in vars(copied)

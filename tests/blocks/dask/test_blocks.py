"""Fits on Dask: the bits of the same rows in memory, whoever works on whichever blocks."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
import zarr

from projected_kmeans import FitState
from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.search import memory_plan as memory_limits
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import assert_same_fit
from tests.support.dask_rows import (
    CHUNKS,
    OPTIONS,
    ROWS,
    SIGN,
    D,
    N,
    fit,
)


@pytest.mark.parametrize("name", ["array", "map", ".parquet", ".zarr", "csr"])
def test_rows_have_the_same_fit_wherever_they_lie(
    name: str, tmp_path: Path, expected: Callable[..., Any]
) -> None:
    """Files and sparse rows have the fit of the array, which the tests below compare with."""
    np.save(tmp_path / "rows.npy", ROWS)
    X: Any = ROWS
    if name == "map":
        X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif name == ".parquet":
        columns = {f"x{i}": column for i, column in enumerate(ROWS.T)}
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")
        X = open_rows(tmp_path / "rows.parquet")
    elif name == ".zarr":
        zarr.save_array(str(tmp_path / "rows.zarr"), ROWS)
        X = open_rows(tmp_path / "rows.zarr")
    elif name == "csr":
        X = scipy.sparse.csr_array(ROWS)
    assert_same_fit(fit(X), expected("sign"))


@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_a_cluster_finds_the_bits_of_one_machine(
    chunks: str, n_workers: int, clients: Callable[..., Any], expected: Callable[..., Any]
) -> None:
    """Labels, centers and inertia are the same for any blocks and any number of workers."""
    X = da.from_array(ROWS, chunks=CHUNKS[chunks])
    model = fit(X, client=clients(n_workers))
    assert_same_fit(model, expected("sign"))
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks[0] == X.chunks[0]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_schedulers_find_the_same_bits(
    chunks: str, scheduler: str, schedulers: Any, expected: Callable[..., Any]
) -> None:
    """Dask's own schedulers agree with rows in memory, without any cluster."""
    with dask.config.set(schedulers[scheduler]):
        assert_same_fit(fit(da.from_array(ROWS, chunks=CHUNKS[chunks])), expected("sign"))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", OPTIONS)
def test_every_map_and_seeding_finds_the_same_bits(
    options: str, expected: Callable[..., Any]
) -> None:
    """Maps that look at rows, restarts, candidates, k-means|| and directions agree, too."""
    X = da.from_array(ROWS, chunks=CHUNKS["uneven"])
    assert_same_fit(fit(X, OPTIONS[options]), expected(options))


def test_a_sketch_may_stay_on_the_workers(
    clients: Callable[..., Any], expected: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sketch too large for this process stays on the workers, and the fit has the same bits."""
    held: list[int] = []
    hold = DaskBlocks.hold
    monkeypatch.setattr(
        DaskBlocks, "hold", lambda self, parts: (held.append(len(parts)), hold(self, parts))
    )
    X = da.from_array(ROWS, chunks=CHUNKS["even"])
    assert_same_fit(fit(X, client=clients(2), memory_limit="2.5MB"), expected("sign"))
    assert held == [X.numblocks[0]]
    assert_same_fit(fit(X, client=clients(2)), expected("sign"))
    assert len(held) == 1
    monkeypatch.setattr(memory_limits, "available_memory", lambda: 2 * N * 16 * 4 - 1)
    assert_same_fit(fit(X, client=clients(2)), expected("sign"))
    assert len(held) == 2


@pytest.mark.usefixtures("here")
def test_a_sketch_lies_in_a_file_where_there_is_no_cluster(expected: Callable[..., Any]) -> None:
    """Dask's own schedulers run in this process, so a sketch that is too large goes into a file."""
    X = da.from_array(ROWS, chunks=CHUNKS["even"])
    assert_same_fit(fit(X, memory_limit="2.5MB"), expected("sign"))


@pytest.mark.parametrize(("step", "limit"), [("reduce", None), ("lift", None), ("reduce", "2.5MB")])
def test_a_killed_worker_changes_nothing(
    step: str, limit: str | None, processes: Any, expected: Callable[..., Any]
) -> None:
    """A worker that is killed in the middle of a fit is replaced, its work done again."""
    killed: list[int] = []

    def kill(state: FitState) -> None:
        if state.step == step and not killed:
            killed.append(next(iter(processes.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    X = da.from_array(ROWS, chunks=(700, D))
    model = fit(X, client=processes, callback=kill, memory_limit=limit)
    assert_same_fit(model, expected("sign"))
    processes.wait_for_workers(2, timeout=600)
    assert killed[0] not in processes.run(os.getpid).values()


def test_files_are_read_by_the_workers(
    processes: Any, expected: Callable[..., Any], tmp_path: Path
) -> None:
    """With a client, a row source is read by the workers; its labels are a NumPy array."""
    np.save(tmp_path / "rows.npy", ROWS)
    model = fit(open_rows(tmp_path / "rows.npy"), client=processes)
    assert_same_fit(model, expected("sign"))
    assert isinstance(model.labels_, np.ndarray)


@pytest.mark.parametrize("kind", ["parquet", "zarr"])
def test_folders_are_read_by_the_workers(
    kind: str,
    processes: Any,
    expected: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a folder of files this process reads the rows that it selects, and no more."""
    folder = tmp_path / f"lake.{kind}"
    if kind == "zarr":
        zarr.create_array(str(folder), data=ROWS, chunks=(1000, 20))
    else:
        folder.mkdir()
        for index, rows in enumerate(np.array_split(ROWS, 3)):
            columns = {f"x{i}": column for i, column in enumerate(rows.T)}
            pyarrow.parquet.write_table(pa.table(columns), folder / f"{index}.parquet")
    source = open_rows(folder, format=kind)
    read: list[int] = []
    monkeypatch.setattr(type(source), "read", lambda self, *span: read.append(span))
    model = fit(source, client=processes)
    assert_same_fit(model, expected("sign"))
    assert read == []


@pytest.mark.usefixtures("here")
def test_rows_do_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit brings back the sketch, labels and sums, and hardly any rows."""
    moved: list[int] = []
    results = Workers.results

    def weigh(self: Workers, wanted: Any) -> Iterator[tuple[int, Any]]:
        for place, result in results(self, wanted):
            moved.append(len(pickle.dumps(result)))
            yield place, result

    monkeypatch.setattr(Workers, "results", weigh)
    rows = np.random.default_rng(0).normal(size=(20_000, 400)).astype(np.float32)
    fit(da.from_array(rows, chunks=(4000, -1)), {**SIGN, "n_components": 8})
    sketch = 20_000 * 8 * 4
    assert sketch < sum(moved) < sketch + 0.02 * rows.nbytes


def test_a_checkpoint_is_refused(tmp_path: Path) -> None:
    """Rows on Dask have no identity: a checkpoint is refused before its folder is made."""
    with pytest.raises(ValueError, match=r"rows on Dask .* fit without checkpoint"):
        fit(da.from_array(ROWS, chunks=CHUNKS["even"]), checkpoint=tmp_path / "steps")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_in_rows() -> None:
    """Steps that walk over rows report growing numbers of rows, up to all of them."""
    states: list[FitState] = []
    fit(da.from_array(ROWS, chunks=CHUNKS["uneven"]), callback=states.append)
    for step in ("reduce", "lift"):
        told = [state for state in states if state.step == step]
        done = [state.iteration for state in told]
        assert done == sorted(set(done)), step
        assert len(done) > 1
        assert done[-1] == N
        assert all(state.total == N for state in told)


def test_sources_of_sparse_rows_are_read_by_workers(clients: Callable[..., Any]) -> None:
    """A source of sparse rows has the same fit on a cluster as read block by block."""
    source = as_row_source(scipy.sparse.csr_array(ROWS))
    assert_same_fit(fit(source, client=clients(2)), fit(source))

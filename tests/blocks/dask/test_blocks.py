"""Fits on Dask: the bits of the same rows in memory, whoever works on whichever blocks."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse
import zarr

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.blocks.dask.blocks import DaskBlocks
from projected_kmeans.blocks.dask.collections import open_collection
from projected_kmeans.blocks.dask.workers import Workers
from projected_kmeans.planning import memory_plan as memory_limits
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import assert_same_fit
from tests.support.dask_rows import (
    CHUNKS,
    ROWS,
    SIGN,
    D,
    K,
    N,
    fit,
    forget_lengths,
    open_cluster,
    sparse_blocks,
)

OPTIONS: dict[str, dict[str, Any]] = {
    "sign": SIGN,
    "sparse-sign": {**SIGN, "projection": "sparse-sign"},
    "default": {},
    "none": {"projection": None, "solver": "lloyd", "n_init": 1, "max_iter": 5},
    "many candidates": {**SIGN, "polish_candidates": 2},
    "finalists": {"projection": "sign", "n_components": 16, "solver": "lloyd", "n_init": 2},
    "k-means||": {**SIGN, "init": "k-means||"},
    "cosine": {"metric": "cosine", **SIGN},
}


@pytest.fixture(scope="module")
def expected() -> Callable[[str], ProjectedKMeans]:
    """Return fits of the rows in memory, each made once."""
    made: dict[str, ProjectedKMeans] = {}

    def find(name: str) -> ProjectedKMeans:
        if name not in made:
            made[name] = fit(ROWS, OPTIONS[name])
        return made[name]

    return find


@pytest.fixture(scope="module")
def clients() -> Iterator[Callable[[int], Any]]:
    """Return clients of clusters in this process by their number of workers, each started once."""
    with ExitStack() as stack:
        opened: dict[int, Any] = {}

        def find(n_workers: int) -> Any:
            if n_workers not in opened:
                opened[n_workers] = stack.enter_context(open_cluster(n_workers))
            return opened[n_workers]

        yield find


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    """Return the client of a cluster of two processes."""
    with open_cluster(2, processes=True) as client:
        yield client


@pytest.fixture(scope="module")
def schedulers() -> Iterator[dict[str, dict[str, Any]]]:
    """Return Dask's own schedulers as its configuration names them."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield {
            "synchronous": {"scheduler": "synchronous"},
            "threads": {"scheduler": "threads"},
            "processes": {"scheduler": "processes", "pool": pool},
        }


@pytest.fixture
def here() -> Iterator[None]:
    """Let Dask compute in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("name", ["array", "map", ".parquet", ".zarr", "csr"])
def test_rows_have_the_same_fit_wherever_they_lie(
    name: str, tmp_path: Path, expected: Callable[..., Any]
) -> None:
    """The referee of the tests below is the fit of files and of sparse rows, too."""
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


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", ["sign", "default", "none"])
def test_sparse_blocks_have_the_fit_of_sparse_rows(options: str) -> None:
    """Blocks of CSR rows are never made dense and give the bits of one CSR array."""
    X = sparse_blocks(ROWS, 3000)
    expected = fit(scipy.sparse.csr_array(ROWS), OPTIONS[options])
    assert_same_fit(fit(X, OPTIONS[options]), expected)
    assert (fit(X).predict(X).compute() == fit(ROWS).predict(ROWS)).all()


@pytest.mark.usefixtures("here")
def test_lengths_need_not_be_known(expected: Callable[..., Any]) -> None:
    """Blocks of unknown length are counted; labels then know their chunks, predictions do not."""
    X = forget_lengths(da.from_array(ROWS, chunks=(CHUNKS["uneven"][0], (20, D - 20))))
    model = fit(X)
    assert_same_fit(model, expected("sign"))
    assert model.labels_.chunks == (CHUNKS["uneven"][0],)
    found = model.predict(X)
    assert np.isnan(found.shape[0])
    assert (found.compute() == expected("sign").predict(ROWS)).all()


@pytest.mark.usefixtures("here")
def test_a_data_frame_keeps_its_names(expected: Callable[..., Any]) -> None:
    """Names of columns are kept, and compared where the model labels other rows."""
    names = [f"x{i}" for i in range(D)]
    frame = dd.from_pandas(pd.DataFrame(ROWS, columns=names), npartitions=3)
    model = fit(frame)
    assert_same_fit(model, expected("sign"))
    assert model.feature_names_in_.tolist() == names
    assert (model.predict(frame).compute() == expected("sign").predict(ROWS)).all()
    with pytest.raises(ValueError, match="'x1' in column 1 where the model has 'x0'"):
        model.predict(frame[names[1:] + names[:1]])
    with pytest.raises(ValueError, match="X has 47 features"):
        model.predict(frame[names[1:]])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("dtype", ["float64", "float16", "uint8", "int64", "bool"])
def test_types_are_those_of_rows_in_memory(dtype: str) -> None:
    """Rows of any type are read as they are, or converted as arrays are, column by column too."""
    rows = np.asarray(np.abs(ROWS[:2000]).astype(dtype), order="F")
    assert_same_fit(fit(da.from_array(rows, chunks=(300, -1))), fit(rows))


@pytest.mark.usefixtures("here")
def test_weights_may_be_dasks() -> None:
    """Weights count the same as an array and as a Dask array of other chunks."""
    weights = np.random.default_rng(0).integers(0, 3, size=N).astype(float)
    X = da.from_array(ROWS, chunks=CHUNKS["even"])
    expected = fit(ROWS, sample_weight=weights)
    assert_same_fit(fit(X, sample_weight=weights), expected)
    assert_same_fit(fit(X, sample_weight=da.from_array(weights, chunks=999)), expected)
    assert fit(X).score(X, sample_weight=weights) == fit(ROWS).score(ROWS, sample_weight=weights)


@pytest.mark.usefixtures("here")
def test_what_a_model_tells_of_rows_is_lazy(expected: Callable[..., Any]) -> None:
    """Labels and distances are Dask arrays in blocks of the rows, with the bits of arrays."""
    X = da.from_array(ROWS, chunks=CHUNKS["uneven"])
    model = expected("sign")
    labels, distances = model.predict(X), model.transform(X)
    assert labels.chunks == (X.chunks[0],)
    assert distances.chunks == (X.chunks[0], (K,))
    assert labels.dtype == np.int32
    assert (labels.compute() == model.predict(ROWS)).all()
    assert distances.compute().tobytes() == model.transform(ROWS).tobytes()
    assert model.score(X) == model.score(ROWS)


def test_a_sketch_may_stay_on_the_workers(
    clients: Callable[..., Any], expected: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory is too small for it, the sketch is clustered where it lies, to the same bits."""
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
    """Dask's own schedulers have no memory beside this process's, and spill as files do."""
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
    processes.wait_for_workers(2, timeout=60)
    assert killed[0] not in processes.run(os.getpid).values()


def test_files_are_read_by_the_workers(
    processes: Any, expected: Callable[..., Any], tmp_path: Path
) -> None:
    """With a client a row source is opened where its blocks are worked on; labels are an array."""
    np.save(tmp_path / "rows.npy", ROWS)
    model = fit(open_rows(tmp_path / "rows.npy"), client=processes)
    assert_same_fit(model, expected("sign"))
    assert isinstance(model.labels_, np.ndarray)


@pytest.mark.usefixtures("here")
def test_rows_do_not_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit brings back the sketch, labels and sums: a small part of what the rows take."""
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


def test_a_source_walks_takes_and_selects() -> None:
    """Blocks are brought here in order, rows in any order, none twice."""
    source = open_collection(da.from_array(ROWS, chunks=CHUNKS["uneven"]))
    assert [(block.start, len(block.rows)) for block in source] == [
        (0, 700),
        (700, 5300),
        (6000, 1),
        (6001, 6999),
    ]
    indices = np.array([12_999, 3, 6000, 3])
    assert (source.take(indices) == ROWS[indices]).all()
    assert source.select().tobytes() == ROWS.tobytes()
    assert len(source) == 4
    limited = source.resized(0, 100)
    with pytest.raises(ValueError, match="4 rows of X are needed in memory at once"):
        limited.take(indices)


@pytest.mark.usefixtures("here")
def test_the_first_bad_entry_is_named() -> None:
    """A NaN is named by its row and column, the first of all blocks."""
    rows = ROWS.copy()
    rows[[9000, 4321], [7, 5]] = np.nan
    X = da.from_array(rows, chunks=CHUNKS["even"])
    for options in (SIGN, {}, {"projection": None}):
        with pytest.raises(ValueError, match="X contains NaN at row 4321, column 5"):
            fit(X, options)
    model = fit(ROWS)
    with pytest.raises(ValueError, match="X contains NaN at row 4321, column 5"):
        model.score(X)


@pytest.mark.usefixtures("here")
def test_a_bad_entry_is_named_where_labels_are_computed() -> None:
    """A NaN is named by row and column, counted within its block where lengths are unknown."""
    rows = ROWS.copy()
    rows[4321, 5] = np.nan
    X, model = da.from_array(rows, chunks=CHUNKS["even"]), fit(ROWS)
    labels = model.predict(X)
    with pytest.raises(ValueError, match="X contains NaN at row 4321, column 5"):
        labels.compute()
    with pytest.raises(ValueError, match=r"in block 2, .* X contains NaN at row 321, column 5"):
        model.transform(forget_lengths(X)).compute()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (da.zeros(5), r"X has shape \(5,\), but rows and columns are needed"),
        (da.zeros((5, 2, 2)), r"X has shape \(5, 2, 2\), but rows and columns are needed"),
        (da.zeros((0, 3)), "at least one row"),
        (forget_lengths(da.zeros((0, 3))), r"X has shape \(0, 3\); give at least one row"),
        (da.zeros((5, 2), dtype=complex), "X holds complex numbers"),
        (da.from_array(np.array([["a", "b"]] * 5)), "X holds values of type <U1"),
        (da.zeros((5, 4))[:, da.from_array(np.array([True] * 4))], "unknown number of columns"),
        (
            da.from_delayed(dask.delayed(np.zeros)((4, 3)), (5, 3), dtype=float),
            r"a block of X has shape \(4, 3\), but the chunks of X say \(5, 3\)",
        ),
        (
            da.from_delayed(dask.delayed(scipy.sparse.csr_array)((9, 3)), (9, 3), dtype=float),
            "a block of X is sparse, but the meta of X says otherwise",
        ),
    ],
)
def test_bad_rows_are_one_sentence(X: Any, sentence: str) -> None:
    """What cannot be clustered is said before, or with, the first look at it."""
    with pytest.raises(ValueError, match=sentence):
        ProjectedKMeans(2).fit(X)


def test_a_checkpoint_is_refused(tmp_path: Path) -> None:
    """Rows on Dask have no identity: one sentence says so, before anything is made."""
    with pytest.raises(ValueError, match=r"rows on Dask .* fit without checkpoint"):
        fit(da.from_array(ROWS, chunks=CHUNKS["even"]), checkpoint=tmp_path / "steps")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_told_in_rows() -> None:
    """Steps that walk over rows count them up to all of them, in blocks of any size."""
    states: list[FitState] = []
    fit(da.from_array(ROWS, chunks=CHUNKS["uneven"]), callback=states.append)
    for step in ("reduce", "lift"):
        told = [state for state in states if state.step == step]
        done = [state.iteration for state in told]
        assert done == sorted(set(done)), step
        assert len(done) > 1
        assert done[-1] == N
        assert all(state.total == N for state in told)


def test_what_is_not_rows_is_refused() -> None:
    """Other things of Dask are no rows, and a cluster needs rows that it can reach."""
    with pytest.raises(TypeError, match=r"give a dask\.array or a dask\.dataframe"):
        ProjectedKMeans(2).fit(dask.delayed(np.zeros)((4, 3)))
    with pytest.raises(ValueError, match="client is given with X in memory, of type ndarray"):
        ProjectedKMeans(2).fit(ROWS, client="any")


def test_sources_of_sparse_rows_are_read_by_workers(clients: Callable[..., Any]) -> None:
    """A source of sparse rows has the same fit on a cluster as read block by block."""
    source = as_row_source(scipy.sparse.csr_array(ROWS))
    assert_same_fit(fit(source, client=clients(2)), fit(source))

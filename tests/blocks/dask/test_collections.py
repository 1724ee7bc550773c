"""Dask arrays and data frames: all their kinds have the fit of the same rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans
from projected_kmeans.blocks.dask.collections import open_collection
from tests.support.blobs import assert_same_fit
from tests.support.dask_rows import (
    CHUNKS,
    OPTIONS,
    ROWS,
    SIGN,
    D,
    K,
    N,
    fit,
    forget_lengths,
    sparse_blocks,
)


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
    """A fit counts blocks of unknown length, so labels have known chunks; predictions do not."""
    X = forget_lengths(da.from_array(ROWS, chunks=(CHUNKS["uneven"][0], (20, D - 20))))
    model = fit(X)
    assert_same_fit(model, expected("sign"))
    assert model.labels_.chunks == (CHUNKS["uneven"][0],)
    found = model.predict(X)
    assert np.isnan(found.shape[0])
    assert (found.compute() == expected("sign").predict(ROWS)).all()


@pytest.mark.usefixtures("here")
def test_a_data_frame_keeps_its_names(expected: Callable[..., Any]) -> None:
    """The names of columns are kept, and find the columns when the model labels other rows."""
    names = [f"x{i}" for i in range(D)]
    frame = dd.from_pandas(pd.DataFrame(ROWS, columns=names), npartitions=3)
    model = fit(frame)
    assert_same_fit(model, expected("sign"))
    assert model.feature_names_in_.tolist() == names
    assert (model.predict(frame).compute() == expected("sign").predict(ROWS)).all()
    turned = model.predict(frame[names[1:] + names[:1]])
    assert (turned.compute() == expected("sign").predict(ROWS)).all()
    with pytest.raises(ValueError, match="X has no column 'x0'"):
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
    """Rows that cannot be clustered are refused with one sentence, when they are opened or read."""
    with pytest.raises(ValueError, match=sentence):
        ProjectedKMeans(2).fit(X)


def test_what_is_not_rows_is_refused() -> None:
    """Other objects of Dask are refused, and so is a client with rows in this process's memory."""
    with pytest.raises(TypeError, match=r"give a dask\.array or a dask\.dataframe"):
        ProjectedKMeans(2).fit(dask.delayed(np.zeros)((4, 3)))
    with pytest.raises(ValueError, match="client is given with X in memory, of type ndarray"):
        ProjectedKMeans(2).fit(ROWS, client="any")

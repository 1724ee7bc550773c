"""Labels in the form of their rows: a Series for a table, an array for everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from projected_kmeans import ProjectedKMeans
from tests.support.blobs import draw_blobs


def test_pandas_in_series_out() -> None:
    """A DataFrame gives a Series with its index, whose values are those of the array."""
    X = draw_blobs(d=3)[0]
    table = pd.DataFrame(X, columns=["x", "y", "z"], index=pd.Index(range(900, 1050), name="id"))
    model = ProjectedKMeans(5, random_state=0)
    fitted = model.fit_predict(table)
    pd.testing.assert_index_equal(fitted.index, table.index)
    assert (fitted.name, fitted.dtype) == ("label", np.int32)
    np.testing.assert_array_equal(fitted, model.labels_)
    assert type(model.labels_) is np.ndarray
    found = model.predict(table.iloc[::-2])
    pd.testing.assert_index_equal(found.index, table.index[::-2])
    plain = ProjectedKMeans(5, random_state=0).fit(X).predict(X[::-2])
    np.testing.assert_array_equal(found, plain)
    assert table.assign(cluster=found).cluster.notna().sum() == len(found)


def test_polars_in_series_out() -> None:
    """A polars DataFrame gives a polars Series."""
    X = draw_blobs(d=3)[0]
    table = pl.DataFrame(X, schema=["x", "y", "z"])
    model = ProjectedKMeans(5, random_state=0)
    fitted, found = model.fit_predict(table), model.predict(table)
    assert isinstance(fitted, pl.Series)
    assert (found.name, found.dtype) == ("label", pl.Int32)
    np.testing.assert_array_equal(fitted.to_numpy(), model.labels_)
    plain = ProjectedKMeans(5, random_state=0).fit(X).predict(X)
    np.testing.assert_array_equal(found.to_numpy(), plain)


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, scipy.sparse.csr_array])
def test_everything_else_gives_arrays(form: Callable[[Any], Any]) -> None:
    """Arrays, lists and sparse rows give arrays of labels."""
    X = form(draw_blobs(d=3)[0])
    model = ProjectedKMeans(5, random_state=0)
    assert type(model.fit_predict(X)) is type(model.predict(X)) is np.ndarray


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd), ("polars", pl)])
def test_pipelines_of_tables(output: str, kind: Any) -> None:
    """With transform_output set, tables go through a pipeline, and out come Series and columns."""
    X = pd.DataFrame(draw_blobs(d=3)[0], columns=["x", "y", "z"])
    pipeline = make_pipeline(StandardScaler(), ProjectedKMeans(2, random_state=0))
    with sklearn.config_context(transform_output=output):
        labels = pipeline.fit_predict(X)
        distances = pipeline.transform(X)
    assert isinstance(labels, kind.Series)
    assert isinstance(distances, kind.DataFrame)
    assert list(distances.columns) == list(pipeline.get_feature_names_out())


def test_the_index_goes_through_a_pipeline() -> None:
    """Labels and distances of a pandas table have its index."""
    X = pd.DataFrame(draw_blobs(d=3)[0], columns=["x", "y", "z"], index=range(150, 0, -1))
    pipeline = make_pipeline(StandardScaler(), ProjectedKMeans(2, random_state=0))
    with sklearn.config_context(transform_output="pandas"):
        pd.testing.assert_index_equal(pipeline.fit_predict(X).index, X.index)
        pd.testing.assert_index_equal(pipeline.transform(X).index, X.index)

"""The rows nearest to each center: against a sort of all distances, wherever rows lie."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, as_row_source
from tests.support.small_blocks import use_small_blocks

# Small integers, so that many rows are equal and distances tie.
ROWS = np.random.default_rng(0).integers(-3, 4, size=(900, 5)).astype(np.float32)


def sort_rows(model: ProjectedKMeans, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the nearest rows of every cluster and their distances, by a sort of all of them."""
    labels, rows = model.predict(ROWS), ROWS.astype(np.float64)
    if model.metric == "cosine":
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows /= np.where(lengths > 0, lengths, 1.0)
    distances = np.linalg.norm(rows - model.cluster_centers_[labels], axis=1)
    order = np.lexsort((np.arange(len(rows)), distances.round(9), labels))
    picked = np.array([order[labels[order] == c][:n_rows] for c in range(model.n_clusters)])
    return picked, distances[picked]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["array", "sparse", "source", "dask", "threads", "blocks"])
def test_representatives_are_the_nearest_rows(
    metric: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of a sort of all rows, for rows of any kind, blocks and threads."""
    model = ProjectedKMeans(7, metric=metric, random_state=0, n_threads=1).fit(ROWS)
    given: Any = ROWS
    if kind == "sparse":
        given = scipy.sparse.csr_array(ROWS)
    elif kind == "source":
        given = as_row_source(ROWS)
    elif kind == "dask":
        given = da.from_array(ROWS, chunks=((1, 299, 600), (3, 2)))
    elif kind == "threads":
        model.set_params(n_threads=4)
    elif kind == "blocks":
        use_small_blocks(monkeypatch, 100)
    found = model.representatives(given, 3)
    rows, distances = sort_rows(model, 3)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-6)
    assert found.ids is None


def test_ids_are_those_of_the_rows() -> None:
    """Ids come from the caller, or from the index of a table, and name the rows that were found."""
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    names = [f"row {row}" for row in range(len(ROWS))]
    table = pd.DataFrame(ROWS, index=names)
    for found in (model.representatives(ROWS, 2, ids=names), model.representatives(table, 2)):
        assert found.ids is not None
        assert found.ids.tolist() == [[names[row] for row in rows] for rows in found.rows]


def test_small_clusters_have_fewer_rows() -> None:
    """Where a cluster has fewer rows than were asked for, the rest is -1, infinity and None."""
    rows = np.array([[0.0], [0.0], [9.0]])
    model = ProjectedKMeans(2, random_state=0).fit(rows)
    found = model.representatives(rows, 2, ids="abc")
    cluster = int(model.predict([[9.0]])[0])
    assert found.rows[cluster].tolist() == [2, -1]
    assert found.distances[cluster].tolist() == [0.0, np.inf]
    assert found.ids is not None
    assert found.ids[cluster].tolist() == ["c", None]


def test_bad_arguments_get_a_sentence() -> None:
    """A number below 1, too few ids and rows with NaN are refused."""
    model = ProjectedKMeans(2, random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="n_rows=0 is too small"):
        model.representatives(ROWS, 0)
    with pytest.raises(ValueError, match="ids has 2 entries for 900 rows"):
        model.representatives(ROWS, ids=["a", "b"])
    bad = ROWS.copy()
    bad[17, 3] = np.nan
    with pytest.raises(ValueError, match="NaN at row 17, column 3"):
        model.representatives(bad)

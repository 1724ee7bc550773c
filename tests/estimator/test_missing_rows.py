"""Rows with holes are refused by row and column, or skipped: the fit is that of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, as_row_source, load_model, open_rows, save_model

MISSING = [3, 77, 119]


@pytest.fixture
def rows() -> Any:
    """Return 120 rows around three places, of which three have a hole."""
    found = np.random.default_rng(0).normal(size=(120, 6)) + 6 * (np.arange(120) % 3)[:, None]
    found[MISSING, [0, 2, 5]] = np.nan
    return found


def complete(rows: Any) -> Any:
    """Return the rows without holes."""
    return np.delete(rows, MISSING, axis=0)


FORMS: dict[str, Any] = {
    "array": lambda rows: rows,
    "table": pd.DataFrame,
    "csr": scipy.sparse.csr_array,
    "source": as_row_source,
    "dask": lambda rows: da.from_array(rows, chunks=(50, 6)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_fit_that_skips_is_that_of_the_other_rows(rows: Any, form: str) -> None:
    """Labels, inertia and all that a model says of rows, in every form that rows may have."""
    X, rest = FORMS[form](rows), FORMS["csr" if form == "csr" else "array"](complete(rows))
    model = ProjectedKMeans(3, random_state=0, on_missing="skip").fit(X)
    other = ProjectedKMeans(3, random_state=0).fit(rest)
    labels = np.asarray(model.labels_)
    assert labels[MISSING].tolist() == [-1, -1, -1]
    np.testing.assert_array_equal(np.delete(labels, MISSING), other.labels_)
    assert model.missing_rows_.tolist() == MISSING
    assert model.n_samples_seen_ == 117
    if form != "dask":  # whose sketch is summed in other blocks
        assert model.inertia_ == other.inertia_
    np.testing.assert_array_equal(np.asarray(model.predict(X)), labels)
    assert model.score(X) == pytest.approx(other.score(rest))
    far = np.asarray(model.distances(X))
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(far)), MISSING)
    np.testing.assert_allclose(np.asarray(model.transform(X))[4].min(), far[4])
    assert np.isnan(np.asarray(model.transform(X))[MISSING]).all()


def test_representatives_and_descriptions_count_all_rows(rows: Any) -> None:
    """Indices and ids are those of the rows that the caller gave."""
    ids = [f"r{row}" for row in range(120)]
    model = ProjectedKMeans(3, random_state=0, on_missing="skip").fit(rows)
    found = model.representatives(rows, ids=ids)
    other = model.representatives(complete(rows), ids=np.delete(ids, MISSING))
    assert found.ids.tolist() == other.ids.tolist()
    described = model.describe_clusters(rows, ids=ids)
    assert [one[0] for one in described["representatives"]] == found.ids.ravel().tolist()
    assert "3 clusters" in model.to_html(rows)


def test_rows_without_weight_are_skipped_too(rows: Any) -> None:
    """NaN as a weight is a hole; without skipping it is an error."""
    weights = np.arange(1.0, 121.0)
    weights[10] = np.nan
    model = ProjectedKMeans(3, random_state=0, on_missing="skip").fit(rows, sample_weight=weights)
    assert model.missing_rows_.tolist() == [3, 10, 77, 119]
    gone = model.missing_rows_
    other = ProjectedKMeans(3, random_state=0).fit(
        np.delete(rows, gone, axis=0), sample_weight=np.delete(weights, gone)
    )
    assert model.inertia_ == other.inertia_
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        ProjectedKMeans(3).fit(complete(rows), sample_weight=np.delete(weights, MISSING))


def test_trimmed_rows_and_init_count_all_rows(rows: Any) -> None:
    """Rows that trim sets aside are named as in X, and so are rows that init names."""
    rows[100] = 1e4
    model = ProjectedKMeans(3, random_state=0, on_missing="skip", trim=0.01).fit(rows)
    assert model.trimmed_rows_.tolist() == [100]
    assert np.flatnonzero(model.labels_ < 0).tolist() == [3, 77, 100, 119]
    fixed = {"random_state": 0, "max_iter": 1, "projection": None, "solver": "lloyd"}
    named = ProjectedKMeans(3, init=[4, 5, 78], on_missing="skip", **fixed).fit(rows)
    given = ProjectedKMeans(3, init=rows[[4, 5, 78]], on_missing="skip", **fixed).fit(rows)
    assert named.inertia_ == given.inertia_
    with pytest.raises(ValueError, match="init names row 77, which has a hole"):
        ProjectedKMeans(3, init=[4, 5, 77], on_missing="skip").fit(rows)


def test_the_default_names_row_and_column(rows: Any) -> None:
    """Nothing is skipped unasked, infinity never, and other words are refused."""
    with pytest.raises(ValueError, match="NaN at row 3, column 0"):
        ProjectedKMeans(3).fit(rows)
    model = ProjectedKMeans(3, random_state=0).fit(complete(rows))
    with pytest.raises(ValueError, match="NaN at row 3, column 0"):
        model.predict(rows)
    rows[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) at row"):
        ProjectedKMeans(3, on_missing="skip").fit(rows)
    with pytest.raises(ValueError, match="on_missing='drop' is not known"):
        ProjectedKMeans(3, on_missing="drop").fit(rows)


def test_rows_that_all_have_holes_are_refused(rows: Any) -> None:
    """There is nothing to cluster, and nothing to score."""
    with pytest.raises(ValueError, match="all 3 rows of X have a hole"):
        ProjectedKMeans(1, on_missing="skip").fit(rows[MISSING])
    model = ProjectedKMeans(3, random_state=0, on_missing="skip").fit(rows)
    assert model.predict(rows[MISSING]).tolist() == [-1, -1, -1]
    with pytest.raises(ValueError, match="all 3 rows of X have a hole"):
        model.score(rows[MISSING])


def test_a_stream_skips_rows_and_whole_blocks(rows: Any) -> None:
    """A block of holes changes nothing."""
    model = ProjectedKMeans(3, random_state=0, on_missing="skip")
    model.partial_fit(rows[:60]).partial_fit(rows[[77]]).partial_fit(rows[60:])
    assert model.n_samples_seen_ == 117
    other = ProjectedKMeans(3, random_state=0).partial_fit(complete(rows))
    assert model.inertia_ == other.inertia_


def test_a_stored_model_still_skips(rows: Any, tmp_path: Path) -> None:
    """The choice is one of the parameters that a model keeps."""
    model = ProjectedKMeans(3, random_state=0, on_missing="skip").fit(rows)
    save_model(model, tmp_path)
    assert load_model(tmp_path).predict(rows)[3] == -1


def test_empty_cells_of_a_file_are_skipped(tmp_path: Path) -> None:
    """The same word opens the file and fits the model; without it the line is named."""
    (tmp_path / "a.csv").write_text("age,visits\n1,2\n,3\n9,NA\n8,9\n")
    with pytest.raises(ValueError, match=r"nothing on line 3, column 1; .*on_missing='skip'"):
        ProjectedKMeans(2).fit(open_rows(tmp_path / "a.csv"))
    source = open_rows(tmp_path / "a.csv", on_missing="skip")
    model = ProjectedKMeans(2, random_state=0, on_missing="skip").fit(source)
    assert sorted(model.labels_.tolist()) == [-1, -1, 0, 1]


def test_a_checkpoint_of_a_fit_that_skips_continues(rows: Any, tmp_path: Path) -> None:
    """A finished fit is read again, and one with another choice is not."""
    parameters: Any = {"n_clusters": 3, "random_state": 0, "checkpoint": tmp_path / "steps"}
    first = ProjectedKMeans(**parameters, on_missing="skip").fit(rows)
    again = ProjectedKMeans(**parameters, on_missing="skip").fit(rows)
    np.testing.assert_array_equal(first.labels_, again.labels_)

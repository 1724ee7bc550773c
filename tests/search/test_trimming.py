"""Passes that set far rows aside: exact selection, and what the result satisfies."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, as_row_source
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.search.trimming import keep_near, run_trimmed

STREAM = np.random.default_rng(0)
ROWS = STREAM.normal(size=(200, 4)) + 9 * np.eye(3, 4)[STREAM.integers(3, size=200)]


@pytest.mark.parametrize("share", [0.0, 0.004, 0.29, 0.5])
def test_the_selection_is_that_of_a_sort(share: float) -> None:
    """Exactly the farthest rows are set aside, as many as the share allows, later rows first."""
    squared = STREAM.integers(5, size=100).astype(np.float64)  # many ties
    kept = keep_near(squared, None, share)
    far = sorted(range(100), key=lambda row: (-squared[row], -row))[: round(share * 100 - 0.001)]
    assert np.flatnonzero(~kept).tolist() == sorted(far)
    weights = STREAM.random(100)
    set_aside = ~keep_near(squared, weights, share)
    assert weights[set_aside].sum() <= share * weights.sum() * (1 + 1e-9)
    assert squared[set_aside].min(initial=9) >= squared[~set_aside].max()


def test_passes_end_at_means_of_kept_rows() -> None:
    """Centers are the means of kept rows, labels the nearest centers, inertia that of kept rows."""
    source = ArrayBlocks(ROWS)
    problem = Problem(source, scan_columns(source))
    found, kept, distance = run_trimmed(problem, ROWS[:3].copy(), 0.1, 50)
    squared = ((ROWS[:, None] - found.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found.labels, squared.argmin(axis=1))
    assert np.count_nonzero(~kept) == 20
    nearest = squared.min(axis=1)
    assert nearest[kept].max() <= nearest[~kept].min()
    assert distance == pytest.approx(np.sqrt(nearest[kept].max()))
    assert found.inertia == pytest.approx(nearest[kept].sum())
    for cluster in range(3):
        inside = kept & (found.labels == cluster)
        np.testing.assert_allclose(found.centers[cluster], ROWS[inside].mean(axis=0))


def test_more_passes_never_raise_the_inertia() -> None:
    """Each further pass ends at an inertia that is at most that of the pass before."""
    source = ArrayBlocks(ROWS)
    problem = Problem(source, scan_columns(source))
    ends = [run_trimmed(problem, ROWS[:3].copy(), 0.1, n).partition.inertia for n in range(8)]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(ends))


# --- fits ----------------------------------------------------------------------------------------


def plant(n_columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows around six means, of which 2 % are far away, and the indices of these."""
    stream = np.random.default_rng(0)
    means = stream.normal(size=(6, n_columns)) * (9 if n_columns < 100 else 2)
    rows = stream.normal(size=(1000, n_columns)) + means[stream.integers(6, size=1000)]
    far = np.sort(stream.choice(1000, 20, replace=False))
    rows[far] = 200 * stream.normal(size=(20, n_columns))
    return rows, far


@pytest.mark.parametrize("n_columns", [5, 300])
def test_planted_outliers_are_set_aside(n_columns: int) -> None:
    """Exactly the planted rows are set aside; the others are clustered as if they were alone."""
    rows, far = plant(n_columns)
    model = ProjectedKMeans(6, trim=0.02, random_state=1).fit(rows)
    np.testing.assert_array_equal(model.trimmed_rows_, far)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ < 0), far)
    kept = np.delete(rows, far, axis=0)
    alone = ProjectedKMeans(6, random_state=1).fit(kept)
    assert model.inertia_ == pytest.approx(alone.inertia_, rel=1e-3)
    assert model.inertia_ == pytest.approx(-model.score(kept), rel=1e-10)
    assert model.distances(kept).max() == model.trim_distance_
    assert model.distances(rows[far]).min() > model.trim_distance_
    # An ordinary fit gives the far rows centers of their own, which this test would notice.
    assert -ProjectedKMeans(6, random_state=1).fit(rows).score(kept) > 2 * model.inertia_


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_kinds_of_rows_agree(metric: str) -> None:
    """Rows in memory, in a source and on Dask, and other threads, give the same bits."""
    rows, _ = plant(5)
    one = ProjectedKMeans(6, trim=0.02, metric=metric, random_state=1, n_threads=1).fit(rows)
    others: list[Any] = [as_row_source(rows), da.from_array(rows, chunks=(300, -1)), rows]
    for given in others:
        other = ProjectedKMeans(6, trim=0.02, metric=metric, random_state=1, n_threads=3).fit(given)
        np.testing.assert_array_equal(np.asarray(other.labels_), one.labels_)
        assert other.inertia_ == one.inertia_
    sparse = ProjectedKMeans(6, trim=0.02, metric=metric, random_state=1)
    assert len(sparse.fit(scipy.sparse.csr_array(rows)).trimmed_rows_) == 20


def test_weights_count_what_is_set_aside() -> None:
    """With weights, the share is one of their sum."""
    rows, _ = plant(5)
    weights = np.random.default_rng(1).random(1000)
    model = ProjectedKMeans(6, trim=0.02, random_state=1).fit(rows, sample_weight=weights)
    share = weights[model.trimmed_rows_].sum() / weights.sum()
    assert 0.018 < share <= 0.02


def test_a_checkpoint_knows_the_rows(tmp_path: Path) -> None:
    """A fit that was finished before returns the same rows and labels."""
    rows, _ = plant(5)
    options: dict[str, Any] = {"trim": 0.02, "random_state": 1, "checkpoint": tmp_path / "steps"}
    one, two = (ProjectedKMeans(6, **options).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.trim_distance_ == two.trim_distance_


def test_a_report_leaves_them_out() -> None:
    """The report of such a fit is made, and its clusters do not count rows set aside."""
    rows, _ = plant(5)
    model = ProjectedKMeans(6, trim=0.02, random_state=1).fit(rows)
    assert "6 clusters of" in model.to_html(rows)


def test_what_cannot_be_meant_is_refused() -> None:
    """Bad shares, certificates, streams and too few rows get one sentence."""
    rows, _ = plant(5)
    for options, message in (
        ({"trim": 1.0}, "leaves no rows"),
        ({"trim": -0.1}, "out of range"),
        ({"trim": 0.1, "certificate": "auto"}, "a bound would hold for the rows that are kept"),
        ({"trim": 0.1, "guarantee": 1.1}, "a bound would hold for the rows that are kept"),
        ({"trim": 0.999}, "leaves fewer than n_clusters=3"),
    ):
        with pytest.raises(ValueError, match=message):
            ProjectedKMeans(3, **options).fit(rows)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="which a stream does not keep"):
        ProjectedKMeans(3, trim=0.1).partial_fit(rows)

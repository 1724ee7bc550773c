"""Rows are checked and reduced: in which steps, how they are stored, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import FunctionTransformer

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.reduction import Reduced, reduce_rows
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import draw_blobs
from tests.support.recipes import make_recipe

X = draw_blobs(d=80)[0]


def reduce(source: BlockSource, monitor: Monitor | None = None, **options: Any) -> Reduced:
    """Reduce some rows by the recipe of a model."""
    return reduce_rows(make_recipe(source, **options), source, None, Run(monitor or Monitor()))


def test_without_a_map_the_sketch_is_the_original() -> None:
    """If nothing is projected, both problems are the same, with the ranges of the columns."""
    original, sketch = reduce(open_blocks(X), projection=None)
    assert sketch is original
    np.testing.assert_array_equal(original.ranges.minimum, X.min(axis=0))
    np.testing.assert_array_equal(original.ranges.maximum, X.max(axis=0))


def test_directions_are_rows_of_length_one() -> None:
    """For the cosine metric rows are brought to length one, before the map too."""
    original, sketch = reduce(open_blocks(X), metric="cosine")
    assert original.spherical
    np.testing.assert_allclose(np.linalg.norm(original.source.select(), axis=1), 1.0)
    assert not sketch.spherical
    longer, again = reduce(open_blocks(3.0 * X), metric="cosine")
    assert longer.spherical
    np.testing.assert_allclose(sketch.source.select(), again.source.select(), atol=1e-12)


def test_a_sketch_is_forgotten() -> None:
    """Only its ranges and its columns are left; rows that are not projected stay."""
    reduced = reduce(open_blocks(X), projection="sign")
    original, sketch = reduced.forget()
    assert original is reduced.original
    assert sketch.ranges is reduced.sketch.ranges
    assert sketch.source.shape == (0, reduced.sketch.source.shape[1])
    assert sketch.source.dtype == reduced.sketch.source.dtype
    plain = reduce(open_blocks(X), projection=None)
    assert plain.forget() is plain


@pytest.mark.parametrize(
    ("projection", "steps"), [("sign", {"reduce"}), (None, {"check"})], ids=["map", "none"]
)
def test_stored_rows_are_checked_while_they_are_reduced(
    projection: str | None, steps: set[str], tmp_path: Path
) -> None:
    """Rows in a file are checked in the walk that reduces them, and alone if there is none."""
    np.save(tmp_path / "rows.npy", X)
    monitor = Monitor()
    stored = StoredBlocks(open_rows(tmp_path / "rows.npy"))
    found = reduce(stored, monitor, projection=projection)
    assert set(monitor.seconds) == steps
    expected = reduce(open_blocks(X), projection=projection)
    np.testing.assert_array_equal(found.sketch.source.select(), expected.sketch.source.select())
    np.testing.assert_array_equal(found.original.ranges.minimum, X.min(axis=0))


@pytest.mark.parametrize(
    ("rows", "options", "kind"),
    [
        (scipy.sparse.csr_array(X), {"solver": "hartigan"}, "sparse rows"),
        (X, {"solver": "hartigan", "metric": "cosine"}, "metric='cosine'"),
    ],
)
def test_some_solvers_need_a_map(rows: Any, options: dict[str, Any], kind: str) -> None:
    """Single-point moves are refused on sparse rows and directions without a map."""
    with pytest.raises(ValueError, match=rf"needs a projection with {kind}, got none; use"):
        reduce(open_blocks(rows), projection=None, **options)


def test_a_transformer_of_the_caller_is_checked() -> None:
    """A transformer must return one row of finite numbers for each row."""
    with pytest.raises(ValueError, match=r"made shape \(80, 150\) of 150 rows; use a transformer"):
        reduce(open_blocks(X), projection=FunctionTransformer(np.transpose))
    with pytest.raises(ValueError, match="made a number that is not finite; use another"):
        reduce(
            open_blocks(X),
            projection=FunctionTransformer(lambda rows: np.full((len(rows), 2), np.inf)),
        )


def test_a_sketch_that_overflows_is_refused() -> None:
    """Finite rows whose sketch is not finite are refused with a sentence that helps."""
    rows = np.full((10, 80), 3e38, dtype=np.float32)
    with pytest.raises(ValueError, match="sketch of X overflows float32; divide X by a large"):
        reduce(open_blocks(rows))

"""First centers in every form that ``init`` may have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.fit.first_centers import FirstCenters, sketch_for_seeding
from projected_kmeans.fit.reduction import reduce_rows
from projected_kmeans.keys import SEEDING, open_stream
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.running.run import Run
from projected_kmeans.solvers.seeding import SEEDING_COLUMNS, seed_centers
from tests.support.blobs import draw_blobs
from tests.support.recipes import make_recipe

X = draw_blobs(d=80)[0]


def draw(rows: Any, restart: int = 0, **options: Any) -> tuple[NDArray[Any], FirstCenters]:
    """Return the first centers of a restart, and what they were drawn from."""
    source = open_blocks(rows)
    recipe = make_recipe(source, **options)
    original, sketch = reduce_rows(recipe, source, None, Run())
    first = FirstCenters(recipe, original, sketch, sketch_for_seeding(recipe, sketch, Monitor()))
    return first.draw(restart, lambda done: None), first


@pytest.mark.parametrize("name", ["k-means++", "orss06"])
def test_a_name_seeds_on_the_sketch(name: str) -> None:
    """A seeding by name draws from the stream of its restart, in the space of the sketch."""
    for restart in (0, 1):
        centers, first = draw(X, restart, init=name)
        stream = open_stream(3, SEEDING, restart)
        np.testing.assert_array_equal(centers, seed_centers(name, first.sketch, 5, stream))


def test_indices_are_rows_of_the_sketch() -> None:
    """Row indices stand for rows of the sketch."""
    centers, first = draw(X, init=np.array([7, 1, 9, 3, 5]))
    np.testing.assert_array_equal(centers, first.sketch.source.select()[[7, 1, 9, 3, 5]])


@pytest.mark.parametrize("projection", ["sign", "svd", PCA(6, random_state=0)])
def test_centers_are_mapped_as_rows_are(projection: Any) -> None:
    """Centers in the original space go through the same map: rows become rows of the sketch."""
    centers, first = draw(X, init=X[:5], projection=projection)
    np.testing.assert_allclose(centers, first.sketch.source.select()[:5], rtol=0, atol=1e-10)


def test_centers_without_a_map_stay() -> None:
    """If nothing is projected, centers are taken as they are."""
    np.testing.assert_array_equal(draw(X, init=X[:5] + 1, projection=None)[0], X[:5] + 1)


def test_a_callable_gets_the_original_rows() -> None:
    """A callable is given rows, k and a random state that follows from key and restart."""
    seen: list[tuple[Any, int, int]] = []

    def choose(rows: Any, n_clusters: int, random_state: np.random.RandomState) -> NDArray[Any]:
        seen.append((rows, n_clusters, int(random_state.randint(2**31))))
        return np.arange(n_clusters)

    for restart in (0, 0, 1):
        centers, first = draw(X, restart, init=choose)
        np.testing.assert_array_equal(centers, first.sketch.source.select()[:5])
    np.testing.assert_array_equal(seen[0][0], X)
    assert seen[0][1] == 5
    assert seen[0][2] == seen[1][2] != seen[2][2]


def test_sparse_rows_are_seeded_on_dense_columns() -> None:
    """Sparse rows without a map are measured on a sign sketch; centers are the rows themselves."""
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    centers, first = draw(rows, projection=None)
    assert first.sketch.source.sparse
    assert not first.measured.source.sparse
    assert first.measured.source.shape == (len(X), SEEDING_COLUMNS)
    dense = rows.toarray()
    assert all((dense == center).all(axis=1).any() for center in centers)


def test_only_seedings_by_name_need_dense_columns() -> None:
    """Given centers measure nothing, so no sketch is made for them."""
    _, first = draw(scipy.sparse.csr_array(X), init=np.arange(5), projection=None)
    assert first.measured is first.sketch


def test_a_subsample_is_what_seedings_see() -> None:
    """With a subsample, seedings choose among its rows."""
    _, first = draw(X)
    some = replace(first.sketch, source=open_blocks(first.sketch.source.select()[:20]))
    centers = replace(first, sketch=some, measured=some).draw(0, lambda done: None)
    rows = some.source.select()
    assert all((rows == center).all(axis=1).any() for center in centers)

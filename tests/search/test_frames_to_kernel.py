"""The way from ``fit`` to a native kernel is short, so that tracebacks and profiles can be read."""

from __future__ import annotations

from typing import Any

import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans, _native
from projected_kmeans.search import approach
from tests.support.blobs import draw_blobs
from tests.support.frames import FrameCounter

# From `fit`, itself included, to the function that calls the kernel.
MAX_FRAMES = 10


def find_way(monkeypatch: pytest.MonkeyPatch, X: Any, **options: Any) -> list[str]:
    """Return the functions from `fit` to the kernel of Lloyd's first pass."""
    counter = FrameCounter(_native.nearest_center)
    monkeypatch.setattr(_native, "nearest_center", counter)
    ProjectedKMeans(5, random_state=0, **options).fit(X)
    return counter.find_way("fit", through="step")


@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
@pytest.mark.parametrize("projection", ["sign", "svd", None])
def test_few_frames_from_fit_to_the_kernel(
    solver: str, projection: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most ten Python functions stand on the stack when Lloyd's first pass calls the kernel."""
    X, _ = draw_blobs()
    way = find_way(monkeypatch, X, solver=solver, projection=projection, n_init=5)
    assert len(way) <= MAX_FRAMES, way


def test_few_frames_on_sparse_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse rows do not take a longer way."""
    X = scipy.sparse.csr_array(draw_blobs()[0])
    way = find_way(monkeypatch, X, solver="lloyd", projection=None)
    assert len(way) <= MAX_FRAMES, way


def test_few_frames_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do levels that are samples of the rows."""
    monkeypatch.setattr(approach, "MIN_LEVEL_ROWS", 40)
    monkeypatch.setattr(approach, "ROWS_PER_CLUSTER", 8)
    X, _ = draw_blobs()
    way = find_way(monkeypatch, X, projection="sign", n_init=3)
    assert len(way) <= MAX_FRAMES, way

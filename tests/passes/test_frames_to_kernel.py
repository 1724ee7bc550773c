"""The way from a search to the native kernel is short, so that tracebacks can be read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans import _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.nearest import NearestSearch
from projected_kmeans.passes.problem import Problem
from tests.support.frames import FrameCounter

ROWS = np.random.default_rng(0).normal(size=(60, 4))
CENTERS = ROWS[:12].copy()

# From `Search.assign`, itself included, to the function that calls the kernel.
MAX_FRAMES = 6


def make_search(name: str) -> NearestSearch:
    """Return a search over the rows, of which a bounded one has made its first pass."""
    source = open_blocks(scipy.sparse.csr_array(ROWS) if "sparse" in name else ROWS)
    problem = Problem(source, scan_columns(source), n_threads=1)
    search = NearestSearch(problem, 12, 3 if "lists" in name else 0, min_work=0)
    if name == "bounded":
        search.assign(CENTERS, np.zeros(60, np.int32), keep_ties=False)
    if name == "lists that stay":
        search.keep_lists()
    return search


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("first pass", "nearest_center"),
        ("sparse", "nearest_center"),
        ("bounded", "bounded_assignment"),
        ("lists", "nearest_listed"),
        ("lists that stay", "nearest_listed"),
        ("sparse lists", "nearest_candidate"),
    ],
)
def test_few_frames_from_a_search_to_its_kernel(
    name: str, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most six Python functions stand between Lloyd's method and the native call."""
    search, labels = make_search(name), np.zeros(60, np.int32)
    counter = FrameCounter(getattr(_native, kernel))
    monkeypatch.setattr(_native, kernel, counter)
    search.assign(CENTERS, labels, keep_ties=True)
    way = counter.find_way("assign", through="assign")
    assert 2 <= len(way) <= MAX_FRAMES, way

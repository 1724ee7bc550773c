"""Nearest centers by bounds from the sketch: the labels of a full pass, with few distances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.passes.problem import Problem
from projected_kmeans.passes.proven_search import ProvenSearch, Subspace, is_worthwhile
from projected_kmeans.projections.spectral import SpectralProjection
from projected_kmeans.results import Floats


def make_case(
    dtype: str, *, sparse: bool = False, offset: float = 0.0
) -> tuple[Any, SpectralProjection, Floats]:
    """Return rows near a subspace of 6 directions, their map, and 40 centers."""
    stream = np.random.default_rng(3)
    rows = stream.normal(size=(900, 6)) @ stream.normal(size=(6, 50))
    rows += 0.3 * stream.normal(size=rows.shape) + offset
    rows = (np.rint(rows) if dtype in ("int8", "uint8") else rows).astype(dtype)
    given = scipy.sparse.csr_array(rows * (np.abs(rows) > 0.5)) if sparse else rows
    projection = SpectralProjection(6, random_state=1).fit(given)
    wide = given.toarray() if sparse else given
    centers = np.stack([wide[i::40].astype(np.float64)[:3].mean(axis=0) for i in range(40)])
    return given, projection, centers


def open_problem(rows: Any) -> Problem:
    """Return the problem of some rows without weights."""
    source = open_blocks(rows)
    return Problem(source, scan_columns(source), None, 1)


@pytest.mark.parametrize(
    ("dtype", "sparse", "offset"),
    [
        ("float64", False, 0.0),
        ("float32", False, 0.0),
        ("float32", False, 1e4),
        ("int8", False, 0.0),
        ("float32", True, 0.0),
        ("float64", True, 0.0),
    ],
)
def test_labels_are_those_of_a_full_pass(dtype: str, sparse: bool, offset: float) -> None:
    """Whatever labels rows had before, they get those of a pass that measures all distances."""
    rows, projection, centers = make_case(dtype, sparse=sparse, offset=offset)
    problem, sketch = open_problem(rows), open_problem(projection.transform(rows))
    wanted = np.zeros(900, np.int32)
    problem.assign(centers, wanted, keep_ties=False)
    search = ProvenSearch(problem, sketch, Subspace(projection.mean_, projection.components_))
    for before in (wanted, np.zeros(900, np.int32), np.roll(wanted, 5)):
        labels = before.copy()
        search.assign(centers, labels, keep_ties=False)
        np.testing.assert_array_equal(labels, wanted)
    assert search.n_measured < 3 * 450


def test_most_rows_are_proven() -> None:
    """Where a sketch holds nearly all of the rows, hardly any row meets all centers."""
    rows, projection, centers = make_case("float64")
    problem, sketch = open_problem(rows), open_problem(projection.transform(rows))
    search = ProvenSearch(problem, sketch, Subspace(projection.mean_, projection.components_))
    search.assign(centers, np.zeros(900, np.int32), keep_ties=False)
    assert search.n_measured < 90


def test_of_equally_near_centers_the_lowest_wins() -> None:
    """A center that is there twice never gets a row, as in a full pass."""
    rows, projection, centers = make_case("float64")
    centers[30:] = centers[:10]
    problem, sketch = open_problem(rows), open_problem(projection.transform(rows))
    labels = np.full(900, 35, np.int32)
    search = ProvenSearch(problem, sketch, Subspace(projection.mean_, projection.components_))
    search.assign(centers, labels, keep_ties=False)
    assert labels.max() < 30


def test_a_sketch_that_says_nothing_costs_only_time() -> None:
    """Along directions in which rows do not differ nothing is proven, and labels stay exact."""
    rows, _, centers = make_case("float64")
    directions = np.zeros((2, 50))
    subspace = Subspace(rows.mean(axis=0), directions)
    problem, sketch = open_problem(rows), open_problem(np.zeros((900, 2)))
    wanted, labels = np.zeros(900, np.int32), np.zeros(900, np.int32)
    problem.assign(centers, wanted, keep_ties=False)
    search = ProvenSearch(replace(problem, n_threads=2), sketch, subspace)
    search.assign(centers, labels, keep_ties=False)
    np.testing.assert_array_equal(labels, wanted)
    assert search.n_measured > 800


def test_directions_are_checked() -> None:
    """Bounds need orthonormal directions; rows of zeros stand for directions that are missing."""
    origin, directions = np.zeros(3), np.eye(3)
    assert Subspace(origin, directions).is_orthonormal
    assert Subspace(origin, np.diag([1.0, 1.0, 0.0])).is_orthonormal
    assert not Subspace(origin, directions + 1e-6).is_orthonormal
    assert not Subspace(origin, 2 * directions).is_orthonormal


def test_few_clusters_or_columns_take_a_full_pass() -> None:
    """Bounds are worth their cost for many clusters in many columns only."""
    assert is_worthwhile(200, 784, 64)
    assert not is_worthwhile(64, 784, 64)
    assert not is_worthwhile(16, 10**5, 4)
    assert not is_worthwhile(1000, 64, 64)

"""Proven intervals contain the smallest possible inertia of the rows, in exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from projected_kmeans import choose_n_clusters
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.certificates.semidefinite.part import PartEffort
from projected_kmeans.choosing_k.proven_intervals import (
    EFFORTS,
    Intervals,
    choose_effort,
    prove_intervals,
)
from tests.support.blobs import draw_blobs
from tests.support.optima import exact_optimum
from tests.support.proofs import draw_instance
from tests.support.stored_rows import SpyRows

KINDS = ("normal", "duplicates", "offset", "far offset", "tiny", "huge", "outlier")


def prove(X: Any, weights: NDArray[Any] | None = None, seed: int = 0, **options: Any) -> Intervals:
    """Return the intervals of 2 to n clusters, from random labels."""
    stream = np.random.default_rng(seed)
    n = X.shape[0]
    clusterings = [
        (count, stream.integers(count, size=n).astype(np.int32)) for count in range(2, n + 1)
    ]
    effort = choose_effort(X.shape, range(2, n + 1))
    assert effort is not None
    return prove_intervals(open_blocks(X), weights, clusterings, effort, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_lies_in_the_interval(kind: str, weighted: bool) -> None:
    """For all numbers of clusters, also of weighted, sparse and float32 rows."""
    seed = (KINDS.index(kind) + weighted) % 3
    X = draw_instance(seed, 7, 2, kind)
    if seed == 1 and kind != "huge":
        X = X.astype(np.float32)
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 9.0], 7) if weighted else None
    if weights is not None:
        weights[0] = 1.0
    found = prove(csr_array(X) if seed == 2 else X, weights, seed)
    for index, count in enumerate(range(2, 8)):
        best = exact_optimum(X.astype(np.float64), count, weights)
        assert Fraction(found.bound[index]) <= best <= Fraction(found.inertia[index])
    assert (np.diff(found.bound) <= 0).all()
    assert (np.diff(found.inertia) <= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_intervals_are_of_the_rows_and_not_of_the_sketch(seed: int) -> None:
    """On a sketch that loses half of the variance, the minimum of the rows is in the interval."""
    X = draw_instance(seed, 8, 9, "normal")
    choice = choose_n_clusters(X, [2, 3, 5], n_components=2, random_state=seed)
    assert choice.lost_variance > 0.2
    assert choice.proven_bound is not None
    assert choice.proven_inertia is not None
    for index, count in enumerate(choice.n_clusters):
        best = exact_optimum(X, int(count))
        assert Fraction(choice.proven_bound[index]) <= best
        assert best <= Fraction(choice.proven_inertia[index])
        assert choice.proven_bound[index] > choice.inertia[index]


def test_intervals_of_blobs_are_narrow() -> None:
    """For 90 rows in four blobs the interval is within a percent up to four clusters."""
    X = draw_blobs(2, n=90, d=20, k=4, gap=2.0)[0]
    choice = choose_n_clusters(X, range(2, 8), random_state=0)
    assert choice.proven_bound is not None
    assert choice.proven_inertia is not None
    ratios = choice.proven_inertia / choice.proven_bound
    assert (ratios >= 1).all()
    assert ratios[2] < 1.01
    assert (ratios < 1.2).all()
    assert choice.proven_inertia[2] == pytest.approx(choice.inertia[2], rel=1e-9)
    assert (choice.proven_bound >= choice.lower_bound * (1 - 1e-9)).all()
    assert "no clustering into 4 groups can be " in choice.describe_proof()
    unclear = replace(choice, suggestion=None).describe_proof()
    weakest = choice.n_clusters[int(np.argmax(ratios))]
    assert unclear.startswith(f"the weakest proof: no clustering into {weakest} groups can be more")


def test_threads_do_not_change_a_bit() -> None:
    """One thread and two give the same intervals."""
    X = draw_blobs(2, n=90, d=5, k=4, gap=2.0)[0]
    labels = (np.arange(90) % 4).astype(np.int32)
    clusterings = [(count, labels % count) for count in (2, 4, 8)]
    one, two = (
        prove_intervals(open_blocks(X), None, clusterings, EFFORTS[2], n_threads=n_threads)
        for n_threads in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_less_is_done_for_more_rows() -> None:
    """The effort follows from sizes: less for more rows and more numbers, in the end nothing."""
    chosen = [choose_effort((n, 10), range(2, 31)) for n in (20, 100, 200, 300, 500, 900, 1001)]
    ranks = [len(EFFORTS) if effort is None else EFFORTS.index(effort) for effort in chosen]
    assert ranks == sorted(ranks)
    assert (ranks[0], ranks[-1]) == (0, len(EFFORTS))
    assert len(set(ranks)) >= 4
    assert choose_effort((150, 4), range(2, 11)) == EFFORTS[0]
    assert choose_effort((1797, 64), range(2, 31)) is None
    assert choose_effort((900, 10), [2]) is not None
    assert choose_effort((900, 10**6), [2]) is None


def test_nothing_is_proven_where_it_would_take_long() -> None:
    """More than 1,000 rows, rows that are not in memory and prove=False have no intervals."""
    X = draw_blobs(2, n=1001, d=4, k=3, gap=2.0)[0]
    many = choose_n_clusters(X, [2, 3], random_state=0)
    few = choose_n_clusters(X[:100], [2, 3], prove=False, random_state=0)
    stored = choose_n_clusters(SpyRows(X[:100]), [2, 3], n_components=2, random_state=0)
    for choice in (many, few, stored):
        assert choice.proven_bound is None
        assert choice.proven_inertia is None
        assert choice.describe_proof() == ""
        assert choice.to_document()["proven_bound"] is None


def test_an_interrupt_ends_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the thread that waits is interrupted, searches that run see it and end."""
    endless = PartEffort(cuts=True, max_steps=10**9, goal=0.0)
    monkeypatch.setattr("projected_kmeans.certificates.semidefinite.part.PATIENCE", 10**9)
    X = draw_instance(0, 12, 2, "normal")
    labels = (np.arange(12) % 2).astype(np.int32)

    def interrupt() -> None:
        raise KeyboardInterrupt

    # With as many clusters as rows there is nothing to search, so that this number ends at once.
    clusterings = [(2, labels), (12, labels)]
    with pytest.raises(KeyboardInterrupt):
        prove_intervals(open_blocks(X), None, clusterings, endless, n_threads=2, on_count=interrupt)

"""One part from rows to a proof: why it ends, what it finds, and that it may end anywhere."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from threadpoolctl import threadpool_limits

from projected_kmeans import inertia
from projected_kmeans.certificates.semidefinite.part import (
    Instance,
    PartEffort,
    PartProof,
    prove_part,
)
from projected_kmeans.running.deadlines import Deadline
from tests.support.optima import find_optimum
from tests.support.parts import draw_part

CUTS = PartEffort(cuts=True, max_steps=300)


def draw_groups(n: int = 90) -> tuple[Any, Any]:
    """Return rows in three groups that overlap a little, and their groups."""
    stream = np.random.default_rng(7)
    groups = np.arange(n) % 3
    return stream.normal(size=(n, 2)) + 4 * np.eye(3, 2)[groups], groups


def prove(
    rows: Any,
    k: int,
    labels: Any,
    effort: PartEffort | None = None,
    weights: Any = None,
    **how: Any,
) -> PartProof:
    """Return what is proven for rows with labels."""
    instance = Instance(rows, k, np.asarray(labels, np.int32), weights)
    return prove_part(instance, effort or PartEffort(), **how)


@pytest.mark.parametrize("seed", range(28))  # all kinds of parts with both efforts, twice
def test_a_part_proves_at_most_the_minimum(seed: int) -> None:
    """From random labels, the bound is at most the optimum, which is at most the inertia found."""
    part = draw_part(seed)
    _, optimum = find_optimum(part.rows, part.n_clusters, part.weights)
    labels = np.random.default_rng(seed).integers(part.n_clusters, size=len(part.rows))
    effort = PartEffort(cuts=seed % 2 == 0, max_steps=40)
    found = prove(part.given, part.n_clusters, labels, weights=part.weights, effort=effort)
    assert 0 <= Fraction(found.bound) <= optimum
    assert Fraction(found.inertia) + Fraction(found.inertia_error) >= optimum


def test_a_part_ends_closed() -> None:
    """Three groups are proven to be the best clustering, and sparse rows give the same."""
    rows, groups = draw_groups()
    for given in (rows, rows.astype(np.float32), scipy.sparse.csr_array(rows)):
        found = prove(given, 3, groups, effort=CUTS)
        assert found.ended == "closed"
        assert found.inertia <= found.bound * CUTS.goal
        assert found.inertia == pytest.approx(inertia(given, found.labels), rel=1e-12)


@pytest.mark.parametrize("cuts", [True, False])
def test_rounding_finds_better_labels(cuts: bool) -> None:
    """From random labels, X leads to the best clustering; without rounding, labels stay."""
    rows, groups = draw_groups()
    labels = np.random.default_rng(0).integers(3, size=90)
    best = prove(rows, 3, groups, effort=CUTS).inertia
    found = prove(rows, 3, labels, effort=PartEffort(cuts, max_steps=60))
    kept = prove(rows, 3, labels, effort=PartEffort(cuts, max_steps=60, round=False))
    assert found.inertia == pytest.approx(best, rel=1e-9)
    assert (kept.labels == labels).all()
    assert kept.bound > 0.9 * best


def test_a_part_ends_for_the_reason_it_tells() -> None:
    """Steps, time, a stop by the callback, a stop by the deadline, and gains that end."""
    rows, groups = draw_groups()

    def end_of(effort: PartEffort = CUTS, **others: Any) -> tuple[str, int]:
        found = prove(rows, 3, groups, effort=effort, **others)
        return found.ended, found.steps

    assert end_of(PartEffort(max_steps=7)) == ("steps", 7)
    assert end_of(deadline=Deadline(0.0)) == ("time", 0)
    stops = iter([False] * 3 + [True])
    assert end_of(on_step=lambda bound: next(stops)) == ("stopped", 4)
    answers = iter([False] * 40 + [True] * 40)
    ended, steps = end_of(deadline=Deadline(None, lambda: next(answers)))
    assert ended == "stopped"
    assert 0 < steps < 40
    normal = np.random.default_rng(1).normal(size=(40, 5))
    found = prove(normal, 4, np.arange(40) % 4, effort=PartEffort(max_steps=10**6))
    assert found.ended == "no gain"


@pytest.mark.parametrize("n_steps", [1, 29, 30, 31, 50])
def test_a_search_that_is_stopped_keeps_what_was_proven(n_steps: int) -> None:
    """Steps that were told before the stop have bounds that only rise, up to that of the end."""
    rows, groups = draw_groups()
    bounds: list[float] = []

    def stop(bound: float) -> bool:
        bounds.append(bound)
        return len(bounds) == n_steps

    effort = PartEffort(cuts=True, max_steps=300, goal=0.0)
    found = prove(rows, 3, groups, effort=effort, on_step=stop)
    assert bounds == sorted(bounds)
    assert found.bound == bounds[-1]
    assert (found.bound > 0) == (n_steps >= 30)


def test_the_bits_of_a_proof_do_not_depend_on_threads() -> None:
    """Bound, labels and steps are the same on one BLAS thread and on two."""
    rows, _ = draw_groups(150)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            proof = prove(rows, 5, np.arange(150) % 5, effort=PartEffort(True, 60))
            found.append((proof.bound, proof.inertia, proof.labels.tobytes(), proof.steps))
    assert found[0] == found[1]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_equal_rows_and_few_rows_are_proven(k: int) -> None:
    """Rows that coincide have inertia 0; one cluster is proven without a search."""
    equal = prove(np.ones((5, 2)), k, np.zeros(5))
    assert (equal.bound, equal.inertia, equal.ended) == (0.0, 0.0, "closed")
    rows = np.arange(5.0)[:, None]
    one = prove(rows, 1, np.zeros(5))
    assert one.ended == "closed"
    assert one.bound == pytest.approx(10, rel=1e-9)
    assert prove(rows, 5, np.arange(5)).ended == "closed"


def test_wrong_labels_and_weights_are_refused() -> None:
    """More clusters than k, and weights of 0, give one sentence."""
    with pytest.raises(ValueError, match="labels have 3 clusters and n_clusters=2"):
        prove(np.eye(3), 2, [0, 1, 2])
    with pytest.raises(ValueError, match=r"weights reach down to 0\.0; leave out rows"):
        prove(np.eye(3), 2, [0, 1, 1], weights=np.array([1.0, 0.0, 1.0]))

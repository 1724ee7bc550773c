"""The prover stays within its limits on rows and time, and says what it skipped."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

from projected_kmeans import FitState, LowerBound, ProjectedKMeans, kmeans_lower_bound
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.prover import ProofEffort, Prover
from projected_kmeans.certificates.semidefinite_prover import Given
from projected_kmeans.running.deadlines import Deadline
from projected_kmeans.running.monitor import Monitor
from tests.support.commands import ROWS
from tests.support.proofs import draw_instance, draw_sparse

# All bounds, but only for 500 rows; more rows are sampled.
SMALL_EFFORT = ProofEffort(subset_rows=400, max_neighbour_rows=500)


def bound_with(
    X: Any,
    k: int,
    effort: ProofEffort = SMALL_EFFORT,
    *,
    weights: Any = None,
    key: int = 0,
    confidence: float = 0.99,
    callback: Any = None,
) -> LowerBound:
    """Return the bound that an effort finds."""
    monitor = Monitor(callback, verbose=0)
    return bound_inertia(
        X, weights, k, effort=effort, key=key, monitor=monitor, confidence=confidence
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_sampled(weighted: bool) -> None:
    """Beyond the limit the bound comes from subsets, says so, and is a function of the key."""
    stream = np.random.default_rng(0)
    X = stream.normal(size=(2000, 4)).astype(np.float32)
    weights = stream.integers(1, 3, 2000).astype(np.float64) if weighted else None
    first = bound_with(X, 5, weights=weights, key=1, confidence=0.95)
    assert first.method == "sampled"
    assert (first.certain, first.confidence) == (False, 0.95)
    assert first.values["spectral"] < first.value
    model = ProjectedKMeans(5, projection=None, random_state=0).fit(X, sample_weight=weights)
    assert 1 < model.inertia_ / first.value < 2.5
    assert bound_with(X, 5, weights=weights, key=1, confidence=0.95).value == first.value


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_rows_have_the_same_subsets(weighted: bool) -> None:
    """Sparse rows are sampled like dense rows, with the same bound."""
    effort = ProofEffort(subset_rows=200, max_neighbour_rows=300)
    X = draw_sparse(2, 1000, 20)
    weights = np.random.default_rng(1).random(1000) if weighted else None
    sparse = bound_with(csr_array(X), 4, effort, weights=weights, key=3)
    dense = bound_with(X, 4, effort, weights=weights, key=3)
    assert dense.values["sampled"] > 0
    assert sparse.values["sampled"] == pytest.approx(dense.values["sampled"], rel=1e-8)


def test_subsets_without_time_count_as_zero() -> None:
    """If the time ends among the subsets, the others count 0; their number stays the same."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    whole = bound_with(X, 5)
    part = bound_with(X, 5, callback=lambda state: state.iteration >= 3)
    assert part.values["sampled"] < whole.values["sampled"] / 2
    assert part.skipped["sampled"] == "the time was over in the middle of its subsets"
    assert set(whole.skipped) == {"neighbour"}


def test_subsets_need_more_rows_than_clusters() -> None:
    """Subsets that are too small for k clusters are not drawn."""
    X = np.random.default_rng(0).normal(size=(2000, 2))
    found = bound_with(X, 450)
    assert "sampled" not in found.values
    assert found.skipped["sampled"] == "subsets of 400 rows are too small for 450 clusters"


def test_without_time_no_bound_is_computed() -> None:
    """A time limit of 0 gives the bound 0, with the reasons."""
    nothing = kmeans_lower_bound(draw_instance(2, 50, 3, "normal"), 5, time_limit=0)
    assert (nothing.value, nothing.method, nothing.values) == (0.0, "none", {})
    assert set(nothing.skipped) == {"spectral", "neighbour", "semidefinite"}


def test_a_callback_sees_the_work_and_can_stop_it() -> None:
    """Units of work are numbered and within the total; what was proven before a stop counts."""
    X = draw_instance(2, 50, 3, "normal")
    states: list[FitState] = []
    full = kmeans_lower_bound(X, 5, callback=lambda state: states.append(state))
    assert {state.step for state in states} == {"certify"}
    assert [state.iteration for state in states] == list(range(1, len(states) + 1))
    assert 4 < len(states) <= states[0].total
    for last in (1, 2, 4, 20, 45):
        cut = kmeans_lower_bound(X, 5, callback=lambda state, end=last: state.iteration == end)
        assert (last > 1) <= cut.value <= full.value
        assert "semidefinite" in cut.skipped
    assert cut.skipped["semidefinite"] == "the time was over in the middle of its search"


def test_eigenvalues_that_take_too_long_are_not_begun(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If the prediction exceeds the time left, the bound is skipped, and the log says why."""
    monkeypatch.setattr("projected_kmeans.certificates.prover.predict_seconds", lambda size: 1e6)
    with caplog.at_level(logging.DEBUG, logger="projected_kmeans"):
        bound = kmeans_lower_bound(ROWS, 3, time_limit=1000)
    assert "spectral" not in bound.values
    assert bound.skipped["spectral"] == "eigenvalues take about 1e+06 s and 1e+03 s are left"
    assert bound.method in ("neighbour", "tightened")
    assert "spectral bound skipped or cut short: eigenvalues take" in caplog.text
    assert "spectral" in kmeans_lower_bound(ROWS, 3).values


class Countdown:
    """Says that the time is over after it was asked a number of times."""

    def __init__(self) -> None:
        self.left = np.inf

    def __call__(self) -> bool:
        """Count a question, and answer it."""
        self.left -= 1
        return bool(self.left < 0)


def prove_until(n_questions: float, effort: ProofEffort) -> tuple[dict[str, float], dict[str, str]]:
    """Return bounds and reasons if the time is over after a number of questions about it."""
    is_over = Countdown()
    deadline = Deadline(None, is_over)
    X = draw_instance(0, 60, 4, "normal")
    rows = DenseProofRows(X, None, deadline.check)
    prover = Prover(3, effort, deadline, Monitor(None, 0))
    is_over.left = n_questions
    values = prover.prove_all(Given(X), rows, 0.99)
    return values, prover.skipped


@pytest.mark.parametrize(
    ("effort", "reasons"),
    [
        (
            ProofEffort(
                subset_rows=15,
                max_neighbour_rows=60,
                max_tightened_rows=60,
                max_tightening_steps=3,
            ),
            {
                ("spectral", "the time was over before it began"),
                ("spectral", "the time was over in the middle of its Gram matrix"),
                ("neighbour", "the time was over in the middle of its distances"),
                ("neighbour", "the time was over in the middle of its search"),
                ("tightened", "the time was over before it began"),
                ("tightened", "the time was over in the middle of its search"),
            },
        ),
        (
            ProofEffort(subset_rows=15, max_neighbour_rows=30),
            {
                ("sampled", "the time was over before it began"),
                ("sampled", "the time was over before the first subset"),
                ("sampled", "the time was over in the middle of its subsets"),
            },
        ),
    ],
    ids=["all rows", "subsets"],
)
def test_the_time_may_be_over_at_any_moment(
    effort: ProofEffort, reasons: set[tuple[str, str]]
) -> None:
    """Wherever the work stops, its bounds are at most those of the whole work, with a reason."""
    whole, nothing_skipped = prove_until(np.inf, effort)
    seen: set[tuple[str, str]] = set()
    for n_questions in range(60):
        values, skipped = prove_until(n_questions, effort)
        assert all(value <= whole[name] * (1 + 1e-9) for name, value in values.items())
        seen |= set(skipped.items())
    assert reasons <= seen
    assert not reasons & set(nothing_skipped.items())


def test_limits_on_rows_are_named() -> None:
    """A bound that is skipped because of its limit on rows says so."""
    few_tightened = ProofEffort(subset_rows=10, max_neighbour_rows=60, max_tightened_rows=50)
    found = bound_with(draw_instance(0, 60, 4, "normal"), 3, few_tightened)
    assert found.skipped == {"tightened": "60 rows exceed 50"}
    identity = csr_array(eye_array(4097))
    found = bound_with(identity, 3, ProofEffort(subset_rows=10, max_neighbour_rows=60))
    assert found.skipped["spectral"] == "both rows and columns exceed 4096"
    assert found.skipped["neighbour"] == "4097 rows exceed 60"
    assert found.method == "sampled"

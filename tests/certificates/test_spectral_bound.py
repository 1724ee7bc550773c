"""The spectral bound: its time is predicted, and its Gram matrix stops between stretches."""

from __future__ import annotations

import itertools

import pytest

from projected_kmeans.certificates.spectral_bound import TIMED_SIZE, predict_seconds, spectral_bound
from projected_kmeans.running.deadlines import OutOfTime
from tests.support.proofs import draw_sparse, open_proof_rows


@pytest.mark.parametrize(
    ("kind", "shape", "n_checks"),
    [
        ("dense", (600, 1200), 3),  # one block of rows, two stretches of the product
        ("dense", (1200, 600), 1),  # one block of rows
        ("sparse", (600, 1200), 2),
        ("sparse", (1200, 600), 2),
    ],
)
def test_gram_matrices_stop_between_stretches(
    kind: str, shape: tuple[int, int], n_checks: int
) -> None:
    """With one check too few there is no matrix; with enough there is a bound."""
    X = draw_sparse(0, *shape, share=0.02)
    for too_few in range(n_checks):
        with pytest.raises(OutOfTime):
            spectral_bound(open_proof_rows(kind, X, too_few), 3)
    assert spectral_bound(open_proof_rows(kind, X, n_checks), 3) > 0


def test_predictions_grow_with_the_cube(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the timed matrix takes one second, a matrix ten times as large takes a thousand."""
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    assert predict_seconds(TIMED_SIZE // 2) == predict_seconds(TIMED_SIZE) == 1
    assert predict_seconds(10 * TIMED_SIZE) == pytest.approx(1000)

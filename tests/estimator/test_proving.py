"""A fit proves what it is asked to prove, and takes better clusters that a proof finds."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans import LowerBound, ProjectedKMeans, inertia
from projected_kmeans.certificates.bound_trace import find_damage
from projected_kmeans.certificates.lower_bounds import bound_inertia
from projected_kmeans.results import FitState
from projected_kmeans.running import monitor
from tests.support.optima import find_optimum, partitions

# One pass from one draw of centers: the result is far from the best clustering.
POOR: dict[str, Any] = {"n_init": 1, "max_iter": 1, "projection": None, "random_state": 3}


def draw_rows(n: int = 240, k: int = 8) -> Any:
    """Return rows in groups that overlap, so that k-means has many local minima."""
    stream = np.random.default_rng(5)
    return 3 * stream.normal(size=(k, 4))[stream.integers(k, size=n)] + stream.normal(size=(n, 4))


def test_a_proof_improves_the_clusters() -> None:
    """With a certificate, "auto" ends with the labels that the proof found; "lloyd" keeps its own.

    Whoever names a solver gets its labels, and the certificate offers the better ones.
    """
    rows = draw_rows()
    plain = ProjectedKMeans(8, **POOR).fit(rows)
    better = ProjectedKMeans(8, certificate="full", **POOR).fit(rows)
    kept = ProjectedKMeans(8, certificate="full", solver="lloyd", **POOR).fit(rows)
    assert better.inertia_ < 0.99 * plain.inertia_
    assert better.certificate_ is not None
    assert better.certificate_.inertia == better.inertia_
    assert better.certificate_.better_labels is None
    assert better.inertia_ == pytest.approx(inertia(rows, better.labels_), rel=1e-12)
    assert (better.predict(rows) == better.labels_).all()
    assert kept.certificate_ is not None
    assert kept.certificate_.better_labels is not None
    assert inertia(rows, kept.certificate_.better_labels) < 0.99 * kept.inertia_


def test_the_solver_sdp_finds_and_proves_the_optimum() -> None:
    """Iris in three clusters is proven optimal from one poor pass, without asking for a proof."""
    model = ProjectedKMeans(3, solver="sdp", **POOR).fit(load_iris().data)
    assert model.inertia_ == pytest.approx(78.851441, abs=1e-5)  # the known minimum
    assert model.certificate_ is not None
    assert model.certificate_.describe().startswith("proven optimal for all 150 rows")


@pytest.mark.parametrize("kind", ["dense", "csr", "weights", "cosine"])
def test_no_bound_exceeds_the_optimum(kind: str) -> None:
    """On rows whose optimum is known, "sdp" proves a bound below it for an inertia above it."""
    stream = np.random.default_rng(11)
    rows = stream.normal(size=(9, 3))
    weights = stream.uniform(0.1, 3, size=9) if kind == "weights" else None
    given = scipy.sparse.csr_array(rows) if kind == "csr" else rows
    metric = "cosine" if kind == "cosine" else "euclidean"
    model = ProjectedKMeans(3, solver="sdp", metric=metric, random_state=0)
    model.fit(given, sample_weight=weights)
    found = model.certificate_
    assert found is not None
    best = (
        _best_unit_inertia(rows) if metric == "cosine" else float(find_optimum(rows, 3, weights)[1])
    )
    assert found.lower_bound <= best * (1 + 1e-12)
    assert best <= found.inertia * (1 + 1e-12)
    assert found.ratio < 1.1


def _best_unit_inertia(rows: Any) -> float:
    """Return the minimum inertia of nine rows about three unit centers, by trying everything."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    lengths = [
        sum(np.linalg.norm(unit[np.array(labels) == label].sum(axis=0)) for label in set(labels))
        for labels in partitions(9, 3)
    ]
    return float(2 * len(rows) - 2 * max(lengths))


def test_a_guarantee_is_met() -> None:
    """The fit goes on until the ratio is at most what was asked for, and the sentence says so."""
    rows = draw_rows()
    model = ProjectedKMeans(8, guarantee=1.05, **POOR).fit(rows)
    found = model.certificate_
    assert found is not None
    assert found.ended == "met"
    assert found.ratio <= 1.05
    assert found.describe().endswith("; the guarantee of 1.05 is met")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trace_covers_all_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace of two proofs in turn rises up to the bound, within the seconds of both."""
    calls: list[LowerBound] = []

    def note(*given: Any, **options: Any) -> LowerBound:
        calls.append(bound_inertia(*given, **options))
        return calls[-1]

    monkeypatch.setattr("projected_kmeans.estimator.proving.bound_inertia", note)
    rows = np.random.default_rng(6).normal(size=(60, 6))
    proof = ProjectedKMeans(8, guarantee=1.0, **POOR).fit(rows).certificate_
    assert proof is not None
    assert len(calls) == 2
    assert set(calls[0].trace[:3]) <= set(proof.trace)
    assert len(proof.trace) > 2
    assert find_damage(proof.trace, proof.lower_bound) is None
    assert proof.trace[-1][1] == proof.lower_bound
    assert proof.trace[-1][0] <= proof.seconds


def test_a_weak_guarantee_takes_the_cheapest_proof() -> None:
    """A guarantee that the spectral bound meets ends the work before any other bound."""
    rows = draw_rows() + 40 * np.eye(2, 4)[np.arange(240) % 2]
    model = ProjectedKMeans(2, guarantee=1.5, random_state=0).fit(rows)
    found = model.certificate_
    assert found is not None
    assert (found.ended, found.method) == ("met", "spectral")


def test_a_guarantee_makes_further_clusterings() -> None:
    """If the proof cannot gain, other first centers are tried, and a lower inertia is kept."""
    rows = np.random.default_rng(6).normal(size=(240, 10))
    steps: list[str] = []

    def note(state: FitState) -> None:
        steps.append(state.step)

    # The spectral bound finds no labels, so that only clusterings can gain.
    poor = ProjectedKMeans(8, certificate="spectral", **POOR).fit(rows)
    asked = {**POOR, "certificate": "spectral", "guarantee": 1.0, "callback": note}
    with pytest.warns(ConvergenceWarning, match="guarantee=1 is not met: .* nothing gained"):
        found = ProjectedKMeans(8, **asked).fit(rows)
    assert found.inertia_ < poor.inertia_
    assert found.certificate_ is not None
    assert found.certificate_.ended == "no gain"
    assert found.certificate_.inertia == found.inertia_
    assert steps.index("certify") < len(steps) - 1 - steps[::-1].index("cluster")


def test_a_guarantee_out_of_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the time ends during a proof, the result is kept, and the warning gives the reason."""
    over = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + over[0])
    monkeypatch.setattr(monitor, "time", clock)

    def spend(state: FitState) -> None:
        over[0] = 1e6 if state.step == "certify" else 0.0

    with pytest.warns(ConvergenceWarning, match="guarantee=1 is not met: .* and the time was over"):
        model = ProjectedKMeans(8, guarantee=1.0, time_budget=1e5, callback=spend, **POOR).fit(
            draw_rows()
        )
    assert model.stopped_ == "time"
    assert model.certificate_ is not None
    assert model.certificate_.ended == "time"


def test_a_stopped_fit_warns_that_nothing_is_proven() -> None:
    """A fit that the callback stops before the proof warns that the guarantee is not met."""
    with pytest.warns(ConvergenceWarning, match="stopped before anything was proven"):
        model = ProjectedKMeans(
            8, guarantee=1.1, random_state=0, callback=lambda state: state.step == "cluster"
        ).fit(draw_rows())
    assert model.certificate_ is None


def test_the_same_bits_on_any_number_of_threads() -> None:
    """Labels and bound of a guaranteed fit do not depend on the number of threads."""
    rows = draw_rows(700)
    fits = [ProjectedKMeans(8, guarantee=1.02, n_threads=n, **POOR).fit(rows) for n in (1, 2)]
    first, second = (fit.certificate_ for fit in fits)
    assert first is not None
    assert second is not None
    assert (fits[0].labels_ == fits[1].labels_).all()
    assert (first.lower_bound, first.ratio) == (second.lower_bound, second.ratio)


def test_wrong_requests_are_refused() -> None:
    """A guarantee below 1, one for a stream, and too many rows for "sdp" get one sentence each."""
    rows = draw_rows()
    with pytest.raises(ValueError, match=r"guarantee=0\.01 is below 1; .* use 1.01"):
        ProjectedKMeans(8, guarantee=0.01).fit(rows)
    with pytest.raises(TypeError, match="guarantee='1 %' is not a number"):
        ProjectedKMeans(8, guarantee="1 %").fit(rows)
    with pytest.raises(ValueError, match="a stream keeps no rows to prove a guarantee about"):
        ProjectedKMeans(8, guarantee=1.1).partial_fit(rows)
    with pytest.raises(ValueError, match='solver="sdp" takes at most 2000 rows, and X has 2001'):
        ProjectedKMeans(2, solver="sdp").fit(np.zeros((2001, 1)))


def test_a_stream_has_no_proof() -> None:
    """The solver "sdp" clusters a stream like "auto", because most of its rows are not kept."""
    rows = draw_rows()
    model = ProjectedKMeans(8, solver="sdp", random_state=0).partial_fit(rows)
    like = ProjectedKMeans(8, random_state=0).partial_fit(rows)
    assert model.certificate_ is None
    assert model.inertia_ == like.inertia_

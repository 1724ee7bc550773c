"""Lower bounds are never above the least inertia, and certificates say what they prove."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from projected_kmeans import (
    Certificate,
    FitState,
    LowerBound,
    ProjectedKMeans,
    certify,
    inertia,
    kmeans_lower_bound,
)
from projected_kmeans.certificates import neighbour_bound
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.neighbour_bound import Dual, measure_neighbours
from projected_kmeans.certificates.prover import EFFORTS, Effort
from projected_kmeans.certificates.sampled_bound import draw_subsets, lower_mean, sampled_bound
from projected_kmeans.commands.main import commands
from projected_kmeans.sources.open_rows import read_matrix
from tests.support.layouts import seeds
from tests.support.optima import exact_optimum, partitions

CERTAIN = ("spectral", "neighbour", "tightened")


def draw_instance(seed: int, n: int, d: int, kind: str) -> NDArray[np.float64]:
    """Return rows with duplicates, a large offset, an odd scale or an outlier."""
    stream = np.random.default_rng(seed)
    X = stream.normal(size=(n, d))
    if kind == "duplicates":
        return stream.integers(0, 2, size=(n, d)).astype(np.float64)
    if kind == "offset":
        return X + 1e6
    if kind == "far offset":
        return 1e-3 * X + 1e12
    if kind == "outlier":
        X[0] *= 1e7
    return X * {"tiny": 1e-150, "huge": 1e140}.get(kind, 1.0)


kinds = st.sampled_from(["normal", "duplicates", "offset", "far offset", "tiny", "huge", "outlier"])


@given(seed=seeds, n=st.integers(1, 7), d=st.integers(1, 3), k=st.integers(1, 4), kind=kinds)
def test_no_bound_is_above_the_optimum(seed: int, n: int, d: int, k: int, kind: str) -> None:
    """Every bound is at most the least inertia, in exact fractions."""
    k = min(k, n)
    X = draw_instance(seed, n, d, kind)
    bound = kmeans_lower_bound(X, k, method="full")
    assert bound.certain
    assert bound.confidence == 1.0
    assert bound.value == max(bound.values.values())
    optimum = exact_optimum(X, k)
    assert all(0 <= Fraction(value) <= optimum for value in bound.values.values())


@given(seed=seeds, n=st.integers(2, 7), k=st.integers(1, 3), scale=st.sampled_from([1.0, 1e-200]))
def test_weights_are_part_of_the_proof(seed: int, n: int, k: int, scale: float) -> None:
    """With weights, zeros among them, bounds hold for the weighted inertia."""
    k = min(k, n)
    X = draw_instance(seed, n, 2, "normal")
    weights = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 50.0], n) * scale
    weights[0] = scale
    bound = kmeans_lower_bound(X, k, method="full", sample_weight=weights)
    assert Fraction(bound.value) <= exact_optimum(X, k, weights)


def test_a_weight_is_a_number_of_copies() -> None:
    """Rows with whole weights have the bounds of as many copies."""
    X = draw_instance(3, 30, 4, "normal")
    weights = np.arange(30) % 3 + 1
    copies = np.repeat(X, weights, axis=0)
    one = kmeans_lower_bound(X, 4, sample_weight=weights, method="full").values
    other = kmeans_lower_bound(copies, 4, method="full").values
    assert one["spectral"] == pytest.approx(other["spectral"], rel=1e-9)
    # Copies may part, rows may not: their bound is the weaker one.
    assert one["neighbour"] == pytest.approx(other["neighbour"], rel=1e-5)


@given(seed=seeds, n=st.integers(2, 7), k=st.integers(1, 4))
def test_certificates_are_true_of_bad_clusterings(seed: int, n: int, k: int) -> None:
    """For the best and for random clusterings, inertia / optimum is at most the ratio."""
    X = np.random.default_rng(seed).integers(0, 9, size=(n, 2)).astype(np.float64)
    labels = np.random.default_rng(seed).integers(0, k, size=n)
    certificate = certify(X, labels)
    optimum = exact_optimum(X, len(np.unique(labels)))
    assert certificate.ratio >= 1
    assert Fraction(certificate.inertia) <= optimum * Fraction(min(certificate.ratio, 1e300)) or (
        optimum == 0
    )


def test_one_cluster_is_certified_to_rounding() -> None:
    """With k = 1 all bounds are the inertia itself but for their margins."""
    X = draw_instance(0, 200, 30, "offset")
    bound = kmeans_lower_bound(X, 1, method="full")
    best = inertia(X, np.zeros(200, dtype=int))
    for name in ("spectral", "neighbour"):
        assert best * (1 - 1e-8) <= bound.values[name] <= best


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5)])
def test_nothing_is_left_where_every_row_has_a_cluster(n: int, k: int) -> None:
    """With as many clusters as rows the bound is 0, and the certificate of inertia 0 is 1."""
    X = draw_instance(1, n, 3, "normal")
    assert kmeans_lower_bound(X, k).value == 0
    certificate = certify(X, np.arange(n))
    assert certificate.ratio == 1.0
    assert "best possible" in certificate.describe()


def test_equal_rows_cost_nothing() -> None:
    """Where all rows are the same, far from zero, the bound is 0."""
    assert kmeans_lower_bound(np.full((20, 3), 1e6 / 3), 2, method="full").value == 0


def test_margins_grow_with_what_they_are_margins_of() -> None:
    """Rows of integers have exact bounds, which the proven ones approach from below."""
    X = np.array([[0.0], [2.0], [10.0], [12.0]])
    centred = DenseProofRows(X)
    neighbours = measure_neighbours(centred, 2)
    dual = neighbours.maximise(neighbours.start(centred.squares))
    assert 4 * (1 - 1e-9) <= centred.to_original(neighbours.prove(dual)) <= 4
    # Shares that promise too much are lowered until they are true.
    greedy = Dual(dual.price, dual.shares + 0.1, dual.inside, dual.value)
    assert centred.to_original(neighbours.prove(greedy)) <= 4


def test_lists_may_be_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few neighbours the bound is weaker, and still one."""
    X = draw_instance(5, 60, 2, "normal")
    full = kmeans_lower_bound(X, 5, method="neighbour").value
    values = []
    for length in (2, 10, 30):
        monkeypatch.setattr(neighbour_bound, "LIST_ENTRIES", 60 * length)
        values.append(kmeans_lower_bound(X, 5, method="neighbour").value)
    assert values == sorted(values)
    assert 0 < values[0] < values[1] <= full * (1 + 1e-6)
    assert values[2] == pytest.approx(full, rel=1e-5)


def test_faces_are_certified(find_data: Callable[[str], Path]) -> None:
    """On ORL the three bounds are within the ratios measured before: 2.43, 1.19 and 1.11."""
    X = read_matrix(find_data("ORL_64x64.mat")).rows
    model = ProjectedKMeans(
        40, projection=None, solver="breathing", n_init=3, max_iter=2000, random_state=0
    ).fit(X)
    bound = kmeans_lower_bound(X, 40, method="auto")
    ratios = [model.inertia_ / bound.values[name] for name in CERTAIN]
    assert ratios[0] < 2.47
    assert ratios[1] < 1.20
    assert ratios[2] < 1.13
    assert bound.method == "tightened"


def test_digits_are_certified() -> None:
    """On scikit-learn's digits the neighbour bound gives at most 1.25."""
    X = load_digits().data
    model = ProjectedKMeans(10, projection=None, random_state=0).fit(X)
    certificate = certify(X, model.labels_)
    assert certificate.certain
    assert certificate.ratio < 1.25


def test_sampled_bounds_fail_as_rarely_as_they_say() -> None:
    """Of 200 keys, at most delta of the bounds of one subset exceed the optimum.

    The data are the worst: most rows are at 0, a few at 1, and one center must serve all. A bound
    that fails with probability 0.1 fails more than 35 times of 200 with probability 0.0005.
    """
    X = (np.arange(1000) % 50 == 0).astype(np.float64)[:, None]
    optimum = inertia(X, np.zeros(1000, dtype=int))
    whole = DenseProofRows(X)
    values = []
    for key in range(200):
        subsets = draw_subsets(whole, 2, 40, key)
        values.append(
            sampled_bound(whole, subsets, lambda one: one.to_original(one.squares - one.drift), 0.9)
        )
    assert sum(value > optimum for value in values) <= 35
    assert max(values) > 0


def test_the_tail_inequality_is_one() -> None:
    """For coins, the lower mean exceeds the true one with the stated probability at most."""
    n, mean, delta = 40, 0.2, 0.05
    failing = [hits for hits in range(n + 1) if lower_mean(hits / n, n, delta) > mean]
    chance = sum(math.comb(n, hits) * mean**hits * (1 - mean) ** (n - hits) for hits in failing)
    assert 0 < chance <= delta


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_sampled(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    """Beyond the limit the bound comes from subsets, says so, and repeats with its key."""
    few = Effort(True, 500, 0, 0, 400)
    monkeypatch.setitem(EFFORTS, "auto", few)
    stream = np.random.default_rng(0)
    X = stream.normal(size=(2000, 4)).astype(np.float32)
    weights = stream.integers(1, 3, 2000).astype(np.float64) if weighted else None
    first = kmeans_lower_bound(X, 5, confidence=0.95, random_state=1, sample_weight=weights)
    assert first.method == "sampled"
    assert (first.certain, first.confidence) == (False, 0.95)
    assert first.values["spectral"] < first.value
    model = ProjectedKMeans(5, projection=None, random_state=0).fit(X, sample_weight=weights)
    assert 1 < model.inertia_ / first.value < 2.5
    again = kmeans_lower_bound(X, 5, confidence=0.95, random_state=1, sample_weight=weights)
    assert again.value == first.value
    assert "probability of 95 %" in Certificate.of(model.inertia_, first).describe()


def test_time_and_callbacks_limit_the_work() -> None:
    """With no time no bound is made; a callback sees the step and may stop it."""
    X = draw_instance(2, 50, 3, "normal")
    nothing = kmeans_lower_bound(X, 5, time_limit=0)
    assert (nothing.value, nothing.method, nothing.values) == (0.0, "none", {})
    assert set(nothing.skipped) == {"spectral", "neighbour"}
    states: list[FitState] = []
    full = kmeans_lower_bound(X, 5, callback=lambda state: len(states.append(state) or []) > 0)
    assert {state.step for state in states} == {"certify"}
    assert [state.iteration for state in states] == list(range(1, len(states) + 1))
    assert len(states) <= states[0].total
    cut = kmeans_lower_bound(X, 5, callback=lambda state: state.iteration == 4)
    assert 0 < cut.value <= full.value


def test_unreached_subsets_count_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where time ends among the subsets, the others count 0: their number is fixed before."""
    monkeypatch.setitem(EFFORTS, "auto", Effort(True, 500, 0, 0, 400))
    X = np.random.default_rng(0).normal(size=(2000, 2))
    whole = kmeans_lower_bound(X, 5, random_state=0)
    part = kmeans_lower_bound(X, 5, random_state=0, callback=lambda state: state.iteration >= 3)
    assert part.values["sampled"] < whole.values["sampled"] / 2
    assert part.skipped["sampled"] == "the time was over in the middle of its subsets"
    assert set(whole.skipped) == {"neighbour"}


def test_an_estimator_certifies_its_fit() -> None:
    """With certificate="auto" a fit proves its inertia; by default or when stopped it does not."""
    X = draw_instance(4, 80, 20, "normal")
    steps = set()
    model = ProjectedKMeans(
        4, certificate="auto", random_state=0, callback=lambda state: steps.add(state.step)
    ).fit(X)
    assert model.certificate_.inertia == model.inertia_
    assert model.certificate_.ratio >= 1
    assert "certify" in steps
    assert "certify" in model.timings_
    assert ProjectedKMeans(4, random_state=0).fit(X).certificate_ is None
    assert ProjectedKMeans(4, certificate="full", time_budget=0).fit(X).certificate_ is None
    with pytest.raises(ValueError, match="certificate='best' is not known"):
        ProjectedKMeans(4, certificate="best").fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 4}, "n_clusters=4 exceeds n_samples=3"),
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"n_clusters": 2, "method": "svd"}, "method='svd' is not known"),
        ({"n_clusters": 2, "confidence": 1.0}, "confidence=1.0"),
        ({"n_clusters": 2, "time_limit": -1}, "time_limit=-1"),
        ({"n_clusters": 2, "sample_weight": [1, 2]}, "sample_weight"),
    ],
)
def test_bad_input_is_one_sentence(options: dict[str, Any], message: str) -> None:
    """What cannot be meant is refused by name."""
    with pytest.raises(ValueError, match=message):
        kmeans_lower_bound([[0.0], [1.0], [2.0]], **options)


def test_no_bound_proves_nothing() -> None:
    """A bound of 0 gives an infinite ratio, and a sentence that admits it."""
    nothing = Certificate.of(3.0, LowerBound(0.0, "spectral", True, 1.0, 0.1))
    assert math.isinf(nothing.ratio)
    assert "nothing is proven" in nothing.describe()


def test_the_command_line_certifies(tmp_path: Path) -> None:
    """Certify prints the sentence and a table, or JSON; bad input is one sentence, code 2."""
    X = draw_instance(6, 40, 3, "normal")
    labels = ProjectedKMeans(3, random_state=0).fit_predict(X)
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", labels)
    files = [str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy")]
    run = CliRunner().invoke(commands, ["certify", *files])
    assert run.output.startswith("inertia is proven within 1.")
    assert "lower bound" in run.output
    told = json.loads(CliRunner().invoke(commands, ["certify", *files, "--json"]).output)
    assert told["ratio"] == certify(X, labels).ratio
    np.save(tmp_path / "short.npy", labels[1:])
    for wrong in ([files[0], str(tmp_path / "short.npy")], [*files, "--delta", "2"]):
        failed = CliRunner().invoke(commands, ["certify", *wrong])
        assert isinstance(failed.exception, ValueError)


def test_partitions_are_all() -> None:
    """The referee tries as many partitions as there are: Stirling numbers summed."""
    assert len(partitions(5, 3)) == 1 + 15 + 25
    pairs = itertools.combinations(partitions(4, 4), 2)
    assert all(one != other for one, other in pairs)

"""Certificates state what a bound proves, and survive the way through a file."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from projected_kmeans import Certificate, LowerBound, ProjectedKMeans, certify
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.model_files import load_model, save_fit
from projected_kmeans.results import FitState
from projected_kmeans.running import monitor
from tests.support.commands import ROWS
from tests.support.layouts import seeds
from tests.support.optima import exact_inertia, exact_optimum
from tests.support.proofs import draw_instance


@given(seed=seeds, n=st.integers(2, 7), k=st.integers(1, 4))
def test_the_ratio_holds_for_bad_clusterings(seed: int, n: int, k: int) -> None:
    """For random labels, the inertia is at most the ratio times the minimum."""
    X = np.random.default_rng(seed).integers(0, 9, size=(n, 2)).astype(np.float64)
    labels = np.random.default_rng(seed).integers(0, k, size=n)
    certificate = certify(X, labels)
    optimum = exact_optimum(X, len(np.unique(labels)))
    assert certificate.ratio >= 1
    # Inertia = ratio x optimum has no meaning if the ratio is infinite or the optimum is 0.
    finite = Fraction(min(certificate.ratio, 1e300))
    assert optimum == 0 or Fraction(certificate.inertia) <= optimum * finite
    assert abs(
        Fraction(certificate.inertia) - exact_inertia(X, np.ones(n), tuple(labels))
    ) <= Fraction(certificate.inertia_error)


@pytest.mark.parametrize("n", [1, 5])
def test_an_inertia_of_zero_is_the_best(n: int) -> None:
    """With as many clusters as rows the inertia is 0, and the ratio is 1."""
    certificate = certify(draw_instance(1, n, 3, "normal"), np.arange(n))
    assert certificate.ratio == 1.0
    assert certificate.describe() == "inertia is 0, the best possible"


def test_a_bound_above_the_inertia_is_never_hidden() -> None:
    """A certain bound above the inertia and its error is a false proof, which is raised."""
    above = LowerBound(3.1, "spectral", True, 1.0, 0.1)
    with pytest.raises(RuntimeError, match=r"^the spectral bound 3\.1 exceeds the inertia 3\.0 "):
        Certificate.of(3.0, 0.05, above)
    within = Certificate.of(3.0, 0.2, above)
    assert (within.inertia, within.inertia_error) == (3.0, 0.2)
    assert Fraction(3.2) <= Fraction(within.ratio) * Fraction(3.1)
    with pytest.raises(RuntimeError, match=r"exceeds the inertia 0\.0 "):
        Certificate.of(0.0, 0.0, above)


def test_the_ratio_counts_the_error_of_the_inertia() -> None:
    """The ratio holds for every inertia that the error allows."""
    certificate = Certificate.of(3.0, 0.75, LowerBound(2.5, "spectral", True, 1.0, 0.1))
    assert certificate.ratio == pytest.approx(1.5, rel=1e-15)
    assert certificate.ratio > 1.5
    assert Certificate.of(3.0, math.inf, LowerBound(2.5, "spectral", True, 1.0, 0.1)).ratio == (
        math.inf
    )


def test_a_sampled_bound_above_the_inertia_proves_nothing() -> None:
    """Unlucky draws give no error and no claim."""
    unlucky = Certificate.of(3.0, 1e-15, LowerBound(3.1, "sampled", False, 0.99, 0.1))
    assert math.isinf(unlucky.ratio)
    assert unlucky.lower_bound == 0
    assert "nothing is proven about the inertia (sampled: the draws were unl" in unlucky.describe()


def test_an_inertia_of_zero_is_told_only_of_equal_rows() -> None:
    """A far value, or a tiny unit, does not make the inertia 0, the best possible."""
    X = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    X[7, 1] = 9.97e36
    labels = (np.arange(200) == 7).astype(int)
    far = certify(X, labels, random_state=0)
    assert 0 < far.inertia < 1000
    assert "nothing is proven" in far.describe() or far.ratio > 1
    tiny = certify(np.random.default_rng(0).normal(size=(20, 3)) * 1e-170, np.arange(20) % 2)
    assert math.isinf(tiny.ratio)
    assert tiny.describe().startswith("the inertia is too small for float64, so nothing is proven")
    equal = certify(np.repeat(X[:2], 5, axis=0), np.repeat([0, 1], 5))
    assert (equal.ratio, equal.describe()) == (1.0, "inertia is 0, the best possible")


def test_digits_are_certified() -> None:
    """On scikit-learn's digits the semidefinite bound gives a ratio below 1.03, in parts."""
    X = load_digits().data
    model = ProjectedKMeans(10, projection=None, random_state=0).fit(X)
    certificate = certify(X, model.labels_)
    assert (certificate.certain, certificate.method) == (True, "semidefinite")
    assert 1 < certificate.deal_ratio < certificate.ratio < 1.03
    assert certificate.describe().endswith("proven for all 1,797 rows (semidefinite bound)")


def test_a_bound_of_zero_proves_nothing() -> None:
    """A bound of 0 gives an infinite ratio, and a sentence that says so."""
    nothing = Certificate.of(3.0, 1e-15, LowerBound(0.0, "spectral", True, 1.0, 0.1))
    assert math.isinf(nothing.ratio)
    assert "nothing is proven" in nothing.describe()


def test_the_sentence_names_the_probability() -> None:
    """The sentence of a sampled bound says with which probability it holds."""
    sampled = Certificate.of(3.0, 1e-15, LowerBound(2.0, "sampled", False, 0.95, 0.1))
    assert sampled.describe() == (
        "with a probability of 95 %, no clustering into as many groups can be more than 34 % "
        "better (sampled bound)"
    )


@pytest.mark.parametrize(
    ("ratio", "sentence"),
    [
        (
            1.0071,
            "no clustering into 10 groups can be more than 0.71 % better; proven for all",
        ),
        (1.2, "no clustering into 10 groups can be more than 17 % better; proven for all 1,797"),
        (2.419, "no clustering into 10 groups can be more than 2.42 times better; proven for all"),
        (1.00001, "no clustering into 10 groups can be more than 0.001 % better; proven for all"),
        (1 + 1e-7, "proven optimal for all 1,797 rows: no clustering into 10 groups can be better"),
    ],
)
def test_the_sentence_rounds_up(ratio: float, sentence: str) -> None:
    """The sentence names groups and rows, and claims no more than the ratio proves."""
    sizes = {"n_rows": 1797, "n_clusters": 10}
    proof = Certificate(ratio, 1.0, ratio, "semidefinite", True, 1.0, 0.5, **sizes)
    assert proof.describe().startswith(sentence)
    assert proof.describe().endswith("(semidefinite bound)")


def test_a_certificate_names_how_it_was_proven() -> None:
    """Part size, the deal's gap and better labels come from the bound; no labels are stored."""
    labels = np.array([0, 1], np.int32)
    bound = LowerBound(
        2.0,
        "semidefinite",
        True,
        1.0,
        0.1,
        part_rows=600,
        deal_ratio=1.001,
        n_rows=5000,
        n_clusters=2,
        better_labels=labels,
    )
    proof = Certificate.of(3.0, 1e-15, bound)
    assert (proof.part_rows, proof.deal_ratio) == (600, 1.001)
    assert (proof.n_rows, proof.n_clusters) == (5000, 2)
    assert proof.better_labels is labels
    document = proof.to_document()
    assert "better_labels" not in document
    assert Certificate.from_document(json.loads(json.dumps(document))) == proof


def test_a_trace_leads_to_the_bound() -> None:
    """The trace of a proof rises in time up to the lower bound, and survives a file."""
    X = draw_instance(4, 40, 2, "normal")
    proof = certify(X, np.arange(40) % 4)
    seconds, bounds = zip(*proof.trace, strict=True)
    assert len(set(bounds)) == len(bounds) > 1
    assert list(bounds) == sorted(bounds)
    assert list(seconds) == sorted(seconds)
    assert bounds[-1] == proof.lower_bound
    assert seconds[0] > 0
    assert seconds[-1] < proof.seconds
    stored = Certificate.from_document(json.loads(json.dumps(proof.to_document())))
    assert stored.trace == proof.trace
    assert stored == replace(proof, trace=())


def test_a_sampled_bound_is_not_in_the_trace() -> None:
    """The trace has certain bounds alone, and a certificate of a sample is read with it."""
    bound = LowerBound(2.0, "sampled", False, 0.99, 0.1, trace=((0.1, 1.5),))
    proof = Certificate.of(3.0, 1e-15, bound)
    assert Certificate.from_document(proof.to_document()).trace == ((0.1, 1.5),)


def test_certificates_of_the_first_version_can_be_read() -> None:
    """A document without the fields that were added later has their defaults."""
    added = ("part_rows", "deal_ratio", "n_rows", "n_clusters", "trace", "sentence")
    old = {name: value for name, value in PROOF.items() if name not in added}
    proof = Certificate.from_document(old)
    assert (proof.part_rows, proof.deal_ratio, proof.better_labels) == (0, 1.0, None)
    assert proof.trace == ()
    assert proof.describe().startswith("no clustering into as many groups can be more than 16 %")


def test_better_labels_are_better() -> None:
    """From labels that can be improved, certify offers labels with a smaller inertia."""
    X = draw_instance(5, 40, 2, "normal")
    labels = np.arange(40) % 3
    proof = certify(X, labels)
    assert proof.better_labels is not None
    improved = certify(X, proof.better_labels)
    assert improved.inertia < proof.inertia
    assert improved.inertia >= proof.lower_bound


def test_an_estimator_certifies_its_fit() -> None:
    """With certificate="auto" a fit has a certificate; by default, or if stopped, it has none."""
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


def test_a_certificate_without_time_says_why_nothing_is_proven() -> None:
    """A certificate that has no time names the reason."""
    labels = ProjectedKMeans(3, random_state=0).fit(ROWS).labels_
    nothing = certify(ROWS, labels, method="full", time_limit=0)
    assert np.isinf(nothing.ratio)
    assert set(nothing.skipped) == {"spectral", "neighbour", "semidefinite"}
    assert "spectral: the time was over before the rows were centred" in nothing.describe()


def test_the_time_budget_bounds_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that is cut short keeps what is proven by then, and the fit says why it ended."""
    over = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + over[0])
    monkeypatch.setattr(monitor, "time", clock)

    def spend(state: FitState) -> None:
        over[0] = 1e6 if state.step == "certify" else 0.0

    options = {"certificate": "full", "time_budget": 1e5, "random_state": 0}
    short = ProjectedKMeans(3, callback=spend, **options).fit(ROWS)
    assert short.stopped_ == "time"
    assert any("the time was over" in why for why in short.certificate_.skipped.values())
    over[0] = 0.0
    enough = ProjectedKMeans(3, **options).fit(ROWS)
    assert enough.stopped_ == "converged"
    assert enough.certificate_.ratio < 1.2
    assert enough.certificate_.lower_bound >= short.certificate_.lower_bound


@pytest.mark.parametrize("seconds", [None, 0])
def test_certificates_are_kept_with_the_model(tmp_path: Path, seconds: float | None) -> None:
    """A loaded model has the certificate of the fit, also if its ratio is infinite."""
    model = ProjectedKMeans(3, random_state=0).fit(ROWS)
    model.certificate_ = certify(ROWS, model.labels_, time_limit=seconds)
    save_fit(model, describe_fit(model, ROWS, name="rows"), tmp_path)
    assert load_model(tmp_path).certificate_ == model.certificate_
    stored = json.loads((tmp_path / "result.json").read_text())["results"]["certificate"]
    assert stored["sentence"] == model.certificate_.describe()
    assert Certificate.from_document(stored) == model.certificate_


PROOF = Certificate(118.0, 100.0, 1.18, "neighbour", True, 1.0, 0.5).to_document()
WRONG_DOCUMENTS: list[Any] = [
    [],
    {"ratio": 1.0},
    PROOF | {"method": 3},
    PROOF | {"certain": 1},
    PROOF | {"inertia": True},
    PROOF | {"ratio": "1"},
    PROOF | {"skipped": {"spectral": 3}},
    PROOF | {"ratio": 0.5},
    PROOF | {"ratio": 10**400},
    PROOF | {"inertia": -1.0},
    PROOF | {"inertia": math.inf},
    PROOF | {"lower_bound": math.nan},
    PROOF | {"confidence": 1.5},
    PROOF | {"seconds": -1.0},
    PROOF | {"deal_ratio": 0.5},
    PROOF | {"part_rows": -1},
    PROOF | {"n_rows": 1.5},
    PROOF | {"trace": None},
    PROOF | {"trace": [[0.1, 5.0, 3.0]]},
    PROOF | {"trace": [[0.1, "5"]]},
    PROOF | {"trace": [[-0.1, 5.0]]},
    PROOF | {"trace": [[0.1, -5.0]]},
    PROOF | {"trace": [[0.1, math.nan]]},
    PROOF | {"trace": [[math.inf, 5.0]]},
    PROOF | {"trace": [[0.2, 5.0], [0.1, 6.0]]},
    PROOF | {"trace": [[0.1, 5.0], [0.2, 4.0]]},
    PROOF | {"trace": [[0.1, 100.5]]},
    PROOF | {"trace": [[0.1, 5.0]] * 101},
    {name: value for name, value in PROOF.items() if name != "ratio"},
]


def test_a_huge_ratio_can_be_told() -> None:
    """A ratio near the end of float64 is a sentence, too."""
    proof = Certificate(1e300, 1e-7, 1e307, "spectral", True, 1.0, 0.5)
    assert "can be more than 1e+307 times better" in proof.describe()


@pytest.mark.parametrize("document", WRONG_DOCUMENTS)
def test_a_damaged_certificate_is_refused(document: Any) -> None:
    """A document with a wrong or missing field gives one sentence."""
    with pytest.raises(ValueError, match=r"^the certificate is damaged .*; certify again$"):
        Certificate.from_document(document)


@pytest.mark.parametrize("wrong", [[], {"ratio": 1.0}, PROOF | {"certain": 1}])
def test_a_model_with_a_damaged_certificate_is_refused(tmp_path: Path, wrong: Any) -> None:
    """Loading a model whose certificate is damaged gives one sentence."""
    model = ProjectedKMeans(3, certificate="auto", random_state=0).fit(ROWS)
    save_fit(model, describe_fit(model, ROWS, name="rows"), tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    document["certificate"] = wrong
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="bad certificate"):
        load_model(tmp_path)

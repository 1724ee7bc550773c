"""Certificates within a time: work stops in the middle, and what was proven before counts."""

from __future__ import annotations

import itertools
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from projected_kmeans import Certificate, ProjectedKMeans, kmeans_lower_bound
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.neighbour_bound import Neighbours, measure_neighbours
from projected_kmeans.certificates.sparse_proof_rows import SparseProofRows
from projected_kmeans.certificates.spectral_bound import TIMED_SIZE, predict_seconds, spectral_bound
from projected_kmeans.certificates.tightened_bound import tighten
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.model_files import load_model, save_fit
from projected_kmeans.running.deadlines import Deadline, OutOfTime
from projected_kmeans.running.monitor import Monitor
from tests.support.commands import ROWS, Call, check_refusal


class Patience:
    """A check that ends the work when it has been asked so many times."""

    def __init__(self, n_checks: float) -> None:
        self.left = n_checks

    def __call__(self) -> None:
        """Count, and raise at the end."""
        self.left -= 1
        if self.left < 0:
            raise OutOfTime


def draw_rows() -> DenseProofRows:
    """Return rows of no structure."""
    return DenseProofRows(np.random.default_rng(0).normal(size=(700, 4)))


def open_neighbours(patience: Patience) -> Neighbours:
    """Return distances that were measured without haste, to be searched with some patience."""
    measured = measure_neighbours(draw_rows(), 5)
    return Neighbours(measured.costs, measured.weights, 5, patience)


def open_rows(kind: str, X: Any, patience: Patience) -> DenseProofRows | SparseProofRows:
    """Return rows that were prepared without haste, to be walked over with some patience."""
    pause = Patience(np.inf)
    rows = (
        DenseProofRows(X, None, pause)
        if kind == "dense"
        else SparseProofRows(csr_array(X), None, pause)
    )
    pause.left = patience.left
    return rows


@pytest.mark.parametrize(("kind", "n_checks"), [("dense", 3), ("sparse", 2)])
def test_distances_stop_between_stretches(kind: str, n_checks: int) -> None:
    """700 rows are two stretches, and one block where they are dense: a check for each."""
    X = np.random.default_rng(0).normal(size=(700, 4))
    for short in range(n_checks):
        with pytest.raises(OutOfTime):
            measure_neighbours(open_rows(kind, X, Patience(short)), 5)
    assert measure_neighbours(open_rows(kind, X, Patience(n_checks)), 5).costs.shape == (700, 700)


def test_rows_are_not_even_centred_without_time() -> None:
    """The walks that find range, mean and norms are left between blocks as well."""
    X = np.random.default_rng(0).normal(size=(700, 4))
    for short in range(4):
        with pytest.raises(OutOfTime):
            DenseProofRows(X, None, Patience(short))
    DenseProofRows(X, None, Patience(4))
    with pytest.raises(OutOfTime):
        SparseProofRows(csr_array(X), None, Patience(0))


def test_a_search_that_is_cut_short_is_a_proof() -> None:
    """The more of the search is done, the better the bound; none exceeds that of the whole."""
    whole = open_neighbours(Patience(np.inf))
    squares = draw_rows().squares
    first = whole.start(squares)
    best = whole.prove(whole.maximise(first))
    pieces = len(whole._pieces())
    values = []
    for n_solved in (0.5, 3, 6):
        some = open_neighbours(Patience(n_solved * pieces))
        values.append(some.prove(some.maximise(first)))
    assert values == sorted(values)
    assert values[0] < values[-1]
    assert all(value <= best * (1 + 1e-12) for value in values)


def test_tightening_stops_in_the_middle_of_a_step() -> None:
    """What the steps before have proven is kept."""
    whole = open_neighbours(Patience(np.inf))
    start = whole.maximise(whole.start(draw_rows().squares))
    pieces = len(whole._pieces())
    some = open_neighbours(Patience(40.5 * pieces))
    found = tighten(some, start, 50, lambda: False)
    assert whole.prove(start) < found <= tighten(whole, start, 50, lambda: False)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shape", [(600, 1200), (1200, 600)])
def test_gram_matrices_stop_between_stretches(kind: str, shape: tuple[int, int]) -> None:
    """With time for one block and no more there is no matrix; with enough there is a bound."""
    X = np.random.default_rng(0).normal(size=shape)
    with pytest.raises(OutOfTime):
        spectral_bound(open_rows(kind, X, Patience(0)), 3)
    if kind == "sparse" or shape[0] < shape[1]:
        with pytest.raises(OutOfTime):
            spectral_bound(open_rows(kind, X, Patience(1)), 3)
    assert spectral_bound(open_rows(kind, X, Patience(3)), 3) > 0


def test_eigenvalues_that_take_too_long_are_not_begun(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the prediction exceeds the time left, the bound is skipped, and the log says why."""
    monkeypatch.setattr("projected_kmeans.certificates.prover.predict_seconds", lambda size: 1e6)
    with caplog.at_level(logging.DEBUG, logger="projected_kmeans"):
        bound = kmeans_lower_bound(ROWS, 3, time_limit=1000)
    assert "spectral" not in bound.values
    assert bound.skipped["spectral"].startswith("eigenvalues take about 1e+06 s, of 1e+03 s left")
    assert bound.method in ("neighbour", "tightened")
    assert "spectral bound skipped or cut short: eigenvalues take" in caplog.text
    assert "spectral" in kmeans_lower_bound(ROWS, 3).values


def test_predictions_grow_with_the_cube(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the matrix that is timed takes a second, one ten times as large takes a thousand."""
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    assert predict_seconds(TIMED_SIZE // 2) == predict_seconds(TIMED_SIZE) == 1
    assert predict_seconds(10 * TIMED_SIZE) == pytest.approx(1000)


def test_deadlines_ask_others_too() -> None:
    """A monitor's wish to stop ends the work within a step, its budget as well as a callback."""
    log = Monitor(None, 0, time_budget=0.0)
    deadline = Deadline(None, log.is_over)
    assert deadline.seconds_left == np.inf
    with pytest.raises(OutOfTime):
        deadline.check()
    assert log.stopped == "time"
    assert not Deadline(1e6, Monitor(None, 0).is_over).is_over


def test_no_time_is_told_by_the_certificate() -> None:
    """A fit whose certificate has no time is whole, and says that nothing is proven, and why."""
    model = ProjectedKMeans(3, certificate="full", certificate_time=0, random_state=0).fit(ROWS)
    assert model.stopped_ == "converged"
    assert np.isinf(model.certificate_.ratio)
    assert set(model.certificate_.skipped) == {"spectral", "neighbour"}
    assert (
        "spectral: the time was over before the rows were centred" in model.certificate_.describe()
    )
    enough = ProjectedKMeans(3, certificate="full", certificate_time=1e6, random_state=0).fit(ROWS)
    assert enough.certificate_.ratio < 1.2
    with pytest.raises(ValueError, match=r"certificate_time=-1 is out of range"):
        ProjectedKMeans(3, certificate_time=-1).fit(ROWS)


@pytest.mark.parametrize("seconds", [None, 0])
def test_certificates_are_kept_with_the_model(tmp_path: Path, seconds: float | None) -> None:
    """A model that is saved and loaded has the certificate of the fit, an infinite ratio too."""
    model = ProjectedKMeans(3, certificate="auto", certificate_time=seconds, random_state=0).fit(
        ROWS
    )
    save_fit(model, describe_fit(model, ROWS, name="rows"), tmp_path)
    assert load_model(tmp_path).certificate_ == model.certificate_
    stored = json.loads((tmp_path / "result.json").read_text())["results"]["certificate"]
    assert stored["sentence"] == model.certificate_.describe()
    assert Certificate.from_document(stored) == model.certificate_


@pytest.mark.parametrize(
    "wrong", [[], {"ratio": 1.0}, {"method": 3}, {"certain": 1}, {"inertia": True}]
)
def test_bad_certificates_are_refused(tmp_path: Path, wrong: Any) -> None:
    """A stored certificate with a wrong or missing field is one sentence."""
    model = ProjectedKMeans(3, certificate="auto", random_state=0).fit(ROWS)
    save_fit(model, describe_fit(model, ROWS, name="rows"), tmp_path)
    document = json.loads((tmp_path / "model.json").read_text())
    partial = isinstance(wrong, dict) and len(wrong) == 1 and "ratio" not in wrong
    document["certificate"] = document["certificate"] | wrong if partial else wrong
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="bad certificate"):
        load_model(tmp_path)


def test_the_command_line_certifies_a_fit(call: Call, data: Path, tmp_path: Path) -> None:
    """--certificate adds the sentence to the summary and the proof to the files; none does not."""
    run = call("fit", data, "-k", 3, "--certificate", "auto", "--out", tmp_path / "out")
    assert (run.code, run.err) == (0, "")
    stored = json.loads((tmp_path / "out" / "result.json").read_text())
    certificate = stored["results"]["certificate"]
    assert f"certificate    {certificate['sentence']}" in run.out
    assert certificate["certain"] is True
    assert certificate["method"] in ("neighbour", "tightened")
    assert stored["parameters"]["certificate"] == "auto"
    assert "certify" in stored["seconds"]
    short = call("fit", data, "-k", 3, "--certificate", "full", "--certificate-time", 0, "--json")
    told = json.loads(short.out)["results"]["certificate"]
    assert (told["ratio"], told["method"]) == (None, "none")
    plain = call("fit", data, "-k", 3, "--certificate", "none")
    assert "certificate" not in plain.out
    check_refusal(call("fit", data, "-k", 3, "--certificate-time", -1), "certificate_time=-1.0")

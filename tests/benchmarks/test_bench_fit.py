"""Whole fits are measured, stored, judged and drawn as the page says; no time is judged."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import bench_fit
import data_sets
import fit_chart
import fit_goals
import fit_tables
import measured_fit
import numpy as np
import peers
import pytest
import render
import scipy.sparse
from fit_systems import DEFAULT, FAISS, OURS, SKLEARN, SUPERKMEANS, SYSTEMS

from projected_kmeans import ProjectedKMeans, normalized_inertia

ABSENT = peers.load_peers()
MIXTURE = data_sets.make_mixture(1, n=400, d=128)
TEXTS = data_sets.make_texts(1, n=300, d=3000)
STAMP = {
    "machine": {
        "processor": "a processor",
        "threads": 1,
        "instruction_set": "portable",
        "python": "3",
        "versions": {"numpy": "2"},
    },
    "parameters": {"limit": 300.0, "long": 10.0},
    "source": "1",
}


def make_row(system: str, seconds: float, inertia: float, **more: Any) -> dict[str, Any]:
    """Return a stored row of a system's main effort."""
    return {
        "system": system,
        "effort": SYSTEMS[system].main,
        "seconds": seconds,
        "foreign": 0.0,
        "normalized_inertia": inertia,
        "extra_bytes": 8_000,
        "n_components": 10,
        **more,
    }


def make_entry(*rows: dict[str, Any], k: int = 10, **more: Any) -> dict[str, Any]:
    """Return a stored data set."""
    return {
        "title": "Rows",
        "k": k,
        "n": 100,
        "d": 784,
        "sparse": False,
        "rows": list(rows),
        "left_out": ["somebody, default: did not end within 300 s."],
        **STAMP,
        **more,
    }


@pytest.mark.parametrize("rows", [MIXTURE, TEXTS], ids=["dense", "CSR"])
def test_the_judge_measures_distances_to_means(rows: Any) -> None:
    """F~ of labels is that of distances to means, one by one, and that of the library."""
    labels = np.random.default_rng(0).choice([0, 1, 3], rows.shape[0])
    full = (rows.toarray() if scipy.sparse.issparse(rows) else rows).astype(float)
    inertia = sum(((full[labels == j] - full[labels == j].mean(0)) ** 2).sum() for j in (0, 1, 3))
    found = data_sets.measure_partition(rows, labels)
    np.testing.assert_allclose(found, inertia / (full**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(found, normalized_inertia(full, labels), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "effort"), [(name, effort) for name in SYSTEMS for effort in SYSTEMS[name].efforts]
)
def test_systems_partition_all_rows(name: str, effort: str) -> None:
    """Every system with every effort labels every row of what it takes."""
    system = SYSTEMS[name]
    if system.package in ABSENT:
        pytest.skip(ABSENT[system.package])
    rows = MIXTURE if system.dense else TEXTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few iterations did not converge
        fitted = system.fit(rows, 5, system.efforts[effort], 1)
    assert fitted.labels.shape == (rows.shape[0],)
    assert set(np.unique(fitted.labels)) <= set(range(5))
    assert data_sets.measure_partition(rows, fitted.labels) < 1


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != OURS])
def test_peers_take_the_sparse_rows_they_are_given(name: str) -> None:
    """A peer that is measured on CSR rows labels them."""
    system = SYSTEMS[name]
    if system.sparse:
        labels = system.fit(TEXTS, 5, system.efforts[system.main], 1).labels
        assert labels.shape == (TEXTS.shape[0],)


def test_made_rows_are_as_described() -> None:
    """Texts have 100 words and length 1, the mixture's rows have length 1 on the average."""
    assert (np.diff(TEXTS.indptr) == 100).all()
    assert (np.diff(TEXTS.indices.reshape(-1, 100), axis=1) > 0).all()
    np.testing.assert_allclose(TEXTS.multiply(TEXTS).sum(axis=1), 1, rtol=1e-5)
    assert abs((MIXTURE.astype(float) ** 2).sum(axis=1).mean() - 1) < 0.05


def test_words_that_differ_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first words that differ are kept, in ascending order; too few are an error."""
    monkeypatch.setattr(data_sets, "WORDS_A_TEXT", 3)
    drawn = np.array([[7, 7, 5, 7, 9, 1], [2, 1, 1, 1, 2, 0]])
    assert data_sets.keep_distinct(drawn).tolist() == [[5, 7, 9], [0, 1, 2]]
    with pytest.raises(ValueError, match="fewer than 3 different words"):
        data_sets.keep_distinct(np.array([[1, 1, 2, 2]]))


@pytest.mark.parametrize("rows", [MIXTURE, TEXTS], ids=["dense", "CSR"])
def test_rows_are_stored_and_loaded(
    rows: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process finds the rows that another made, which are made only once."""
    monkeypatch.setattr(data_sets, "SOURCES", {"made": lambda shrink: rows})
    path = data_sets.store_rows("made", tmp_path)
    monkeypatch.setattr(data_sets, "SOURCES", {})
    loaded = data_sets.load_rows(data_sets.store_rows("made", tmp_path))
    assert path.parent == tmp_path
    assert abs(loaded - rows).max() == 0


def task_on(folder: Path, **more: Any) -> measured_fit.Task:
    """Return a task on the mixture, stored in a folder."""
    np.save(folder / "rows.npy", MIXTURE)
    wanted = {"n_clusters": 5, "system": OURS, "effort": DEFAULT, "n_threads": 1, "limit": 60.0}
    return measured_fit.Task(str(folder / "rows.npy"), **{**wanted, **more})


def test_a_fit_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What another process measures is the F~ of the same fit here."""
    found = measured_fit.run_apart(task_on(tmp_path), tmp_path)
    model = ProjectedKMeans(5, random_state=0).fit(MIXTURE)
    np.testing.assert_allclose(found["normalized_inertia"], model.normalized_inertia_, rtol=1e-9)
    assert found["n_components"] == model.n_components_
    assert found["seconds"] > 0
    assert found["foreign"] >= 0
    assert found["extra_bytes"] is None or found["extra_bytes"] >= 0


def test_a_fit_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """The limit ends the process, and the reason says so."""
    with pytest.raises(measured_fit.TooLong, match=r"did not end within 1e-05 s"):
        measured_fit.run_apart(task_on(tmp_path, limit=1e-5), tmp_path)


def test_a_fit_that_fails_is_a_reason(tmp_path: Path) -> None:
    """What a system raises is told in its own words, without folders of this machine."""
    with pytest.raises(measured_fit.NotMeasured, match="raised ValueError: n_clusters=500 exceeds"):
        measured_fit.run_apart(task_on(tmp_path, n_clusters=500), tmp_path)
    assert measured_fit.shorten("no file /home/me/rows.npy.\nmore") == "no file rows.npy"


def test_rounds_and_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Systems take turns; a long fit has one; more of an effort that took too long has none."""
    seconds = {"1": iter([3.0, 2.0]), "2": iter([20.0])}
    asked = []

    def run(task: measured_fit.Task, folder: Path) -> dict[str, Any]:
        asked.append((task.system, task.effort))
        if task.system == "slow":
            raise measured_fit.TooLong("did not end within 1 s")
        if task.system == "broken":
            raise measured_fit.NotMeasured("raised it")
        return make_row(OURS, next(seconds[task.effort]), 0.5)

    monkeypatch.setattr(bench_fit, "run_apart", run)
    names = ("good", "slow", "broken")
    measures = [(name, effort) for name in names for effort in "12"]
    found = bench_fit.measure_data_set(Path("x"), 5, measures, bench_fit.Plan(), tmp_path)
    assert [row["seconds"] for row in found["rows"]] == [2.0, 20.0]
    assert [row["runs"] for row in found["rows"]] == [2, 1]
    assert found["left_out"] == [
        "slow, 1: did not end within 1 s.",
        "slow, 2: left out, as less of an effort took too long.",
        "broken, 1: raised it.",
        "broken, 2: raised it.",
    ]
    assert asked.count(("slow", "2")) == 0
    assert asked.count(("broken", "1")) == 1


def test_a_disturbed_fit_runs_again() -> None:
    """While others were busy each time there are more rounds; a run without them is preferred."""
    plan = bench_fit.Plan(rounds=1)
    loud, calm = make_row(OURS, 1.0, 0.5, foreign=1.0), make_row(OURS, 2.0, 0.5)
    assert bench_fit.wants_run([loud], 1, plan)
    assert not bench_fit.wants_run([loud, calm], 2, plan)
    assert bench_fit.keep_best((OURS, DEFAULT), [loud, calm])["seconds"] == 2.0
    assert not measured_fit.is_disturbed({"seconds": 0.01, "foreign": 1.0})


def test_a_stopped_run_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is stored is not measured again, unless the package changed or it is asked for."""
    asked = []

    def bench(data_set: data_sets.DataSet, *_: Any) -> dict[str, Any]:
        asked.append(data_set.source)
        return make_entry(make_row(OURS, 1.0, 0.5))

    monkeypatch.setattr(bench_fit, "bench_data_set", bench)
    monkeypatch.setattr(bench_fit, "load_peers", dict)
    for arguments in (["--only", "orl"], ["--only", "orl", "--only", "mixture"], ["--anew"]):
        bench_fit.main([*arguments, "--out", str(tmp_path)])
    sources = [data_set.source for data_set in data_sets.DATA_SETS.values()]
    assert asked == ["orl", "mixture", *sources]
    assert list(bench_fit.read_stored(tmp_path)["data_sets"]) == list(data_sets.DATA_SETS)
    monkeypatch.setattr(bench_fit, "hash_source", lambda: "another")
    bench_fit.main(["--only", "orl", "--out", str(tmp_path)])
    assert asked[2 + len(sources) :] == ["orl"]


def test_a_quick_run_does_not_replace_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quick, or of some systems, is stored where it is asked to be only."""
    stored = []
    monkeypatch.setattr(bench_fit, "bench_data_set", lambda *_: make_entry())
    monkeypatch.setattr(bench_fit, "store_results", lambda *arguments: stored.append(arguments))
    bench_fit.main(["--quick", "--only", "orl"])
    bench_fit.main(["--system", OURS, "--only", "orl", "--anew"])
    assert stored == []


def test_a_quick_run(tmp_path: Path) -> None:
    """A quick run of two systems stores a row for each, with all that the page draws."""
    systems = ["--system", OURS, "--system", "MiniBatchKMeans"]
    options = ["--quick", "--only", "mixture", *systems, "--out", str(tmp_path), "--threads", "1"]
    bench_fit.main(options)
    entry = json.loads((tmp_path / "fit.json").read_text())["data_sets"]["mixture"]
    assert [row["system"] for row in entry["rows"]] == [OURS, "MiniBatchKMeans"]
    assert not entry["left_out"]
    assert "## Whole fits" in render.render_page(tmp_path)


def test_missing_data_are_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data set whose file is not here is named, with what to do."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    faces = data_sets.DATA_SETS["orl"]
    entry = bench_fit.bench_data_set(faces, {}, None, bench_fit.Plan(), tmp_path)
    assert entry["no_data"].startswith("ORL faces are left out: it needs ORL_64x64.mat; set PROJ")
    document = {"absent": [], "data_sets": {"orl": {**entry, **STAMP}}}
    assert entry["no_data"] in fit_tables.render_fits(document, str, "fit.svg")


@pytest.mark.parametrize(
    ("seconds", "inertia", "met"),
    [(1.0, 0.5, [True, True]), (1.01, 0.5, [False, False]), (1.0, 0.501, [False, True])],
)
def test_goals_for_few_clusters(seconds: float, inertia: float, met: list[bool]) -> None:
    """FAISS's F~ in a quarter of its time, scikit-learn's and 0.2 % in a twentieth."""
    entry = make_entry(
        make_row(OURS, seconds, inertia), make_row(FAISS, 4.0, 0.5), make_row(SKLEARN, 20.0, 0.5)
    )
    verdicts = list(fit_goals.check_goals(entry))
    assert [verdict.met for verdict in verdicts[:2]] == met
    assert verdicts[3].met


def test_goals_for_many_clusters() -> None:
    """The F~ of superkmeans in half of its time; a peer without a figure leaves the goal open."""
    ours = make_row(OURS, 1.0, 0.5)
    entry = make_entry(ours, make_row(SUPERKMEANS, 2.0, 0.5), k=1000)
    assert next(fit_goals.check_goals(entry)).met
    verdict = next(fit_goals.check_goals(make_entry(ours, k=1000)))
    assert verdict.met is None
    assert verdict.found == "no figure of superkmeans"


def test_goals_of_memory_and_quality() -> None:
    """Two sketches of memory at most; F~ within 1 % of the best effort of any peer."""
    peer = make_row(FAISS, 1.0, 0.5)
    good = make_entry(make_row(OURS, 1.0, 0.505), peer, sparse=True)
    assert [verdict.met for verdict in fit_goals.check_goals(good)] == [None, True, True]
    bad = make_entry(make_row(OURS, 1.0, 0.506, extra_bytes=8_004), peer, k=500)
    assert [verdict.met for verdict in fit_goals.check_goals(bad)] == [False, False]


def test_the_section_and_its_picture(tmp_path: Path) -> None:
    """Every data set has a table and a panel; the picture has the same bytes each time."""
    ours, peer = make_row(OURS, 1.0, 0.5), make_row(FAISS, 5.0, 0.51, extra_bytes=None)
    peer["foreign"] = 1.0
    document = {
        "absent": ["superkmeans cannot be imported here (no reason)."],
        "data_sets": {"a": make_entry(ours, peer), "b": make_entry(peer, k=20, source="2")},
    }
    page = fit_tables.render_fits(document, render.describe, "fit.svg")
    assert "| FAISS, 25 iterations | 5.00 | 0.51000 | 5.00 | 1.0200 |  |" in page
    assert "no figure of projected_kmeans" in page
    assert "did not end within 300 s" in page
    assert "so these times tell less: FAISS, 25 iterations." in page
    assert "different states of this package" in page
    assert "![F~ against seconds, a curve for each system](fit.svg)" in page
    pictures = []
    for name in ("one.svg", "two.svg"):
        fit_chart.draw_fits(document, tmp_path / name)
        pictures.append((tmp_path / name).read_text())
    assert pictures[0] == pictures[1]
    assert all(f"k = {k}" in pictures[0] for k in (10, 20))

"""The benchmark of whole fits: rounds, limits, and runs that were stopped."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench_fit
import data_sets
import fit_tables
import measured_fit
import pytest
import render
from fit_systems import DEFAULT, FAISS, OURS

from tests.support.benchmark_rows import MIXTURE
from tests.support.stored_fits import STAMP, make_entry, make_row


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


def test_main_efforts_have_a_limit_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other efforts end earlier, and the main effort runs although a smaller one took too long."""
    asked = []

    def run(task: measured_fit.Task, folder: Path) -> dict[str, Any]:
        asked.append((task.effort, task.limit))
        raise measured_fit.TooLong(f"did not end within {task.limit:g} s")

    monkeypatch.setattr(bench_fit, "run_apart", run)
    plan = bench_fit.Plan(rounds=1, limit=60.0, effort_limit=10.0)
    measures = [(FAISS, f"{n} iterations") for n in (2, 5, 25)]
    found = bench_fit.measure_data_set(Path("x"), 5, measures, plan, tmp_path)
    assert asked == [("2 iterations", 10.0), ("25 iterations", 60.0)]
    assert found["left_out"][1] == (
        "FAISS, 5 iterations: left out, as less of an effort took too long."
    )
    text = fit_tables.describe_method(asdict(plan))
    assert "within 60 s (10 s for efforts that no goal compares) is left out" in text
    assert "the best of one round of up to three runs" in text


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


def test_a_quick_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A quick run of two systems stores a row for each, with all that the page draws."""
    monkeypatch.setattr(data_sets, "SOURCES", {"mixture": lambda shrink: MIXTURE})
    systems = ["--system", OURS, "--system", "MiniBatchKMeans"]
    options = ["--quick", "--only", "mixture", *systems, "--out", str(tmp_path), "--threads", "1"]
    bench_fit.main(options)
    entry = json.loads((tmp_path / "fit.json").read_text())["data_sets"]["mixture"]
    assert [row["system"] for row in entry["rows"]] == [OURS, "MiniBatchKMeans"]
    assert not entry["left_out"]
    assert entry["measured"]["command"].endswith(" --threads 1")
    assert "## Whole fits" in render.render_page(tmp_path)


def test_missing_data_are_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data set whose file is not here is named, with what to do."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    faces = data_sets.DATA_SETS["orl"]
    entry = bench_fit.bench_data_set(faces, {}, None, bench_fit.Plan(), tmp_path)
    assert entry["no_data"].startswith("ORL faces are left out: it needs ORL_64x64.mat; set PROJ")
    document = {"absent": [], "data_sets": {"orl": {**entry, **STAMP}}}
    assert entry["no_data"] in fit_tables.render_fits(document, str, "fit.svg")

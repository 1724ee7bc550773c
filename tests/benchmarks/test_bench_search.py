"""The benchmark of the default search: turns of builds and peers, goals, and the page."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_search as bench
import numpy as np
import pytest
import render
import scipy.sparse
import search_goals as goals
import search_tables
import search_works
from fit_server import FitServer, Request

from projected_kmeans import inertia

TREE = search_works.LARGE_TREE
CHOSEN = (
    f"{search_works.PARETO[0]}, k = 8",
    "load_iris, k = 3",
    f"{TREE}, k = 1,000",
    f"{TREE}, k = 16,384",
)


@pytest.fixture
def few_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave some works of a quick run, which are smaller still and need no file."""
    works = tuple(work for work in search_works.WORKS if work.name in CHOSEN)
    monkeypatch.setattr(bench, "WORKS", works)
    monkeypatch.setattr(bench, "MEMORY_WORKS", CHOSEN[2:3])
    monkeypatch.setattr(bench, "QUICK_SHRINK", 400)


def read(folder: Path) -> dict[str, Any]:
    """Return what a run stored."""
    return dict(json.loads((folder / "search.json").read_text()))


@pytest.mark.usefixtures("few_works")
def test_a_quick_run_is_stored_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two equal builds have F = 1; a run without the other build keeps what is stored of it."""
    bench.main(["--quick", "--folder", str(tmp_path), "--before", sys.executable])
    first = read(tmp_path)
    assert [work["work"] for work in first["works"]] == list(CHOSEN)
    assert [work["F"] for work in first["works"]] == [1.0] * len(CHOSEN)
    assert all(work["T"] > 0 for work in first["works"])
    met = [goal["met"] for work in first["works"] for goal in work["goals"]]
    assert met.count(None) == 0
    (growth,) = (goal for goal in first["works"][3]["goals"] if goal["system"] == goals.NOW)
    assert growth["found"] > 0
    assert first["machine"]["threads"] == bench.N_THREADS
    assert first["machine"]["versions"]["scikit-learn"]
    (memory,) = first["memory"]
    assert memory["limit_bytes"] > 0
    bench.main(["--quick", "--folder", str(tmp_path), "--only", "iris"])
    second = read(tmp_path)
    assert len(second["fits"]) == len(first["fits"])
    before = [fit for fit in second["fits"] if fit["system"] == goals.BEFORE]
    assert {fit["build"]["version"] for fit in before} == {
        first["machine"]["versions"]["projected_kmeans"]
    }
    assert len(second["origins"]) == 2
    told = capsys.readouterr().out
    assert "The other build is left as stored" in told
    page = render.render_page(tmp_path)
    assert "## The default search" in page
    assert second["machine"]["processor"] in page
    for name in CHOSEN:
        assert f"| {name}" in page
    section = search_tables.render_search(second, render.describe(second))
    assert section in page
    assert section in told


@pytest.mark.usefixtures("few_works")
def test_nothing_is_stored_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A quick run writes no results of the project, and words that no fit has choose nothing."""
    monkeypatch.setattr(bench, "RESULTS", tmp_path / "own")
    bench.main(["--quick", "--only", "iris", "scikit"])
    bench.main(["--only", "of no name"])
    assert list(tmp_path.iterdir()) == []


def test_every_work_has_rows_and_systems() -> None:
    """Names are unique, rows have the shape of their name, and peers are known."""
    names = [work.name for work in search_works.WORKS]
    assert len(set(names)) == len(names)
    assert {work.rows for work in search_works.WORKS} == set(search_works.ROWS)
    assert set(search_works.MEMORY_WORKS) <= set(names)
    assert {work.group for work in search_works.WORKS} == set(search_tables.GROUPS)
    for work in search_works.WORKS:
        assert set(work.systems) - {goals.NOW, goals.BEFORE} <= set(bench.SYSTEMS)
    made = ("mixture", "noise", "tree", "t(2)", "lognormal", "half Pareto")
    for name, make in search_works.ROWS.items():
        if name.startswith(made):
            n, d = (int(part.replace(",", "")) for part in name.split(", gen")[0].split()[-3::2])
            rows = make(100)
            assert rows.shape == (n // 100, d)
            assert rows.dtype == np.float32


def test_rows_without_their_file_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence says which file or package is missing."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    monkeypatch.setattr(search_works, "FASHION", tmp_path / "absent.gz")
    for name in (search_works.EMBEDDINGS, search_works.FASHION_ROWS, "seeds", "ORL"):
        assert bench.make_rows(name, 1) is None
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4
    assert told[1].endswith("because it needs Debian's package dataset-fashion-mnist")


def test_inertia_of_dense_and_sparse_rows() -> None:
    """Both are the inertia of the labels."""
    rows = np.random.default_rng(0).random((60, 7)).astype(np.float32)
    labels = np.arange(60) % 4
    expected = pytest.approx(inertia(rows, labels), rel=1e-9)
    assert bench.measure_inertia(rows, labels, 4) == expected
    assert bench.measure_inertia(scipy.sparse.csr_matrix(rows), labels, 4) == expected


def test_a_process_that_ends_is_started_anew(tmp_path: Path) -> None:
    """A failure and a crash cost one result each; the build behind an interpreter is told."""
    rows = np.random.default_rng(0).normal(size=(200, 4))
    np.save(tmp_path / "rows.npy", rows)
    request = Request(
        "scikit-learn", str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy"), 3, 0
    )
    server = FitServer(sys.executable, 1)
    try:
        absent = replace(request, rows=str(tmp_path / "absent.npy"))
        assert server.fit(absent) == {"failure": "FileNotFoundError"}
        assert server.fit(request)["seconds"] > 0
        assert np.load(tmp_path / "labels.npy").shape == (200,)
        assert server._process is not None
        os.kill(server._process.pid, signal.SIGKILL)
        server._process.wait()
        assert server.fit(request) == {"failure": "ended by signal 9"}
        assert server.fit(request)["cpu_seconds"] > 0
        assert server.describe()["version"]
    finally:
        server.close()


def test_goals_compare_what_they_name() -> None:
    """Medians, the lowest, or the highest of keys are compared; a missing fit leaves it open."""
    own: dict[str, Any] = {"inertia": [4.0, 2.0, 3.0], "seconds": [1.0, 2.0, 9.0]}
    other: dict[str, Any] = {"inertia": [2.0, 4.0, 8.0], "seconds": [4.0, 4.0, 4.0]}
    found = [
        goals.compare(goals.Goal("inertia", "peer", 1.0, pick), own, other)
        for pick in ("median", "best", "highest")
    ]
    assert found == [0.75, 1.5, 0.5]
    assert goals.judge(goals.Goal("seconds", "peer", 0.5), own, other)["met"]
    assert not goals.judge(goals.Goal("inertia", None, 2.9), own, None)["met"]
    assert goals.judge(goals.Goal("inertia", "peer", 1.0), own, {"failure": "x"})["met"] is None
    assert goals.judge(goals.Goal("inertia", "peer", 1.0), None, other)["met"] is None
    told = goals.tell(goals.judge(goals.Goal("inertia", "peer", 1.0, "best"), own, other))
    assert told == "inertia / lowest peer 1.5 (at most 1: missed)"
    assert goals.limit_memory(1000, 10, 7, 4) == 1.5 * 16_000 + 64_000 + 3 * 560


def test_the_page_tells_losses_and_failures() -> None:
    """A goal that is missed stands beside one that is met, and failures have a sentence."""
    work = search_works.Work(
        "digits", "digits", 10, (*goals.compare_with_before(0.999, 1.0), *search_works.HALF_SUPER)
    )
    entry: dict[str, Any] = {"group": "digits", "work": work.name, "shape": [90, 2]}
    own = {"inertia": [10.0, 11.0, 12.0], "seconds": [1.0] * 3, "cpu_seconds": [2.0] * 3}
    slow = {**own, "seconds": [2.0] * 3}
    build = {"version": "0.1", "commit": "abc"}
    fits = [
        {**entry, **own, "system": goals.NOW},
        {**entry, **slow, "system": goals.BEFORE, "build": build},
        {**entry, "system": search_works.SUPERKMEANS, "failure": "ended by signal 11"},
    ]
    works = [bench.judge_work(work, {(fit["work"], fit["system"]): fit for fit in fits})]
    memory = {**entry, "n_components": 4, "extra_bytes": 5e6, "limit_bytes": 4e6, "met": False}
    page = search_tables.render_search({"works": works, "fits": fits, "memory": [memory]}, "*m*")
    assert page.startswith("## The default search\n\n*m*")
    assert "version 0.1 at abc (*before*)" in page
    assert "1 of 3 goals are met; 2 more lack a figure." in page
    assert "Missed: digits, k = 10 (inertia, memory)." in page
    line = "| digits, k = 10 | before | 11 | 10 to 12 | 2 | 2 to 2 | 2 |"
    assert f"{line} 1.00000 | 0.999, missed | 0.50 | 1, met |" in page
    assert "| digits, k = 10 | 4 | 5 | 4 | missed |" in page
    assert page.endswith("Not measured: superkmeans flat on digits, k = 10 (ended by signal 11).")

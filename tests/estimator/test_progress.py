"""What a fit reports while it runs: callback and log."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import FitState, ProjectedKMeans, open_rows
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.small_blocks import use_small_blocks


def collect(**options: Any) -> tuple[list[FitState], ProjectedKMeans]:
    """Return all states that a fit reports, and the model."""
    X, _ = draw_blobs(gap=0.2)
    states: list[FitState] = []
    model = ProjectedKMeans(5, random_state=0, callback=states.append, **options).fit(X)
    return states, model


def test_the_callback_sees_every_step_in_order() -> None:
    """Steps come in the order of the pipeline, and restarts one after the other."""
    states, model = collect(n_init=2, projection="sign")
    order = list(dict.fromkeys((state.step, state.restart) for state in states))
    assert order == [
        ("check", 0),
        ("reduce", 0),
        ("seed", 0),
        ("cluster", 0),
        ("seed", 1),
        ("cluster", 1),
        ("lift", 0),
        ("polish", 0),
    ]
    assert set(model.timings_) == {"check", "reduce", "seed", "cluster", "lift", "polish"}
    assert all(seconds >= 0 for seconds in model.timings_.values())


def test_the_callback_sees_every_unit_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step counts its units up to its total, passes one by one, in time that only grows."""
    use_small_blocks(monkeypatch, 200 * 8 * 40)
    states, _ = collect(n_init=2)
    seconds = [state.seconds for state in states]
    assert seconds == sorted(seconds)
    groups: dict[tuple[str, int], list[FitState]] = {}
    for state in states:
        groups.setdefault((state.step, state.restart), []).append(state)
    for (step, _), group in groups.items():
        done = [state.iteration for state in group]
        rows = step in ("check", "reduce", "lift")
        assert done == ([40, 80, 120, 150] if rows else list(range(1, len(group) + 1))), step
        assert all(state.iteration <= state.total for state in group)
        known = step in ("cluster", "lift", "polish")
        assert all((state.inertia is not None) == known for state in group[-1:])
        assert all(state.rate is not None and state.remaining is not None for state in group)
    assert groups["seed", 0][-1].iteration == groups["seed", 0][-1].total == 5
    assert groups["cluster", 0][0].total == 300


def test_inertia_falls_along_the_passes() -> None:
    """The inertia that the callback sees never rises within a step, and ends in inertia_."""
    states, model = collect(n_init=1, solver="hartigan", polish_iter=5)
    for step in ("cluster", "polish"):
        values = [state.inertia for state in states if state.step == step]
        assert values == sorted(values, reverse=True)
    assert states[-1].inertia == model.inertia_
    clustered = tuple(state.inertia for state in states if state.step == "cluster")
    assert clustered == model.history_


@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
def test_a_true_answer_stops_the_fit_anywhere(solver: str) -> None:
    """Wherever the callback asks to stop, the fit ends soon with a whole and consistent result."""
    X, _ = draw_blobs(n=60, d=40, k=3, gap=0.2)
    calls: list[FitState] = []

    def fit(stop: int) -> ProjectedKMeans:
        calls.clear()
        return ProjectedKMeans(
            3,
            random_state=0,
            n_init=2,
            solver=solver,
            max_iter=20,
            callback=lambda state: (calls.append(state), len(calls) == stop)[1],
        ).fit(X)

    fit(0)
    for stop in range(1, len(calls) + 1):
        assert_consistent(fit(stop), X)
        later = [state.step for state in calls[stop:]]
        assert later.count("cluster") <= 1
        assert later.count("polish") == 0


def test_an_answer_of_none_goes_on() -> None:
    """A callback that returns nothing changes nothing."""
    X, _ = draw_blobs(gap=0.2)
    _, watched = collect()
    assert_same_fit(watched, ProjectedKMeans(5, random_state=0).fit(X))


def test_an_error_in_the_callback_is_the_callers() -> None:
    """An exception of the callback reaches the caller, and no result is left."""
    X, _ = draw_blobs()

    def callback(state: FitState) -> None:
        raise KeyError("mine")

    model = ProjectedKMeans(5, callback=callback)
    with pytest.raises(KeyError, match="mine"):
        model.fit(X)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(("verbose", "level"), [(0, logging.DEBUG), (1, logging.INFO)])
def test_progress_is_logged(
    verbose: int, level: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that shows the logger "projected_kmeans" gets progress there and no lines."""
    X, _ = draw_blobs()
    with caplog.at_level(logging.DEBUG, logger="projected_kmeans"):
        ProjectedKMeans(5, random_state=0, verbose=verbose).fit(X)
    records = [record for record in caplog.records if record.name == "projected_kmeans"]
    assert records
    assert {record.levelno for record in records} == {level}
    assert any("lift" in record.getMessage() for record in records)
    assert capfd.readouterr() == ("", "")


def test_progress_is_printed_without_set_up(capfd: pytest.CaptureFixture[str]) -> None:
    """verbose=1 prints a line for each step, however many restarts; verbose=0 prints nothing."""
    X, _ = draw_blobs(gap=0.2)
    options = {"n_init": 6, "projection": "sign", "random_state": 0}
    loud = ProjectedKMeans(5, verbose=1, **options).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert [line.split()[0] for line in lines] == ["check", "reduce", "cluster", "lift", "polish"]
    assert lines[2].startswith("cluster  6 restarts, ")
    assert f"lowest inertia {loud.inertia_:.6g}" in lines[-1]
    assert_same_fit(loud, ProjectedKMeans(5, **options).fit(X))
    assert capfd.readouterr() == ("", "")


def test_what_reads_files_tells_how_fast(tmp_path: Path) -> None:
    """Bytes read a second are known where rows are stored, and only there."""
    X, _ = draw_blobs(gap=0.2)
    np.save(tmp_path / "rows.npy", X)
    for rows, known in ((X, False), (open_rows(tmp_path / "rows.npy"), True)):
        states: list[FitState] = []
        ProjectedKMeans(5, random_state=0, projection="sign", callback=states.append).fit(rows)
        reading = {state.step for state in states if state.read_rate is not None}
        assert reading == ({"reduce", "lift", "polish"} if known else set())

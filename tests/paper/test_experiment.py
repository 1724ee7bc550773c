"""Running experiments: results are stored, stopped runs continue, other parameters start anew."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.paper.experiment import (
    Experiment,
    Unit,
    identify,
    load_document,
    run_experiment,
    split_batches,
    time_work,
)


def plan(calls: list[str], *, key: int = 0, fail_at: str | None = None) -> Experiment:
    """Return an experiment of four units that notes which of them are measured."""

    def measure(name: str) -> Any:
        if name == fail_at:
            raise KeyboardInterrupt
        calls.append(name)
        return {"length": len(name)}

    units = [Unit(name, lambda name=name: measure(name)) for name in ("a", "bb", "ccc", "dddd")]
    return Experiment(
        "lengths",
        {"key": key},
        units,
        lambda found: {"total": sum(one["length"] for one in found.values())},
    )


def test_a_run_is_stored_with_what_it_depends_on(tmp_path: Path) -> None:
    """The document holds results and all that they depend on, and no other file stays."""
    document = run_experiment(plan([], key=7), tmp_path)
    assert document["results"] == {"total": 10}
    assert document["key"] == 7
    assert {"version", "versions", "machine", "parameters", "seconds"} <= set(document)
    stored = json.loads((tmp_path / "lengths.json").read_text())
    assert len(stored.pop("sha256")) == 64
    assert stored == document == load_document(tmp_path / "lengths.json")
    assert [file.name for file in tmp_path.iterdir()] == ["lengths.json"]


def test_a_run_is_stored_with_its_date_and_command(tmp_path: Path) -> None:
    """The document says when it was measured and how; both do not make it another experiment."""
    document = run_experiment(plan([]), tmp_path, command="projected-kmeans reproduce all")
    measured = document["measured"]
    assert measured.keys() == {"start", "end", "command", "load"}
    assert measured["command"] == "projected-kmeans reproduce all"
    assert measured["start"] <= measured["end"]
    assert run_experiment(plan([]), tmp_path, command="another") == document


def test_a_stopped_run_continues(tmp_path: Path) -> None:
    """Units that were finished before an interruption are not measured again."""
    calls: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_experiment(plan(calls, fail_at="ccc"), tmp_path)
    assert not (tmp_path / "lengths.json").exists()
    seen: list[tuple[str, int, int]] = []
    document = run_experiment(plan(calls), tmp_path, on_unit=lambda *state: seen.append(state))
    assert calls == ["a", "bb", "ccc", "dddd"]
    assert document["results"] == {"total": 10}
    assert seen == [("lengths", done, 4) for done in (1, 2, 3, 4)]


def test_a_fit_that_is_cut_short_is_not_stored(tmp_path: Path) -> None:
    """A Ctrl-C inside a fit ends the run; the fit does not pass for a whole one."""

    def press(state: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def measure() -> float:
        rows = np.arange(60.0).reshape(20, 3)
        return float(ProjectedKMeans(2, random_state=0, callback=press).fit(rows).inertia_)

    experiment = Experiment("fit", {"key": 0}, [Unit("one", measure)], dict)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, tmp_path)
    assert (tmp_path / "fit.partial.jsonl").read_text().count("\n") == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_torn_line_is_measured_again(tmp_path: Path) -> None:
    """A last line that was cut off while it was written counts as not measured."""
    calls: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_experiment(plan(calls, fail_at="ccc"), tmp_path)
    path = tmp_path / "lengths.partial.jsonl"
    path.write_text(path.read_text()[:-5])
    run_experiment(plan(calls), tmp_path)
    assert calls == ["a", "bb", "bb", "ccc", "dddd"]


@pytest.mark.parametrize("complete", [False, True])
def test_other_parameters_start_anew(complete: bool, tmp_path: Path) -> None:
    """Neither a stopped run nor a stored result with another key is taken up."""
    calls: list[str] = []
    if complete:
        run_experiment(plan([]), tmp_path)
    else:
        with pytest.raises(KeyboardInterrupt):
            run_experiment(plan([], fail_at="dddd"), tmp_path)
    document = run_experiment(plan(calls, key=1), tmp_path)
    assert calls == ["a", "bb", "ccc", "dddd"]
    assert document["key"] == 1


def test_a_stored_result_is_shown_unless_fresh(tmp_path: Path) -> None:
    """The same parameters give the stored document, and ``fresh`` measures again."""
    calls: list[str] = []
    first = run_experiment(plan(calls), tmp_path)
    assert run_experiment(plan(calls), tmp_path) == first
    assert len(calls) == 4
    run_experiment(plan(calls), tmp_path, fresh=True)
    assert len(calls) == 8


@pytest.mark.parametrize("content", ["{", "[" * 10**5, "[1]", '{"format": "x"}', "\ud800", ""])
def test_a_damaged_document_is_measured_again(content: str, tmp_path: Path) -> None:
    """A file that is no document of ours is replaced."""
    (tmp_path / "lengths.json").write_text(content, errors="surrogatepass")
    assert load_document(tmp_path / "lengths.json") is None
    assert run_experiment(plan([]), tmp_path)["results"] == {"total": 10}


def test_a_changed_document_is_measured_again(tmp_path: Path) -> None:
    """A result in which anything was changed, or that lacks a field, is not shown."""
    run_experiment(plan([]), tmp_path)
    path = tmp_path / "lengths.json"
    whole = json.loads(path.read_text())
    for changed in (
        {**whole, "results": {"total": 10**400}},
        {**whole, "seconds": None},
        {name: value for name, value in whole.items() if name != "results"},
        {name: value for name, value in whole.items() if name != "sha256"},
    ):
        path.write_text(json.dumps(changed))
        assert load_document(path) is None
        assert run_experiment(plan([]), tmp_path)["results"] == {"total": 10}


@pytest.mark.parametrize(
    "line", ["[]", "{}", "[" * 10**5, '{"unit": "ccc"}', '{"unit": [], "result": 1, "seconds": 1}']
)
def test_a_changed_unit_is_measured_again(line: str, tmp_path: Path) -> None:
    """Lines after the first one that was not written by a run count as not measured."""
    calls: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_experiment(plan(calls, fail_at="ccc"), tmp_path)
    with open(tmp_path / "lengths.partial.jsonl", "a") as lines:
        lines.write(f"{line}\n")
    assert run_experiment(plan(calls), tmp_path)["results"] == {"total": 10}
    assert calls == ["a", "bb", "ccc", "dddd"]


def test_identity_is_what_json_holds() -> None:
    """Tuples in parameters compare equal to the lists that JSON makes of them."""
    one = Experiment("x", {"key": 0, "sizes": (1, 2)}, [], lambda found: {})
    assert identify(one)["parameters"]["sizes"] == [1, 2]


def test_batches_are_consecutive_ranges() -> None:
    """Items are split into ranges of one size, of which the last may be shorter."""
    assert split_batches(range(10, 15), 2) == [range(10, 12), range(12, 14), range(14, 15)]


def test_work_is_timed_after_a_first_call() -> None:
    """The first call is not timed, and at least three others are."""
    calls: list[int] = []
    assert 0 <= time_work(lambda: calls.append(1)) < 1
    assert len(calls) == 1 + 3

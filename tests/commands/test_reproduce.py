"""The command ``reproduce``: every experiment by one command, in small sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from projected_kmeans.choices import EXPERIMENTS
from projected_kmeans.commands.reproduce import name_command
from projected_kmeans.paper import reproduction
from projected_kmeans.paper.experiment import Exhibit, Experiment, Unit
from projected_kmeans.paper.experiments import (
    beyond,
    figure1,
    mailman,
    optimum,
    table1,
    table2,
    theorem,
)
from projected_kmeans.paper.experiments.table2 import DIMENSIONS, METHODS, TABLE2
from projected_kmeans.paper.reproduction import EXHIBITS
from tests.support.commands import Call, check_refusal

# Sizes at which only the flow of a run is seen.
TINY: dict[str, Any] = {
    "table1": table1.Sizes(
        n_instances=6,
        unit_instances=3,
        n_gamma_instances=2,
        real=("iris",),
        n_real_draws=1,
        n=(30, 40, 50),
        d=(200, 300, 400),
        k=(2, 3, 4),
        middle=(40, 300, 3),
        reference=(50, 300, 5),
        least_seconds=0.0,
        repeats=1,
    ),
    "table2": table2.Sizes(n_draws=2, unit_draws=1, repeats=1),
    "figure1": figure1.Sizes((5, 20, 25, 50, 90, 275, 300), 2, 1),
    "mailman": mailman.Sizes((1, 10, 20), 64, 8, 0.0, 1),
    "theorem": theorem.Sizes(
        n_draws=4,
        unit_draws=2,
        ratios=(2, 12),
        n_instances=4,
        unit_instances=2,
        instance_dimensions=(2, 34),
        random_shape=(40, 260),
    ),
    "optimum": optimum.Sizes(("iris",), (5,), 1, 1, 3),
    "beyond": beyond.Sizes(("ORL",), (10, 50), 1, 1),
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exhibit]:
    """Make --quick quicker still; return the exhibits, of which a test may replace some."""
    changed = {name: replace(exhibit, quick=TINY[name]) for name, exhibit in EXHIBITS.items()}
    monkeypatch.setattr(reproduction, "EXHIBITS", changed)
    return changed


def refuse_faces(path: str | None) -> None:
    """Stand in for `find_faces` on a machine without the face images."""
    raise ValueError("the face images were not found; give them with --data")


def test_every_experiment_has_an_exhibit() -> None:
    """The names that the command offers are those of the exhibits."""
    assert list(EXPERIMENTS) == list(EXHIBITS)


@pytest.mark.usefixtures("tiny")
def test_all_with_a_page(call: Call, tmp_path: Path, find_data: Callable[[str], Path]) -> None:
    """All experiments run by one command, and a second run of Table 2 shows what is stored."""
    page = tmp_path / "docs" / "story.md"
    out = tmp_path / "out"
    flags = ["--quick", "--data", find_data("ORL_64x64.mat"), "--out", out]
    run = call("reproduce", "all", *flags, "--page", page)
    assert run.code == 0, run
    for name in EXPERIMENTS:
        assert EXHIBITS[name].title in run.out
        document = json.loads((page.parent / "story" / f"{name}.json").read_text())
        command = "projected-kmeans reproduce all --data ORL_64x64.mat --quick"
        assert document["measured"]["command"] == command
        written = {file.name for file in out.iterdir()}
        assert {f"{name}.{end}" for end in ("json", "md", "tex")} <= written
        for chart in EXHIBITS[name].chart(document):
            assert f"](figures/{chart.name}.png)" in page.read_text()
            assert (page.parent / "figures" / f"{chart.name}.png").exists()
            assert {f"{chart.name}.{end}" for end in ("png", "svg")} <= written
    before = (out / "table2.json").read_bytes()
    run = call("reproduce", "table2", *flags)
    assert run.code == 0, run
    assert run.out.splitlines()[-1] == "25 of 26 deterministic values match the paper"
    assert (out / "table2.json").read_bytes() == before
    check_table2(json.loads(before))


def check_table2(document: dict[str, Any]) -> None:
    """Assert that every pair stands beside the paper's, and meets it where it is deterministic."""
    rows = {(row["method"], row["t"]): row for row in document["results"]["rows"]}
    every = [(method, t) for method in METHODS for t in DIMENSIONS]
    assert set(rows) == set(every)
    printed = {(method, t): TABLE2[method][t] for method, t in every}
    assert {at: (row["paper_P"], row["paper_F"]) for at, row in rows.items()} == printed
    for at in ((method, t) for method in ("SVD", "LLE", "LS") for t in DIMENSIONS):
        assert (round(rows[at]["P"], 4), round(rows[at]["F"], 4)) == printed[at]
    assert rows["HD", 10]["P"] == 0.6225
    assert not rows["HD", 10]["paper_P_possible"]
    assert document["results"]["matches"] == {"matching": 25, "total": 26}


def test_a_stopped_command_continues(call: Call, tmp_path: Path, tiny: dict[str, Exhibit]) -> None:
    """After Ctrl-C the same command measures only the units that were missing."""
    measured: list[str] = []

    def measure(unit: Unit) -> Any:
        measured.append(unit.name)
        if len(measured) == 7:
            raise KeyboardInterrupt
        return unit.measure()

    def make(faces: object, **options: Any) -> Experiment:
        planned = table1.plan_table1(None, **options)
        units = [Unit(unit.name, partial(measure, unit)) for unit in planned.units]
        return replace(planned, units=units)

    tiny["table1"] = replace(tiny["table1"], plan=make)
    command = ("reproduce", "table1", "--quick", "--out", tmp_path)
    assert call(*command).code == 130
    lines = (tmp_path / "table1.partial.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 6  # the identity of the run, then the finished units
    assert call(*command).code == 0
    names = [unit.name for unit in table1.plan_table1(None, sizes=TINY["table1"]).units]
    assert measured == [*names[:7], *names[6:]]  # the interrupted unit is measured twice
    assert not (tmp_path / "table1.partial.jsonl").exists()


@pytest.mark.usefixtures("tiny")
def test_theorem_without_faces(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without face images the theorem is tested on random data, and the command says so."""
    monkeypatch.setattr("projected_kmeans.paper.data_sets.find_faces", refuse_faces)
    run = call("reproduce", "theorem", "--quick", "--out", tmp_path)
    assert run.code == 0, run
    assert "no face images were found; the experiment runs without them" in run.err
    assert "random mixture" in run.out


def test_table2_without_faces(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without face images Table 2 ends with one sentence, exit code 2 and no folder."""
    monkeypatch.setattr("projected_kmeans.paper.data_sets.find_faces", refuse_faces)
    run = call("reproduce", "table2", "--out", tmp_path / "out")
    check_refusal(run, "the face images were not found; give them with --data")
    assert not (tmp_path / "out").exists()


def test_missing_data_is_named(
    call: Call, tmp_path: Path, tiny: dict[str, Exhibit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data set whose file is missing is left out, on the terminal and in the tables."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    monkeypatch.setattr("projected_kmeans.paper.data_sets.find_faces", refuse_faces)
    sizes = replace(TINY["optimum"], instances=("iris", "seeds"))
    tiny["optimum"] = replace(tiny["optimum"], quick=sizes)
    run = call("reproduce", "optimum", "--quick", "--out", tmp_path / "out")
    assert run.code == 0, run
    for text in (run.err, run.out):
        assert "eeds is left out, because small_instances.npz is in no data folder" in text
    assert "iris" in run.out


def test_the_command_that_repeats_a_run() -> None:
    """Options that change what is measured are named, and no folder is."""
    command = name_command("table2", "/a/b c.mat", quick=False, fresh=True, seed=3)
    assert command == "projected-kmeans reproduce table2 --data 'b c.mat' --fresh --seed 3"
    plain = name_command("all", None, quick=False, fresh=False, seed=0)
    assert plain == "projected-kmeans reproduce all"

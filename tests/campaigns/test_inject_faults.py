"""A short run of the campaign that lets calls fail that write, and a check that it finds faults."""

from __future__ import annotations

import os
import shutil
import sys

import pytest
from forked_commands import Outcome, Request
from inject_faults import inject_faults
from output_states import Bench

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs a C compiler, and the way in which Linux replaces functions",
)


def test_no_fault_tears_an_output(bench: Bench) -> None:
    """Full, failing and read-only disks and kills leave old or new outputs, and one sentence."""
    found = inject_faults(bench, step=20, names=("fit --out", "predict --out"))
    assert found["failures"] == []
    assert found["faults"] >= 40
    codes = {code for one in found["commands"].values() for code in one}
    assert {"exit code 2", "exit code -9", "exit code 143"} <= codes


def test_torn_outputs_are_found(bench: Bench) -> None:
    """The campaign notices files of two fits, half a file, and what is left of a killed process."""
    cases = {case.name: case for case in bench.cases}
    fit, predict = cases["fit --out"], cases["predict --out"]
    for case in (fit, predict):
        bench.measure(case)
        assert bench.find_wrong(case) is None
    bench.reset()
    assert bench.find_wrong(fit) is None
    for name in ("labels.npy", "result.json"):
        bench.reset()
        shutil.copy(bench.new / fit.name / "model" / name, bench.work / "model" / name)
        assert "is not of the fit that model.json describes" in str(bench.find_wrong(fit))
    bench.reset()
    os.truncate(bench.work / "labels.csv", 4)
    assert bench.find_wrong(predict) == "labels.csv is neither the old nor the new one"
    (bench.work / ".projected-kmeans-0123456789abcdef.tmp").touch()
    assert len(bench.find_leftovers()) == 1
    assert bench.commands.run(Request(predict.words)).code == 0
    assert bench.find_leftovers() == []


@pytest.mark.parametrize(
    ("errors", "refused"),
    [
        ("projected-kmeans: error: the disk is full; choose another place\n", True),
        ("Traceback\nprojected-kmeans: error: x\n", False),
        ("projected-kmeans: error: x\nprojected-kmeans: error: y\n", False),
        ("", False),
    ],
)
def test_what_a_refusal_is(errors: str, refused: bool) -> None:
    """One sentence with exit code 2, and no traceback."""
    assert Outcome(2, errors, 0.0, 0).is_refusal == refused
    assert not Outcome(1, errors, 0.0, 0).is_refusal

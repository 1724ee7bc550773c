"""The command line as tests call it: some rows, one run of it, one sentence for bad input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

GENERATOR = np.random.default_rng(0)
TRUTH = np.repeat(np.arange(3), 20)
ROWS = GENERATOR.normal(size=(60, 12)) + 9 * np.eye(3, 12)[TRUTH]
COMMAND = [sys.executable, "-c", "from projected_kmeans.commands.main import main; main()"]


@dataclass(frozen=True)
class Run:
    """What one call of the command line did."""

    code: int
    out: str
    err: str


Call = Callable[..., Run]


def check_refusal(run: Run, *parts: str) -> None:
    """Check that a run printed one sentence with these parts, and nothing else."""
    assert run.code == 2, run
    assert run.out == ""
    assert run.err.startswith("projected-kmeans: error: ")
    assert run.err.count("\n") == 1
    assert "Traceback" not in run.err
    for part in parts:
        assert part in run.err

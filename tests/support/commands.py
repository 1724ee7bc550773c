"""The command line as tests call it: some rows, one run of it, one sentence for bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projected_kmeans.commands.main import main

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


def read_json(run: Run) -> dict[str, Any]:
    """Return the JSON object that a successful run printed."""
    assert (run.code, run.err) == (0, ""), run
    found: dict[str, Any] = json.loads(run.out)
    return found


def store_model(rows: np.ndarray, folder: Path) -> Path:
    """Store rows and a model with three clusters of them in a folder; return the model's folder.

    For fixtures of a whole module, which cannot use the fixture ``call``.
    """
    np.save(folder / "rows.npy", rows)
    words = ["fit", folder / "rows.npy", "-k", 3, "--quiet", "--out", folder / "model"]
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    assert left.value.code == 0
    return folder / "model"

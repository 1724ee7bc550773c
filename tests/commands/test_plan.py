"""The command ``plan``: the table of approaches, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.support.blobs import draw_blobs
from tests.support.commands import Call


def test_the_command_prints_the_plan(call: Call, tmp_path: Path) -> None:
    """Table and JSON have the chosen way and all alternatives."""
    np.save(tmp_path / "rows.npy", draw_blobs(d=100)[0])
    arguments = ("plan", str(tmp_path / "rows.npy"), "-k", "4")
    table = call(*arguments)
    assert "svd (chosen)" in table.out
    assert all(name in table.out for name in ("sign", "sparse-sign", "none", "inertia"))
    stored = json.loads(call(*arguments, "--json").out)
    assert stored["chosen"]["approach"]["projection"] == "svd"
    assert len(stored["alternatives"]) == 3

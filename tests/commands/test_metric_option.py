"""``--metric cosine`` on all commands that compare rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.support.commands import ROWS, Call


def test_all_commands_take_directions(call: Call, tmp_path: Path) -> None:
    """Rows and rows of other lengths give the same answers; fits show cosines instead of F~."""
    lengths = np.random.default_rng(0).uniform(1, 9, (len(ROWS), 1))
    answers = []
    for name, rows in (("plain", ROWS), ("longer", ROWS * lengths)):
        file, out = tmp_path / f"{name}.npy", tmp_path / name
        np.save(file, rows.astype(np.float64))
        told = call("fit", file, "-k", 3, "--metric", "cosine", "--seed", 0, "--out", out).out
        assert "mean cosine" in told
        assert "explained" in told
        assert "F~" not in told
        words = (file, out / "labels.npy", "--metric", "cosine", "--json")
        proven = json.loads(call("certify", *words).out)
        range_ = ("--range", "2:4", "--metric", "cosine", "--no-prove", "--json")
        chosen = json.loads(call("choose-k", file, *range_).out)
        result = json.loads((out / "result.json").read_text())["results"]
        np.testing.assert_allclose(proven["inertia"], result["inertia"], rtol=1e-9)
        answers.append([proven["inertia"], *chosen["inertia"], result["mean_cosine"]])
        plan = call("plan", file, "-k", 3, "--metric", "cosine", "--json", "--no-probe")
        assert plan.code == 0
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)

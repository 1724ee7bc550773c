"""The command ``compare``: two files of labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from projected_kmeans.commands.compare import MAX_SHOWN
from tests.support.commands import Call, check_refusal, read_json


def test_files_of_labels_are_compared(call: Call, tmp_path: Path) -> None:
    """Formats may differ; the summary, the JSON object and the file name the rows that moved."""
    a, b, moved = tmp_path / "a.npy", tmp_path / "b.csv", tmp_path / "new" / "moved.csv"
    np.save(a, np.array([0, 0, 1, 1, -1]))
    b.write_text("1\n1\n0\n1\n0\n")
    run = call("compare", a, b, "--moved", moved)
    assert (run.code, run.err) == (0, "")
    assert "2 of 5 rows moved; overlap 75.00%" in run.out
    assert moved.read_text() == "row\n3\n4\n"
    found = read_json(call("compare", a, b, "--json"))
    assert (found["a"], found["b"], found["n_moved"], found["n_joined"]) == ("a.npy", "b.csv", 2, 1)
    assert found["matches"][0] == {"a": 0, "b": 1, "n_shared": 2, "n_a": 2, "n_b": 3}
    assert call("compare", a, b, "--quiet").out == ""


def test_long_tables_are_cut(call: Call, tmp_path: Path) -> None:
    """Of many clusters only some are printed, and a line says how to see all."""
    np.save(tmp_path / "a.npy", np.arange(MAX_SHOWN + 2))
    run = call("compare", tmp_path / "a.npy", tmp_path / "a.npy")
    assert "and 2 more clusters; --json lists all" in run.out


def test_what_compare_refuses(call: Call, tmp_path: Path) -> None:
    """Other numbers of rows, missing files and other formats are one sentence."""
    a, b = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(a, np.zeros(3, int))
    np.save(b, np.zeros(2, int))
    check_refusal(call("compare", a, b), "has 2 labels for 3 rows")
    check_refusal(call("compare", a, tmp_path / "c.npy"), "c.npy")
    check_refusal(call("compare", a, a, "--moved", tmp_path / "m.npy"), "is no .csv file")

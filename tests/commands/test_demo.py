"""The command ``demo``: the table it prints and the folder it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Call


def test_the_comparison_is_printed(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints times, F~, P and dimensions of both systems, and names its folder."""
    monkeypatch.chdir(tmp_path)
    run = call("demo", "--n-samples", 120)
    assert (run.code, run.err) == (0, "")
    for part in ("ProjectedKMeans", "4096", "cluster (s)", "F~", "accuracy P", "times as fast"):
        assert part in run.out
    assert "written to projected-kmeans-demo: " in run.out
    assert len(list((tmp_path / "projected-kmeans-demo").iterdir())) == 7
    page = Path("projected-kmeans-demo") / "report.html"
    assert run.out.endswith(f"report: {page}\n")
    assert page.read_text("utf-8").count('alt="Center of cluster') >= 40

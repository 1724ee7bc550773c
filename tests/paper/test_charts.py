"""Charts are drawn as PNG and SVG."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from projected_kmeans.paper.charts import Chart, NoFigures, Panel, Series, save_chart

CHART = Chart(
    "waves",
    (
        Panel("one", "x", "y", (Series("line", [1, 2, 3], [1, 4, 9], [0, 3, 8], [2, 5, 10]),)),
        Panel("two", "x", "y", (Series("line", [1, 10], [1, 2]),), (("level", 1.5),), log_x=True),
    ),
)


def test_figures_are_drawn_in_both_formats(tmp_path: Path) -> None:
    """A chart becomes a PNG and an SVG, the same bytes every time."""
    first = [file.read_bytes() for file in save_chart(CHART, tmp_path)]
    again = [file.read_bytes() for file in save_chart(CHART, tmp_path)]
    assert first == again
    with Image.open(tmp_path / "waves.png") as picture:
        assert picture.size == (800, 320)
    assert (tmp_path / "waves.svg").read_text().startswith("<?xml")


def test_a_shared_legend_stands_below_the_panels(tmp_path: Path) -> None:
    """A chart with one legend for all panels is higher, and names each series once."""
    panel = Panel("one", "x", "y", (Series("the line", [1, 2], [1, 4]),))
    chart = Chart("pair", (panel, panel), shared_legend=True)
    save_chart(chart, tmp_path)
    with Image.open(tmp_path / "pair.png") as picture:
        assert picture.size == (800, 370)
    assert (tmp_path / "pair.svg").read_text().count("the line<") == 1


def test_without_matplotlib_a_sentence_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where matplotlib is absent, drawing says what to install and nothing is written."""
    real_import = builtins.__import__

    def refuse(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NoFigures, match="pip install 'matplotlib>="):
        save_chart(CHART, tmp_path)
    assert list(tmp_path.iterdir()) == []

"""The demo: both systems measured alike, the files it writes, the table it prints."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from projected_kmeans.commands import main as cli
from projected_kmeans.demo.comparison import DemoResult, run_demo, write_demo
from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.results import FitState


@pytest.fixture(scope="module")
def result() -> DemoResult:
    """Return a small run of the demo."""
    return run_demo(400, seed=0)


def test_both_systems_are_measured(result: DemoResult) -> None:
    """Both runs have times, a normalized inertia and an accuracy, each in its range."""
    assert result.original.n_components == 4096
    assert result.projected.n_components < 4096
    for run in (result.original, result.projected):
        assert run.total_seconds > 0
        assert 0 < run.normalized_inertia < 1
        assert 0 < run.accuracy <= 1
    assert result.speed_ratio > 0
    assert abs(result.inertia_change) < 0.1


def test_the_same_seed_gives_the_same_labels(result: DemoResult) -> None:
    """The demo depends on its seed alone."""
    again = run_demo(400, seed=0)
    np.testing.assert_array_equal(again.model.labels_, result.model.labels_)
    assert again.original.normalized_inertia == result.original.normalized_inertia


def test_the_callback_hears_every_stage() -> None:
    """A display is told of the drawing, the run in the original space, and the steps of the fit."""
    steps = []

    def listen(state: FitState) -> bool:
        steps.append(state.step)
        return False

    run_demo(200, seed=1, callback=listen)
    assert list(dict.fromkeys(steps))[:2] == ["draw", "scikit-learn"]
    assert "cluster" in steps


def test_files_of_the_demo(result: DemoResult, tmp_path: Path) -> None:
    """The folder holds labels, a model that loads, a result with both runs, and a picture."""
    files = write_demo(result, tmp_path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    images = result.glyphs.images
    labels = np.load(tmp_path / "labels.npy")
    np.testing.assert_array_equal(load_model(tmp_path).predict(images).shape, labels.shape)
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["data"]["shape"] == [400, 4096]
    assert document["comparison"]["speed_ratio"] == result.speed_ratio
    assert document["original"]["normalized_inertia"] == result.original.normalized_inertia
    with Image.open(tmp_path / "centers.png") as picture:
        assert picture.width >= 8 * 64


def test_too_few_images() -> None:
    """Fewer images than clusters are refused."""
    with pytest.raises(ValueError, match="n_samples=39 is below the 40 clusters"):
        run_demo(39)


def test_command_prints_the_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`demo` prints times, F~, P and dimensions of both systems, and names its folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main(["demo", "--n-samples", "400"])
    captured = capsys.readouterr()
    assert left.value.code == 0
    for part in ("ProjectedKMeans", "4096", "cluster (s)", "F~", "accuracy P", "times as fast"):
        assert part in captured.out
    assert "written to projected-kmeans-demo: " in captured.out
    assert len(list((tmp_path / "projected-kmeans-demo").iterdir())) == 7
    page = Path("projected-kmeans-demo") / "report.html"
    assert captured.out.endswith(f"report: {page}\n")
    assert page.read_text("utf-8").count('alt="Center of cluster') >= 40

"""The demo measures both systems alike, and writes what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from projected_kmeans.demo.comparison import DemoResult, run_demo, write_demo
from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.results import FitState

N_SAMPLES = 240


@pytest.fixture(scope="module")
def steps() -> list[str]:
    """Return the names of the steps that the callback of `result` was told, in their order."""
    return []


@pytest.fixture(scope="module")
def result(steps: list[str]) -> DemoResult:
    """Return a small run of the demo."""

    def listen(state: FitState) -> bool:
        steps.append(state.step)
        return False

    return run_demo(N_SAMPLES, seed=0, callback=listen)


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


def test_the_callback_hears_every_stage(result: DemoResult, steps: list[str]) -> None:
    """A display is told of the drawing, the run in the original space, and the steps of the fit."""
    assert list(dict.fromkeys(steps))[:2] == ["draw", "scikit-learn"]
    assert "cluster" in steps


def test_the_same_seed_gives_the_same_labels(result: DemoResult) -> None:
    """The demo depends on its seed alone."""
    again = run_demo(N_SAMPLES, seed=0)
    np.testing.assert_array_equal(again.model.labels_, result.model.labels_)
    assert again.original.normalized_inertia == result.original.normalized_inertia


def test_files_of_the_demo(result: DemoResult, tmp_path: Path) -> None:
    """The folder holds labels, a model that loads, a result with both runs, and a picture."""
    files = write_demo(result, tmp_path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), result.model.labels_)
    images = result.glyphs.images
    np.testing.assert_array_equal(
        load_model(tmp_path).predict(images), result.model.predict(images)
    )
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["data"]["shape"] == [N_SAMPLES, 4096]
    assert document["comparison"]["speed_ratio"] == result.speed_ratio
    assert document["original"]["normalized_inertia"] == result.original.normalized_inertia
    with Image.open(tmp_path / "centers.png") as picture:
        assert picture.width >= 8 * 64


def test_too_few_images() -> None:
    """Fewer images than clusters are refused."""
    with pytest.raises(ValueError, match="n_samples=39 is below the 40 clusters"):
        run_demo(39)

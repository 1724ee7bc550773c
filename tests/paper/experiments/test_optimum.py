"""Ratios to the proven optimum of real data, in small sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from projected_kmeans.paper.experiments.data_sets import DataSet
from projected_kmeans.paper.experiments.experiment import run_experiment
from projected_kmeans.paper.experiments.optimum import (
    DEFAULT,
    FULL,
    PROVED,
    Sizes,
    list_dimensions,
    plan_optimum,
)
from projected_kmeans.passes.scoring import inertia
from projected_kmeans.projections.maps import SignProjection

TINY = Sizes(("iris",), (2, 5), n_draws=2, n_kss04_draws=1, n_lemma_draws=5)


@pytest.mark.parametrize(
    ("n_columns", "dimensions"),
    [(4, [2, 4]), (30, [5, 10, 20, 30]), (300, [5, 10, 20, 50, 100, 200, 300]), (301, None)],
)
def test_sketches_have_at_most_d_columns(n_columns: int, dimensions: list[int] | None) -> None:
    """A sketch has at most d columns, and t = d itself is tried where it is at most 300."""
    data = DataSet("made up", np.zeros((3, n_columns)), 2)
    found = list_dimensions(data, FULL)
    assert found == (dimensions or [5, 10, 20, 50, 100, 200, 300])


def test_ratios_and_gammas_on_iris(tmp_path: Path) -> None:
    """No ratio and no gamma is below 1, and the proof's own gamma is 1 on the first sketch."""
    document = run_experiment(plan_optimum(None, sizes=TINY), tmp_path)
    results = document["results"]
    settings = {(one["solver"], one["t"]): one for one in results["settings"]}
    assert {t for _, t in settings} == {2, 4}
    for one in settings.values():
        assert one["ratio_low"] >= 1 - 1e-9
        assert one["median_gamma"] >= 1
        assert one["worst_gamma"] >= one["median_gamma"]
    assert settings[PROVED, 4]["worst_gamma"] == pytest.approx(1, abs=1e-6)
    assert settings["KSS04", 4]["n_draws"] == 1
    assert {one["verdict"] for one in results["lemmas"]} <= {
        "holds",
        "holds in part",
        "not reached",
        "does not hold",
    }


def test_a_ratio_is_that_of_a_fit_by_hand(tmp_path: Path) -> None:
    """With one draw, the default's ratio is its inertia in A over the proven lower bound."""
    from projected_kmeans import ProjectedKMeans

    sizes = Sizes(("iris",), (2,), n_draws=1, n_kss04_draws=0, n_lemma_draws=5)
    results = run_experiment(plan_optimum(None, key=3, sizes=sizes), tmp_path)["results"]
    rows = load_iris().data
    sketch = SignProjection(2, random_state=3).fit_transform(rows)
    labels = ProjectedKMeans(3, projection=None, random_state=3).fit(sketch).labels_
    wanted = inertia(rows, labels) / results["instances"][0]["lower_bound"]
    found = next(one for one in results["settings"] if one["solver"] == DEFAULT)
    assert found["worst_ratio"] == pytest.approx(wanted, rel=1e-12)

"""Table 2 on other data: what is run, what is left out, and what the scores are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits

from projected_kmeans import ProjectedKMeans, clustering_accuracy, normalized_inertia
from projected_kmeans.paper.experiments import beyond
from projected_kmeans.paper.experiments.beyond import Sizes, explain_omission, plan_beyond
from projected_kmeans.paper.experiments.data_sets import DataSet, Found
from projected_kmeans.paper.experiments.experiment import run_experiment


def test_methods_are_left_out_with_the_reason() -> None:
    """Sparse rows and many rows leave methods out; few dense rows leave out none."""
    small = DataSet("small", np.zeros((300, 5)), 2)
    large = DataSet("large", np.zeros((3001, 5)), 2)
    sparse = DataSet("sparse", scipy.sparse.csr_matrix((2**12, 2**15)), 2)
    assert all(explain_omission(method, small) is None for method in beyond.FITTED)
    assert [m for m in beyond.FITTED if explain_omission(m, large)] == ["LLE"]
    assert "3,001 x 3,001" in str(explain_omission("LLE", large))
    assert [m for m in beyond.FITTED if explain_omission(m, sparse)] == ["LLE", "LS"]
    assert "1.0 GB" in str(explain_omission("LS", sparse))


def test_without_data_a_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any of its data sets the experiment is refused."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="was found; set PROJECTED_KMEANS_DATA"):
        plan_beyond(None)


def test_points_are_those_of_fits_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P and F~ of RP and of the default are those of the estimator itself."""
    rows, classes = load_digits(return_X_y=True)
    data = DataSet("digits", rows[:200], 10, classes[:200])
    monkeypatch.setattr(beyond, "find_data_sets", lambda names, faces: Found((data,), ()))
    sizes = Sizes(("digits",), (5, 20), n_draws=1)
    results = run_experiment(plan_beyond(None, key=4, sizes=sizes), tmp_path)["results"]
    points = {(one["method"], one["t"]): one for one in results["data"][0]["points"]}
    by_hand: dict[tuple[str, int], dict[str, Any]] = {
        ("RP", 20): {
            "projection": "sign",
            "n_components": 20,
            "polish_iter": 0,
            "solver": "hartigan",
            "n_init": 1,
            "max_iter": 30,
        },
        ("HD", 64): {"projection": None, "solver": "hartigan", "n_init": 1, "max_iter": 30},
    }
    for at, parameters in by_hand.items():
        labels = ProjectedKMeans(10, random_state=4, **parameters).fit(data.rows).labels_
        assert points[at]["P"] == clustering_accuracy(classes[:200], labels)
        assert points[at]["F"] == normalized_inertia(data.rows, labels)
    methods = {method for method, _ in points}
    assert methods == {*beyond.FITTED, beyond.RP, beyond.HD, beyond.DEFAULT}

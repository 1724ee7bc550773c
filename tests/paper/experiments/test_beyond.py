"""Table 2 on other data: what is run and left out, what the scores are, and how they are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_digits

from projected_kmeans import ProjectedKMeans, clustering_accuracy, normalized_inertia
from projected_kmeans.paper.data_sets import DataSet, FoundData
from projected_kmeans.paper.experiment import run_experiment
from projected_kmeans.paper.experiments import beyond
from projected_kmeans.paper.experiments.beyond import (
    STATEMENTS,
    Sizes,
    explain_omission,
    judge_data_set,
    plan_beyond,
)


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
    monkeypatch.setattr(beyond, "find_data_sets", lambda names, faces: FoundData((data,), ()))
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


def make_point(
    method: str, t: int, F: float, P: float = 0.5, seconds: float = 1.0
) -> dict[str, Any]:
    """Return the point of a method."""
    return {
        "method": method,
        "t": t,
        "F": F,
        "P": P,
        "reduce_seconds": seconds,
        "cluster_seconds": 1.0,
    }


def judge(*changed: dict[str, Any]) -> dict[str, bool | None]:
    """Return the verdicts on points for which all statements hold, some of them replaced."""
    points = [
        make_point("RP", 10, 0.4, 0.3, 0.1),
        make_point("RP", 20, 0.3, 0.6, 0.1),
        make_point("SVD", 10, 0.38, 0.4),
        make_point("SVD", 20, 0.39, 0.5),
        make_point("SVD with Sigma", 10, 0.35),
        make_point("SVD with Sigma", 20, 0.29),
        make_point("LS", 10, 0.6),
        make_point("LS", 20, 0.5),
        make_point("LLE", 10, 0.6, 0.9),
        make_point("LLE", 20, 0.6, 0.8),
        make_point("HD", 99, 0.28, seconds=9.0),
        make_point("default", 64, 0.27),
    ]
    known = {(one["method"], one["t"]): one for one in points}
    known.update({(one["method"], one["t"]): one for one in changed})
    judged = judge_data_set(list(known.values()), (10, 20), 0.48)
    return {one["name"]: one["holds"] for one in judged}


def test_each_statement_can_hold() -> None:
    """The points are made so that every statement holds: RP reaches exactly 90 % of HD's fall."""
    assert judge() == dict.fromkeys(STATEMENTS, True)


def test_each_statement_can_fail() -> None:
    """One changed point breaks the statement that it concerns."""
    broken = {
        "fastest": make_point("SVD", 20, 0.39, 0.5, 0.05),
        "fall": make_point("RP", 10, 0.3, 0.3, 0.1),
        "near": make_point("RP", 20, 0.31, 0.6, 0.1),
        "few": make_point("RP", 10, 0.4, 0.41, 0.1),
        "many": make_point("RP", 20, 0.3, 0.49, 0.1),
        "saving": make_point("HD", 99, 0.28, seconds=0.0),
        "scale": make_point("SVD", 10, 0.34, 0.4),
        "sigma": make_point("SVD with Sigma", 20, 0.30),
        "scores": make_point("LS", 20, 0.29),
        "embedding": make_point("default", 64, 0.27, 0.95),
        "default": make_point("HD", 99, 0.26, seconds=9.0),
    }
    assert set(broken) == set(STATEMENTS)
    for name, point in broken.items():
        assert judge(point)[name] is False, name


def test_left_out_methods_have_no_verdict() -> None:
    """Where LS and LLE were not run, their statements are left open and the others judged."""
    names = ("RP", "SVD", "SVD with Sigma")
    points = [make_point(name, t, 0.5 - t / 100) for name in names for t in (10, 20)]
    points += [make_point("HD", 99, 0.2), make_point("default", 64, 0.1)]
    judged = {one["name"]: one["holds"] for one in judge_data_set(points, (10, 20), 0.6)}
    assert {name for name, holds in judged.items() if holds is None} == {"scores", "embedding"}

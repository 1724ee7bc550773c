"""ProjectedKMeans keeps the conventions of scikit-learn's estimators."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from projected_kmeans import (
    ProjectedKMeans,
    clustering_accuracy,
)
from tests.support.blobs import assert_same_fit, draw_blobs


def test_parameters_are_stored_as_they_are() -> None:
    """The constructor stores its arguments unchanged, and fit does not replace an "auto"."""
    init = np.arange(3)
    model = ProjectedKMeans(3, init=init, n_components="auto", polish_iter="auto")
    assert model.init is init
    before = model.get_params()
    model.fit(draw_blobs()[0])
    assert model.get_params() == before
    assert ProjectedKMeans().get_params() == {
        "n_clusters": 8,
        "projection": "auto",
        "n_components": "auto",
        "eps": None,
        "metric": "euclidean",
        "init": "k-means++",
        "n_init": "auto",
        "solver": "auto",
        "max_iter": 300,
        "tol": 1e-4,
        "time_budget": None,
        "polish_iter": "auto",
        "trim": 0.0,
        "min_cluster_size": None,
        "max_cluster_size": None,
        "on_missing": "error",
        "certificate": None,
        "guarantee": None,
        "random_state": None,
        "n_threads": None,
        "memory_limit": None,
        "checkpoint": None,
        "callback": None,
        "verbose": 0,
    }


def test_attributes_have_their_types() -> None:
    """Fitted attributes are of the types and shapes that the documentation names."""
    X, _ = draw_blobs()
    model = ProjectedKMeans(5, random_state=0).fit(X)
    assert model.labels_.dtype == np.int32
    assert model.labels_.shape == (150,)
    assert model.cluster_centers_.shape == (5, 200)
    assert type(model.inertia_) is float
    assert type(model.normalized_inertia_) is float
    assert type(model.key_) is int
    assert type(model.n_iter_) is int
    assert type(model.n_components_) is int
    assert model.n_features_in_ == 200
    assert not hasattr(model, "feature_names_in_")


def test_clone_and_pickle() -> None:
    """A clone fits to the same bits, and a pickled model predicts the same."""
    X, _ = draw_blobs(gap=0.3)
    model = ProjectedKMeans(5, random_state=3).fit(X)
    assert_same_fit(model, clone(model).fit(X))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_data_frames() -> None:
    """Names of features are kept and checked; set_output gives named columns and the index."""
    X = pd.DataFrame(draw_blobs(d=3)[0], columns=["x", "y", "z"], index=range(10, 160))
    model = ProjectedKMeans(2, random_state=0).set_output(transform="pandas").fit(X)
    assert list(model.feature_names_in_) == ["x", "y", "z"]
    found = model.transform(X)
    assert list(found.columns) == ["projectedkmeans0", "projectedkmeans1"]
    assert list(found.index) == list(X.index)
    assert list(model.get_feature_names_out()) == list(found.columns)
    with pytest.raises(ValueError, match="X has no column 'x', which the model was fitted to"):
        model.predict(X.rename(columns={"x": "w"}))


def test_a_pipeline() -> None:
    """The estimator works as the last step of a pipeline, with weights passed through."""
    X, home = draw_blobs(gap=3.0)
    pipeline = make_pipeline(StandardScaler(), ProjectedKMeans(5, random_state=0, n_init=10))
    labels = pipeline.fit_predict(X, projectedkmeans__sample_weight=np.ones(150))
    assert clustering_accuracy(home, labels) == 1.0
    assert pipeline.transform(X).shape == (150, 5)
    assert pipeline.score(X) < 0


def test_grid_search() -> None:
    """GridSearchCV finds that more clusters, up to the true number, score better."""
    X, _ = draw_blobs(n=120, d=60, k=4, gap=3.0)
    search = GridSearchCV(
        ProjectedKMeans(random_state=0, n_init=5),
        {"n_clusters": [1, 2, 4], "projection": ["sign", None], "eps": np.array([0.4, 0.6])},
        cv=3,
        error_score="raise",
    ).fit(X)
    assert search.best_params_["n_clusters"] == 4
    assert search.best_estimator_.labels_.shape == (120,)


def test_fitting_again_forgets_the_past() -> None:
    """A second fit on other data gives the result of a new model."""
    one, _ = draw_blobs(1, d=150)
    other, _ = draw_blobs(2, d=250)
    model = ProjectedKMeans(5, random_state=0).fit(one).fit(other)
    assert_same_fit(model, ProjectedKMeans(5, random_state=0).fit(other))
    assert model.n_features_in_ == 250
    assert model.projection_.n_features_in_ == 250


def test_each_parameter_is_described_in_four_lines() -> None:
    """Descriptions are short, and name the page that tells more; solver has a line a choice."""
    text = (inspect.getdoc(ProjectedKMeans) or "").split("Parameters\n----------\n")[1]
    heads = re.split(r"^(\w[\w, ]*) : .*\n", text.split("\nAttributes\n")[0], flags=re.M)
    described = dict(zip(heads[1::2], heads[2::2], strict=True))
    assert sorted(", ".join(described).split(", ")) == sorted(ProjectedKMeans().get_params())
    for name, words in described.items():
        lines = [line.strip() for line in words.splitlines() if line.strip()]
        assert len(lines) <= (9 if name == "solver" else 4), name
        pages = re.findall(r"docs/[\w/]+\.md", words)
        assert pages, name
        assert all((Path(__file__).parents[2] / page).exists() for page in pages), name

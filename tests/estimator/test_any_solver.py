"""`ProjectedKMeans` with the solvers that get the sketch as a whole, also those of the caller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans import FitState, ProjectedKMeans, SignProjection, load_model, save_model
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.search.paper_solvers import find_optimum
from tests.support.blobs import draw_blobs
from tests.support.problems import make_problem

X = draw_blobs(n=80, d=60, k=3)[0]
SIGN = {"projection": "sign", "n_components": 12, "random_state": 5}


def label_in_turn(sketch: NDArray[Any], n_clusters: int, random_state: int) -> NDArray[Any]:
    """Return labels 0, 1, 2, 0, 1, 2, ..., whatever the rows are."""
    return np.arange(len(sketch)) % n_clusters


def label_alike(sketch: NDArray[Any], n_clusters: int, random_state: int) -> NDArray[Any]:
    """Return one cluster, however many are asked for."""
    return np.zeros(len(sketch), dtype=int)


@pytest.mark.parametrize("solver", ["orss06", "kss04", "exact", KMeans(), label_in_turn])
@pytest.mark.parametrize("options", [SIGN, {"projection": None, "random_state": 5}, {}])
def test_a_fit_is_whole(solver: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """Labels, centers, certificate, document, report and model files belong to the same fit."""
    model = ProjectedKMeans(3, solver=solver, certificate="spectral", **options).fit(X)
    if model.projection_ is not None or not isinstance(solver, str):
        means = [X[model.labels_ == one].mean(axis=0) for one in range(3)]
        np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-9)
    spread = np.sum((X - model.cluster_centers_[model.labels_]) ** 2)
    assert model.inertia_ == pytest.approx(spread)
    assert model.certificate_ is not None
    assert model.certificate_.ratio >= 1
    document = describe_fit(model, X, name="blobs")
    json.dumps(document, allow_nan=False)
    if not isinstance(solver, str):
        named = {"label_in_turn", "KMeans()"}
        assert document["unserialised"]["solver"] in named
    save_model(model, tmp_path)
    np.testing.assert_array_equal(load_model(tmp_path).predict(X), model.predict(X))
    pytest.importorskip("bokeh")
    assert "3 clusters of 80 rows" in model.to_html(X)


def test_labels_of_an_own_solver_stay() -> None:
    """Without polish passes they stay as they are, also in the original space."""
    for projection in ("sign", None):
        options = {**SIGN, "projection": projection}
        model = ProjectedKMeans(3, solver=label_in_turn, **options).fit(X)
        np.testing.assert_array_equal(model.labels_, np.arange(80) % 3)
        assert (model.approach_.solver, model.approach_.polish_iter) == ("own", 0)
        polished = ProjectedKMeans(3, solver=label_in_turn, polish_iter=9, **options).fit(X)
        assert polished.inertia_ < model.inertia_


def test_named_solvers_are_polished_as_others() -> None:
    """The usual polish passes follow a solver that the library knows to aim at inertia."""
    assert ProjectedKMeans(3, solver="orss06", **SIGN).fit(X).approach_.polish_iter > 0


def test_exact_is_the_optimum() -> None:
    """Without a projection, "exact" finds the lowest inertia of few rows, with weights as well."""
    rows = X[:9]
    model = ProjectedKMeans(3, solver="exact", projection=None).fit(rows)
    assert model.inertia_ == pytest.approx(find_optimum(make_problem(rows), 3).inertia)
    assert model.gamma_ == 1.0
    repeated = np.concatenate([rows, rows[:4]])
    weights = np.concatenate([np.full(4, 2.0), np.ones(5)])
    weighted = clone(model).fit(rows, sample_weight=weights)
    assert weighted.inertia_ == pytest.approx(find_optimum(make_problem(repeated), 3).inertia)


def test_kss04_counts_weights() -> None:
    """With weights, the search is near the optimum of repeated rows; rows without weight vanish."""
    rows = X[:9]
    weights = np.concatenate([np.full(4, 2.0), np.ones(5)])
    best = find_optimum(make_problem(np.concatenate([rows, rows[:4]])), 3).inertia
    options = {"projection": None, "random_state": 0}
    far = np.vstack([rows, np.full((1, 60), 1e3)])
    model = ProjectedKMeans(3, solver="kss04", **options)
    found = model.fit(far, sample_weight=np.append(weights, 0.0))
    assert best * (1 - 1e-9) <= found.inertia_ <= 1.5 * best


def test_weights_are_passed_on_or_refused() -> None:
    """KMeans gets them, and a solver without a parameter for them is not run."""
    weights = np.arange(80) % 4 + 1.0
    sketch = SignProjection(12, random_state=5).fit_transform(X)
    model = ProjectedKMeans(3, solver=KMeans(), **SIGN).fit(X, sample_weight=weights)
    by_hand = KMeans(3, random_state=5).fit(sketch, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, by_hand.labels_)
    refused = ProjectedKMeans(3, solver=AgglomerativeClustering(), **SIGN)
    with pytest.raises(ValueError, match="AgglomerativeClustering takes no sample_weight"):
        refused.fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="AgglomerativeClustering takes no sample_weight"):
        refused.partial_fit(X)
    streamed = ProjectedKMeans(3, solver=KMeans(), **SIGN).partial_fit(X[:40]).partial_fit(X[40:])
    assert len(np.unique(streamed.predict(X))) == 3


def test_few_clusters_get_a_warning() -> None:
    """A solver that returns fewer clusters than were asked for is named."""
    with pytest.warns(ConvergenceWarning, match=r"\(1\) .* The solver label_alike returned no"):
        ProjectedKMeans(3, solver=label_alike, **SIGN).fit(X)


def test_rows_of_workers_and_large_sketches_are_refused() -> None:
    """A solver that needs an array gets no rows of Dask, and no sketch beyond the memory limit."""
    dask_array = pytest.importorskip("dask.array")
    rows = dask_array.from_array(X, chunks=(40, 60))
    for solver in (KMeans(), "exact"):
        with pytest.raises(ValueError, match="cannot work on rows of Dask's workers; use a proj"):
            ProjectedKMeans(3, solver=solver, projection=None).fit(rows)
    model = ProjectedKMeans(3, solver=KMeans(), **SIGN).fit(rows)
    np.testing.assert_array_equal(model.labels_.compute(), clone(model).fit(X).labels_)
    many = np.zeros((60_000, 40), np.float32)
    limited = ProjectedKMeans(2, solver=KMeans(), memory_limit="18MB", **SIGN)
    limited.set_params(n_components=40)
    with pytest.raises(ValueError, match="KMeans needs the whole sketch in the memory"):
        limited.fit(many)


def test_sparse_rows_need_a_projection() -> None:
    """Sparse rows are sketched for any solver, and refused without a projection."""
    rows = scipy.sparse.csr_array(X)
    model = ProjectedKMeans(3, solver=KMeans(), **SIGN).fit(rows)
    np.testing.assert_array_equal(model.labels_, clone(model).fit(X).labels_)
    with pytest.raises(ValueError, match="solver='KMeans' needs a projection with sparse rows"):
        ProjectedKMeans(3, solver=KMeans(), projection=None).fit(rows)


def test_scikit_learn_sees_the_solver() -> None:
    """``get_params``, ``set_params`` and ``clone`` reach an estimator inside the estimator."""
    model = ProjectedKMeans(3, solver=KMeans(n_init=2), **SIGN)
    assert model.get_params()["solver__n_init"] == 2
    copied = clone(model).set_params(solver__n_init=3)
    assert (copied.solver.n_init, model.solver.n_init) == (3, 2)
    assert clone(ProjectedKMeans(3, solver=label_in_turn)).solver is label_in_turn


def test_restarts_keep_the_lowest_inertia_in_the_sketch() -> None:
    """``n_init`` runs have consecutive seeds, and a callback may stop between two of them."""
    seeds: list[int] = []

    def solve(sketch: Any, k: int, seed: int) -> Any:
        seeds.append(seed)
        return KMeans(k, init="random", n_init=1, max_iter=1, random_state=seed).fit(sketch).labels_

    model = ProjectedKMeans(3, solver=solve, n_init=4, **SIGN).fit(X)
    assert seeds == [5, 6, 7, 8]
    runs = [state.inertia for state in model.trace_ if state.step == "cluster"]
    assert model.history_ == (min(value for value in runs if value is not None),)

    def stop(state: FitState) -> bool:
        return state.step == "cluster" and state.iteration == 2

    stopped = ProjectedKMeans(3, solver=solve, n_init=4, callback=stop, **SIGN).fit(X)
    assert (stopped.stopped_, seeds[4:]) == ("callback", [5, 6])


def test_a_checkpoint_knows_the_solver(tmp_path: Path) -> None:
    """A finished fit is taken as it was stored; another solver and a nameless one are refused."""
    options = {**SIGN, "checkpoint": tmp_path / "steps"}
    first = ProjectedKMeans(3, solver=KMeans(n_init=2), **options).fit(X)
    again = ProjectedKMeans(3, solver=KMeans(n_init=2), **options).fit(X)
    np.testing.assert_array_equal(first.labels_, again.labels_)
    with pytest.raises(ValueError, match="solver"):
        ProjectedKMeans(3, solver=KMeans(n_init=3), **options).fit(X)
    options["checkpoint"] = tmp_path / "others"
    with pytest.raises(ValueError, match="has no name by which a checkpoint could recognize it"):
        ProjectedKMeans(3, solver=lambda sketch, k, seed: [0] * 80, **options).fit(X)


def test_a_guarantee_runs_the_solver_again() -> None:
    """Further clusterings have other seeds, until the guarantee is met or nothing gains."""
    seeds: set[int] = set()

    def solve(sketch: Any, k: int, seed: int) -> Any:
        seeds.add(seed)
        return label_in_turn(sketch, k, seed)

    with pytest.warns(ConvergenceWarning, match="guarantee=1.01 is not met"):
        ProjectedKMeans(3, solver=solve, guarantee=1.01, certificate="spectral", **SIGN).fit(X)
    assert len(seeds) > 1

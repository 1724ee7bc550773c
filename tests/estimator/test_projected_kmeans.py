"""What a fit computes: projections, polish, restarts, first centers, keys, weights."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from projected_kmeans import (
    GaussianProjection,
    ProjectedKMeans,
    SignProjection,
    SpectralProjection,
    clustering_accuracy,
    plan_fit,
    target_dimension,
)
from projected_kmeans.search.settings import Settings
from tests import reference
from tests.support.blobs import assert_consistent, assert_same_fit, draw_blobs
from tests.support.small_blocks import use_small_blocks


@pytest.mark.parametrize("projection", ["sign", "gaussian"])
def test_algorithm_one_by_hand(projection: str) -> None:
    """Without polish the labels are those of scikit-learn on the sketch: the paper's algorithm."""
    X, _ = draw_blobs(gap=0.3)
    model = ProjectedKMeans(
        5,
        projection=projection,
        n_components=20,
        init=np.arange(5),
        tol=0,
        polish_iter=0,
        random_state=7,
    ).fit(X)
    kind = SignProjection if projection == "sign" else GaussianProjection
    sketch = kind(20, random_state=7).fit_transform(X)
    referee = KMeans(5, init=sketch[:5], n_init=1, algorithm="lloyd", tol=0, max_iter=1000)
    np.testing.assert_array_equal(model.labels_, referee.fit(sketch).labels_)
    assert model.history_[-1] == pytest.approx(referee.inertia_, rel=1e-12)
    assert model.n_components_ == 20
    assert len(model.history_) == model.n_iter_
    assert_consistent(model, X)


def test_the_original_space_equals_scikit_learn() -> None:
    """Without projection the fit is scikit-learn's from the same first centers."""
    X, _ = draw_blobs(gap=0.2)
    referee = KMeans(5, init=X[:5], n_init=1, algorithm="lloyd", tol=0, max_iter=1000).fit(X)
    model = ProjectedKMeans(5, projection=None, init=X[:5], tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, referee.labels_)
    np.testing.assert_allclose(model.cluster_centers_, referee.cluster_centers_, atol=1e-12)
    assert model.inertia_ == pytest.approx(referee.inertia_, rel=1e-12)
    assert model.projection_ is None
    assert model.n_components_ == 200


@pytest.mark.parametrize("projection", ["auto", "sign", "gaussian", None])
@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_far_clusters_are_found(projection: Any, solver: str, init: str) -> None:
    """Clusters far apart are found in any space, by any solver."""
    X, home = draw_blobs(n=120, d=400, k=4, gap=4.0)
    model = ProjectedKMeans(
        4, projection=projection, solver=solver, init=init, n_init=10, random_state=1
    ).fit(X)
    assert clustering_accuracy(home, model.labels_) == 1.0
    assert_consistent(model, X)


def test_auto_projects_only_where_it_saves_dimensions() -> None:
    """Principal directions are used where they are at most half of the columns, else nothing."""
    X, _ = draw_blobs(d=200)
    wide = ProjectedKMeans(5, random_state=0).fit(X)
    assert wide.n_components_ == target_dimension(5, rule="cohen2015-svd") == 17
    assert isinstance(wide.projection_, SpectralProjection)
    assert (wide.projection_.key_, wide.projection_.n_components_) == (0, 17)
    narrow = ProjectedKMeans(5, random_state=0).fit(X[:, :20])
    assert narrow.projection_ is None
    assert narrow.n_components_ == 20
    assert ProjectedKMeans(5, eps=0.9, random_state=0).fit(X[:, :20]).n_components_ == 6
    assert ProjectedKMeans(5, n_components=20, random_state=0).fit(X[:, :20]).projection_ is None
    assert ProjectedKMeans(5, n_components=7, random_state=0).fit(X[:, :20]).n_components_ == 7


def test_n_components_is_ignored_without_projection() -> None:
    """A number of components beyond the features does not matter where nothing is projected."""
    X, _ = draw_blobs(d=4)
    for projection in (None, PCA(2)):
        model = ProjectedKMeans(3, projection=projection, n_components=50, random_state=0).fit(X)
        assert model.n_components_ == (4 if projection is None else 2)


@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
@pytest.mark.parametrize("seed", range(4))
def test_polish_never_raises_the_inertia(solver: str, seed: int) -> None:
    """Each further polish pass gives an inertia no higher than one pass fewer."""
    X, _ = draw_blobs(seed, gap=0.2)
    found = [
        ProjectedKMeans(
            5,
            projection="sign",
            n_components=3,
            solver=solver,
            polish_iter=passes,
            random_state=seed,
        )
        .fit(X)
        .inertia_
        for passes in (0, 1, 2, 5, 100)
    ]
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert found[-1] < found[0]


def test_auto_polish_and_restarts() -> None:
    """Small data get passes until they gain little, and starts in a kernel; a caller fixes both."""
    X, _ = draw_blobs(1, n=300, d=50, gap=0.2)
    options: dict[str, Any] = {"projection": "sign", "n_components": 2, "random_state": 3}
    default = ProjectedKMeans(5, **options).fit(X).approach_
    assert (default.n_init, default.in_kernel) == (10, True)  # at most two starts a cluster
    assert ProjectedKMeans(10, **options).fit(X).approach_.n_init == 16  # and at most 16
    assert default.polish_tol > 0
    fixed = ProjectedKMeans(5, polish_iter=1, n_init=2, **options).fit(X).approach_
    assert (fixed.polish_iter, fixed.n_init, fixed.polish_tol, fixed.in_kernel) == (1, 2, 0, False)


@pytest.mark.parametrize("projection", ["svd", "sign", None])
def test_auto_polish_of_large_data(projection: str | None) -> None:
    """Large data are polished after any map, and not without one."""
    X = np.broadcast_to(np.float32(1), (10**6, 500))
    plan = plan_fit(X, 50, projection=projection, probe=False)
    assert (plan.chosen.approach.polish_iter > 0) == (projection is not None)


def test_nothing_is_polished_or_restarted_in_vain() -> None:
    """There is no polish pass without a projection, and no restart from given centers."""
    X, _ = draw_blobs(gap=0.2)
    assert ProjectedKMeans(5, projection=None).fit(X).approach_.polish_iter == 0
    assert ProjectedKMeans(5, init=np.arange(5)).fit(X).approach_.n_init == 1


def test_of_equal_restarts_the_first_wins() -> None:
    """Restarts whose inertia is equal up to rounding keep the order of the first."""
    X, _ = draw_blobs(gap=3.0)
    chosen: list[Any] = []

    def init(rows: Any, k: int, random_state: np.random.RandomState) -> Any:
        chosen.append(random_state.permutation(k))
        return chosen[-1]

    options: dict[str, Any] = {"polish_iter": 0, "solver": "lloyd", "random_state": 2}
    model = ProjectedKMeans(5, init=init, n_init=3, **options).fit(X)
    assert len({tuple(order) for order in chosen}) == 3
    first = ProjectedKMeans(5, init=chosen[0], **options).fit(X)
    np.testing.assert_array_equal(model.labels_, first.labels_)


@pytest.mark.parametrize("projection", [None, "svd", "sign"])
@pytest.mark.parametrize("far", [1e20, 1e140])
def test_first_centers_far_from_the_rows(projection: Any, far: float) -> None:
    """A first center far away gets rows, and costs neither labels nor inertia their digits."""
    X, _ = draw_blobs(n=300, gap=0.5)
    centers = X[:5].copy()
    centers[0, 0] = far
    model = ProjectedKMeans(5, projection=projection, init=centers, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 5
    assert model.inertia_ == pytest.approx(reference.inertia(X, model.labels_), rel=1e-12)


def test_first_centers_are_checked_like_rows() -> None:
    """First centers whose squares overflow, in float64 or in the rows' type, get one sentence."""
    X, _ = draw_blobs()
    with pytest.raises(ValueError, match=r"init reaches 1e\+300, so that sums of squares overflow"):
        ProjectedKMeans(5, init=np.full((5, X.shape[1]), 1e300)).fit(X)
    with pytest.raises(ValueError, match=r"centers reach 1e\+100, which float32 cannot hold; give"):
        ProjectedKMeans(5, projection=None, init=np.full((5, X.shape[1]), 1e100)).fit(
            X.astype(np.float32)
        )


def test_hartigan_is_never_worse_than_lloyd() -> None:
    """From the same start, single-point moves end at or below Lloyd's inertia."""
    lower = 0
    for seed in range(8):
        X, _ = draw_blobs(seed, d=10, gap=0.2)
        options = {"projection": None, "init": np.arange(5), "tol": 0}
        lloyd = ProjectedKMeans(5, solver="lloyd", **options).fit(X)
        hartigan = ProjectedKMeans(5, solver="hartigan", **options).fit(X)
        assert hartigan.inertia_ <= lloyd.inertia_
        lower += hartigan.inertia_ < lloyd.inertia_
    assert lower > 0


def test_max_iter_bounds_both_phases() -> None:
    """n_iter_ counts the passes of Lloyd and of the moves together."""
    X, _ = draw_blobs(gap=0.1)
    for solver in ("lloyd", "hartigan"):
        model = ProjectedKMeans(5, solver=solver, max_iter=3, init=np.arange(5), tol=0).fit(X)
        assert model.n_iter_ == len(model.history_) == 3


def test_tol_is_relative_to_the_variance() -> None:
    """A tolerance stops earlier, and in the same pass whatever the unit of the rows."""
    X, _ = draw_blobs(n=600, d=10, gap=0.2)
    options = {"projection": None, "init": np.arange(5)}
    exact = ProjectedKMeans(5, tol=0, **options).fit(X)
    rough = ProjectedKMeans(5, tol=1e-1, **options).fit(X)
    assert rough.n_iter_ < exact.n_iter_
    scaled = ProjectedKMeans(5, tol=1e-1, **options).fit(X * 2.0**20)
    assert scaled.n_iter_ == rough.n_iter_


@pytest.mark.parametrize("projection", ["sign", "gaussian", None, PCA(5, random_state=0)])
def test_all_ways_to_give_first_centers_agree(projection: Any) -> None:
    """Row indices, the rows themselves and callables that return either give the same fit."""
    X, _ = draw_blobs(gap=0.3)
    chosen = np.array([3, 50, 7, 99, 120])
    inits: list[Any] = [
        chosen,
        chosen.tolist(),
        chosen.astype(np.uint8),
        X[chosen],
        X[chosen].tolist(),
        lambda X, k, random_state: chosen,
        lambda X, k, random_state: X[chosen],
    ]
    models = [
        ProjectedKMeans(
            5, projection=projection, n_components=15, init=init, random_state=0, n_init=1
        ).fit(X)
        for init in inits
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.inertia_ == pytest.approx(models[0].inertia_, rel=1e-12)


def test_a_callable_sees_the_rows_and_a_fresh_random_state() -> None:
    """A callable gets rows, k and a RandomState that differs between restarts and repeats."""
    X, _ = draw_blobs(d=30)
    seen: list[Any] = []

    def init(rows: Any, k: int, random_state: np.random.RandomState) -> Any:
        seen.append(random_state.randint(2**31))
        np.testing.assert_array_equal(rows, X)
        assert k == 5
        return random_state.permutation(len(rows))[:k]

    for _ in range(2):
        ProjectedKMeans(5, init=init, n_init=4, random_state=3).fit(X)
    assert len(seen) == 8
    assert seen[:4] == seen[4:]
    assert len(set(seen)) == 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("solver", ["lloyd", "hartigan"])
@pytest.mark.parametrize("projection", ["sign", None])
def test_bits_do_not_depend_on_threads_or_blocks(
    dtype: str, solver: str, projection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, centers, inertia and history have the same bits for any threads and block size."""
    X, _ = draw_blobs(gap=0.3)
    X = (X * 20 + 100).clip(0, 255).astype(dtype)

    def fit(n_threads: int | None) -> ProjectedKMeans:
        return ProjectedKMeans(
            5, projection=projection, solver=solver, random_state=4, n_threads=n_threads
        ).fit(X)

    first = fit(1)
    for n_threads in (2, 3, None):
        assert_same_fit(first, fit(n_threads))
    for size in (1, 5000, 40_000):
        use_small_blocks(monkeypatch, size)
        assert_same_fit(first, fit(2))


def test_the_key_repeats_the_run() -> None:
    """A fit from None, a RandomState or an integer is repeated by its key_."""
    X, _ = draw_blobs(gap=0.2)
    for state in (None, np.random.RandomState(5), 11, np.int64(12), 2**63 + 1):
        model = ProjectedKMeans(5, random_state=state).fit(X)
        assert_same_fit(model, ProjectedKMeans(5, random_state=model.key_).fit(X))


def test_a_random_state_moves_on() -> None:
    """Two fits from one RandomState differ; two from equal ones are the same."""
    X, _ = draw_blobs(gap=0.2)
    state = np.random.RandomState(0)
    models = [ProjectedKMeans(5, random_state=state).fit(X) for _ in range(2)]
    assert models[0].key_ != models[1].key_
    again = ProjectedKMeans(5, random_state=np.random.RandomState(0)).fit(X)
    assert_same_fit(models[0], again)


def test_fits_in_parallel_are_the_same() -> None:
    """Fits that run at once in several Python threads do not disturb one another."""
    X, _ = draw_blobs(n=400, gap=0.2)

    def fit(seed: int) -> ProjectedKMeans:
        return ProjectedKMeans(5, random_state=seed % 3).fit(X)

    alone = [fit(seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        for seed, model in enumerate(pool.map(fit, range(9))):
            assert_same_fit(model, alone[seed % 3])


def test_row_order_does_not_matter_for_given_centers() -> None:
    """Rows in another order give the same centers up to rounding, from the same first centers."""
    X, _ = draw_blobs(gap=0.2)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = (
        ProjectedKMeans(5, init=X[:5], random_state=0).fit(rows) for rows in (X, X[order])
    )
    np.testing.assert_array_equal(one.labels_[order], other.labels_)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-14)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=0, atol=1e-14)


def fit_weighted_and_repeated(
    init: str, projection: Any, solver: str
) -> tuple[ProjectedKMeans, ProjectedKMeans, NDArray[np.int64], NDArray[np.float64]]:
    """Return a fit of weighted rows, one of the rows repeated as often, the weights, the rows."""
    X, _ = draw_blobs(gap=0.3)
    times = np.random.default_rng(1).integers(0, 4, size=len(X))
    times[:5] = 1
    repeated = np.repeat(X, times, axis=0)
    chosen: dict[str, Any] = {"k-means++": init, "indices": np.arange(5), "centers": X[:5] + 0.1}
    model = ProjectedKMeans(
        5, projection=projection, solver=solver, init=chosen[init], n_init=1, random_state=2
    )
    return clone(model).fit(X, sample_weight=times), model.fit(repeated), times, repeated


@pytest.mark.parametrize("init", ["k-means++", "indices", "centers"])
@pytest.mark.parametrize("projection", ["sign", None])
def test_weights_are_repeated_rows(init: str, projection: Any) -> None:
    """Integer weights give the fit of rows repeated in the same order, zero weights included."""
    weighted, plain, times, _ = fit_weighted_and_repeated(init, projection, "lloyd")
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), plain.labels_)
    assert weighted.inertia_ == pytest.approx(plain.inertia_, rel=1e-12)
    np.testing.assert_allclose(
        weighted.cluster_centers_, plain.cluster_centers_, rtol=0, atol=1e-12
    )
    assert weighted.normalized_inertia_ == pytest.approx(plain.normalized_inertia_, rel=1e-12)


@pytest.mark.parametrize("init", ["k-means++", "indices", "centers"])
@pytest.mark.parametrize("projection", ["sign", None])
@pytest.mark.parametrize("solver", ["auto", "lloyd", "hartigan"])
def test_inertia_counts_weights(init: str, projection: Any, solver: str) -> None:
    """The inertia of weighted rows is that of the repeated rows with the same labels.

    Hartigan's moves take a weighted row at once and repeated rows one by one, so that labels may
    differ from those of the other fit.
    """
    weighted, _, times, repeated = fit_weighted_and_repeated(init, projection, solver)
    gaps = repeated - weighted.cluster_centers_[np.repeat(weighted.labels_, times)]
    exact = float(np.sum(gaps.astype(np.longdouble) ** 2))
    assert weighted.inertia_ == pytest.approx(exact, rel=1e-12)


def test_equal_weights_change_the_unit_of_inertia_only() -> None:
    """Weights that are all equal multiply the inertia and change nothing else."""
    X, _ = draw_blobs(gap=0.3)
    plain = ProjectedKMeans(5, random_state=0, n_init=1).fit(X)
    weighted = ProjectedKMeans(5, random_state=0, n_init=1).fit(X, sample_weight=np.full(150, 4.0))
    np.testing.assert_array_equal(plain.labels_, weighted.labels_)
    assert weighted.inertia_ == pytest.approx(4 * plain.inertia_, rel=1e-13)
    assert weighted.normalized_inertia_ == pytest.approx(plain.normalized_inertia_, rel=1e-13)


def test_rows_without_weight_are_labelled_only() -> None:
    """Rows of weight zero do not move a center, and still get a label."""
    X, _ = draw_blobs(d=20, gap=0.5)
    outliers = np.full((10, 20), 1e3)
    both = np.concatenate([X, outliers])
    weights = np.concatenate([np.ones(150), np.zeros(10)])
    plain = ProjectedKMeans(5, projection=None, init=X[:5]).fit(X)
    weighted = ProjectedKMeans(5, projection=None, init=X[:5]).fit(both, sample_weight=weights)
    np.testing.assert_array_equal(weighted.labels_[:150], plain.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, plain.cluster_centers_, atol=1e-12)
    assert weighted.inertia_ == pytest.approx(plain.inertia_, rel=1e-12)
    assert len(weighted.labels_) == 160


def test_settings_have_the_parameters_of_the_estimator() -> None:
    """`Settings` names every parameter of the constructor, with the same default."""
    assert vars(Settings()) == ProjectedKMeans().get_params()


def test_a_failed_fit_leaves_the_earlier_results() -> None:
    """All results are set when a fit ends, so that an error cannot mix those of two fits."""
    X, _ = draw_blobs(n=40, d=10)
    model = ProjectedKMeans(3, random_state=0).fit(X)
    before = {name: getattr(model, name) for name in ("key_", "labels_", "approach_", "inertia_")}
    model.set_params(random_state=1, n_clusters=2)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((40, 10), np.nan))
    assert all(getattr(model, name) is value for name, value in before.items())

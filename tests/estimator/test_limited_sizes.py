"""Fits with limits of cluster sizes: kinds of rows, threads, checkpoints, proofs, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import ProjectedKMeans, as_row_source
from projected_kmeans.search import approach as plan


def draw_uneven(n_columns: int = 5) -> NDArray[Any]:
    """Return 600 rows around four means, most of them around the first."""
    stream = np.random.default_rng(0)
    means = stream.normal(size=(4, n_columns)) * 3
    return (
        stream.normal(size=(600, n_columns)) + means[np.minimum(stream.geometric(0.6, 600), 4) - 1]
    )


def sizes(model: ProjectedKMeans) -> list[int]:
    """Return the numbers of rows of clusters, ascending."""
    found = np.bincount(np.asarray(model.labels_), minlength=model.n_clusters)
    return sorted(int(size) for size in found)


@pytest.mark.parametrize("n_columns", [5, 300])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_balanced_clusters_differ_by_one_row(n_columns: int, metric: str) -> None:
    """Sizes are even after the sketch, the lifting and the polishing; free ones are not."""
    rows = draw_uneven(n_columns)
    free = ProjectedKMeans(7, metric=metric, random_state=0).fit(rows)
    model = ProjectedKMeans(7, metric=metric, max_cluster_size="equal", random_state=0).fit(rows)
    assert set(sizes(model)) == {85, 86}
    assert max(sizes(free)) > 100
    assert model.inertia_ > free.inertia_
    assert model.inertia_ >= -model.score(rows)


def test_inertia_is_that_of_the_labels() -> None:
    """The inertia is the sum of squared distances to the means of the labels."""
    rows = draw_uneven()
    model = ProjectedKMeans(5, min_cluster_size=100, max_cluster_size=150, random_state=0).fit(rows)
    means = np.stack([rows[model.labels_ == one].mean(axis=0) for one in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-12)
    assert model.inertia_ == pytest.approx(((rows - means[model.labels_]) ** 2).sum(), rel=1e-12)
    assert min(sizes(model)) >= 100
    assert max(sizes(model)) <= 150


@pytest.mark.parametrize("n_columns", [5, 300])
def test_kinds_of_rows_and_threads_agree(n_columns: int) -> None:
    """Rows in memory, in a source and on Dask, and other threads, give the same bits."""
    rows = draw_uneven(n_columns)
    one = ProjectedKMeans(6, max_cluster_size="equal", random_state=1, n_threads=1).fit(rows)
    others: list[Any] = [as_row_source(rows), da.from_array(rows, chunks=(170, -1)), rows]
    for given in others:
        other = ProjectedKMeans(6, max_cluster_size="equal", random_state=1, n_threads=3).fit(given)
        np.testing.assert_array_equal(np.asarray(other.labels_), one.labels_)
        assert other.inertia_ == one.inertia_
    sparse = ProjectedKMeans(6, max_cluster_size="equal", random_state=1)
    assert sizes(sparse.fit(scipy.sparse.csr_array(np.maximum(rows, 0)))) == [100] * 6


def test_free_clusters_within_the_limits_are_the_answer() -> None:
    """If a free fit keeps the limits, the limited one is the same."""
    rows = draw_uneven()
    free = ProjectedKMeans(4, random_state=0).fit(rows)
    low, high = sizes(free)[0], sizes(free)[-1]
    model = ProjectedKMeans(4, min_cluster_size=low, max_cluster_size=high, random_state=0)
    np.testing.assert_array_equal(model.fit(rows).labels_, free.labels_)


@pytest.mark.parametrize("k", [6, 40])
def test_swaps_lower_the_inertia_within_the_limits(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of uneven groups end lower with swaps than without, with sizes within the limits."""
    # Keys are fixed.
    stream = np.random.default_rng(0)
    groups = stream.choice(k, 5000, p=stream.dirichlet(np.full(k, 5.0)))
    rows = stream.normal(size=(k, 50))[groups] + stream.normal(size=(5000, 50))
    low, high = int(0.8 * 5000 / k), int(1.2 * 5000 / k)

    def fit(key: int, n_threads: int = 1) -> ProjectedKMeans:
        model = ProjectedKMeans(k, min_cluster_size=low, max_cluster_size=high, random_state=key)
        return model.set_params(n_threads=n_threads).fit(rows)

    swapped = [fit(key) for key in range(3)]
    assert fit(0, n_threads=2).labels_.tobytes() == swapped[0].labels_.tobytes()
    for model in swapped:
        assert low <= sizes(model)[0] <= sizes(model)[-1] <= high
    plain = ProjectedKMeans(
        k, min_cluster_size=low, max_cluster_size=high, solver="lloyd", n_init=1
    )
    without = [plain.set_params(random_state=key).fit(rows).inertia_ for key in range(3)]
    assert np.median([model.inertia_ for model in swapped]) <= np.median(without)


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_keep_limits_in_proportion(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where levels are samples, limits hold exactly for all rows in the end."""
    monkeypatch.setattr(plan, "ROWS_PER_CLUSTER", 10)
    monkeypatch.setattr(plan, "MIN_LEVEL_ROWS", 40)
    weights = np.linspace(0.5, 1.5, 600) if weighted else None
    model = ProjectedKMeans(5, min_cluster_size=100, max_cluster_size=140, random_state=0)
    model.fit(draw_uneven(), sample_weight=weights)
    assert len(model.approach_.level_rows) > 1
    mass = np.bincount(model.labels_, weights, minlength=5)
    assert mass.min() >= 100
    assert mass.max() <= 140


@pytest.mark.parametrize("n_columns", [5, 300])
def test_limits_that_hardly_bind_cost_hardly_anything(n_columns: int) -> None:
    """A limit just below the largest free cluster ends near the free fit, and not below it."""
    rows = draw_uneven(n_columns)
    free = ProjectedKMeans(12, random_state=0).fit(rows)
    largest = sizes(free)[-1]
    model = ProjectedKMeans(12, max_cluster_size=largest - 2, random_state=0).fit(rows)
    assert sizes(model)[-1] <= largest - 2
    assert 0.999 * free.inertia_ <= model.inertia_ <= 1.01 * free.inertia_


def test_limits_in_weight() -> None:
    """With weights, sums of weights keep the limits."""
    rows, weights = draw_uneven(), np.random.default_rng(1).random(600)
    model = ProjectedKMeans(5, max_cluster_size=70.0, min_cluster_size=50.0, random_state=0)
    labels = model.fit(rows, sample_weight=weights).labels_
    mass = np.bincount(labels, weights, minlength=5)
    assert mass.min() >= 50
    assert mass.max() <= 70
    assert np.ptp(np.bincount(labels)) > 0


def test_a_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """A fit that is stopped inside the limited passes and continued gives the same bits."""
    rows = draw_uneven(300)
    given = {"n_clusters": 6, "max_cluster_size": "equal", "random_state": 3}
    whole = ProjectedKMeans(**given).fit(rows)
    n_left = [0]

    def end(state: Any) -> None:
        n_left[0] -= 1
        if n_left[0] == 0:
            raise KeyboardInterrupt

    for n_left[0] in (25, 18, 12, 6):
        try:
            ProjectedKMeans(**given, checkpoint=tmp_path, callback=end).fit(rows)
        except KeyboardInterrupt:
            continue
    again = ProjectedKMeans(**given, checkpoint=tmp_path).fit(rows)
    np.testing.assert_array_equal(again.labels_, whole.labels_)
    assert again.inertia_ == whole.inertia_


def test_a_stopped_fit_keeps_the_limits() -> None:
    """A time budget of 0 still ends with clusters within the limits."""
    model = ProjectedKMeans(6, max_cluster_size="equal", time_budget=0, random_state=0).fit(
        draw_uneven()
    )
    assert sizes(model) == [100] * 6


def test_a_certificate_is_about_clusters_of_any_size() -> None:
    """The bound is below the free inertia, labels stay, and a sentence says what is bounded."""
    rows = draw_uneven()[:200]
    free = ProjectedKMeans(3, random_state=0).fit(rows)
    model = ProjectedKMeans(
        3, max_cluster_size="equal", certificate="semidefinite", random_state=0
    ).fit(rows)
    assert sizes(model) == [66, 67, 67]
    proof = model.certificate_
    assert proof is not None
    assert proof.lower_bound <= free.inertia_ <= model.inertia_ == proof.inertia
    assert "3 groups of any size" in proof.describe()


def test_a_guarantee_keeps_the_limits() -> None:
    """Further clusterings for a guarantee keep the limits, too."""
    model = ProjectedKMeans(3, max_cluster_size="equal", guarantee=1.0001, random_state=0)
    with pytest.warns(UserWarning, match="guarantee"):
        model.fit(draw_uneven()[:200])
    assert sizes(model) == [66, 67, 67]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"min_cluster_size": 201}, "n_clusters=3 with min_cluster_size=201 need more than all"),
        ({"max_cluster_size": 199}, "n_clusters=3 with max_cluster_size=199 have no room"),
        ({"max_cluster_size": -1}, "max_cluster_size=-1"),
        (
            {"max_cluster_size": "even"},
            "max_cluster_size='even' is not known; use a number or 'equal'",
        ),
        ({"max_cluster_size": "equal", "min_cluster_size": 3}, "'equal' sets both limits"),
        ({"min_cluster_size": 9, "max_cluster_size": 8}, "min_cluster_size=9 is above"),
        ({"max_cluster_size": "equal", "trim": 0.1}, "trim=0.1 goes with no limits"),
        (
            {"max_cluster_size": "equal", "solver": "sdp"},
            "solver='sdp' finds the best clusters of any size",
        ),
    ],
)
def test_limits_that_cannot_be_used_are_refused(given: dict[str, Any], sentence: str) -> None:
    """One sentence says what is wrong, before any work."""
    calls: list[Any] = []
    model = ProjectedKMeans(3, callback=calls.append, **given)
    with pytest.raises(ValueError, match=r"use|exchange|at least") as raised:
        model.fit(draw_uneven())
    assert sentence in str(raised.value)
    assert not calls


def test_streams_refuse_limits() -> None:
    """Rows that are not kept cannot be counted in clusters."""
    with pytest.raises(
        ValueError, match="max_cluster_size need all rows, which a stream does not keep"
    ):
        ProjectedKMeans(3, max_cluster_size="equal").partial_fit(draw_uneven())

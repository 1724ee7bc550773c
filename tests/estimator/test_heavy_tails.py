"""Fits of rows with heavy tails: far rows are found by swaps, and all promises hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from projected_kmeans import FitState, ProjectedKMeans
from projected_kmeans.sources.open_rows import open_rows
from tests.support.blobs import assert_consistent, assert_same_fit

K = 30


def draw_tails(n: int = 12_000, d: int = 50, degrees: float = 2.0) -> NDArray[np.float32]:
    """Return rows of a multivariate t distribution."""
    stream = np.random.default_rng(4)
    lengths = np.sqrt(stream.chisquare(degrees, (n, 1)) / degrees)
    return (stream.normal(size=(n, d)) / lengths).astype(np.float32)


def draw_half_pareto(generator: int, n: int = 10_000) -> NDArray[np.float64]:
    """Return rows of 200 columns: every other one has far values, each in few rows."""
    stream = np.random.default_rng(generator)
    X = stream.normal(size=(n, 200))
    X[:, ::2] = stream.pareto(1.5, size=(n, 100))
    return X


def fit(X: Any, sample_weight: Any = None, **options: Any) -> ProjectedKMeans:
    """Fit rows with the automatic plan in a sketch of 20 principal directions."""
    options = {"projection": "svd", "n_components": 20, "random_state": 1, **options}
    return ProjectedKMeans(K, **options).fit(X, sample_weight=sample_weight)


@pytest.mark.parametrize("generator", [0, 1, 2])
def test_single_far_values_are_found(generator: int) -> None:
    """Rows that are far in one column of 200 get centers: the inertia is scikit-learn's best."""
    # Generators and keys are fixed.
    X = draw_half_pareto(generator)
    best = min(KMeans(8, n_init=1, random_state=key).fit(X).inertia_ for key in range(3))
    assert ProjectedKMeans(8, random_state=0).fit(X).inertia_ <= 1.01 * best


def test_single_far_values_of_sparse_rows_are_found() -> None:
    """Sparse rows with far values end as near to the dense fit, with a map or without."""
    # The key is fixed.
    X = draw_half_pareto(0, n=3000)
    X[np.abs(X) < 1] = 0
    best = min(KMeans(8, n_init=1, random_state=key).fit(X).inertia_ for key in range(3))
    for projection in ("svd", None):
        model = ProjectedKMeans(8, random_state=0, projection=projection)
        assert model.fit(scipy.sparse.csr_array(X)).inertia_ <= 1.02 * best


def test_few_clusters_of_lognormal_rows() -> None:
    """Three clusters of lognormal rows are those of scikit-learn's best of three."""
    # The key is fixed.
    X = np.random.default_rng(0).lognormal(0, 2, size=(10_000, 200))
    best = min(KMeans(3, n_init=1, random_state=key).fit(X).inertia_ for key in range(3))
    assert ProjectedKMeans(3, random_state=0).fit(X).inertia_ <= 1.01 * best


def test_swaps_end_lower_where_tails_are_heavy() -> None:
    """The search ends below Lloyd's method from the same kind of first centers."""
    # Keys are fixed.
    X = draw_tails()
    swapped = [fit(X, random_state=key).inertia_ for key in range(2)]
    plain = [fit(X, random_state=key, solver="lloyd", n_init=1).inertia_ for key in range(2)]
    assert max(swapped) < min(plain)
    assert_consistent(fit(X), X)


@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"projection": None}])
def test_the_partition_does_not_depend_on_threads_or_where_rows_lie(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """One thread and two, memory, a file and Dask give the same bits."""
    X = draw_tails(d=45)
    if options.get("projection", "svd") is None:
        options = {**options, "n_components": "auto"}
    one = fit(X, n_threads=1, **options)
    assert_same_fit(fit(X, n_threads=2, **options), one)
    np.save(tmp_path / "rows.npy", X)
    assert_same_fit(fit(open_rows(tmp_path / "rows.npy"), **options), one)
    distant = fit(da.from_array(X, chunks=(5000, -1)), **options)
    np.testing.assert_array_equal(np.asarray(distant.labels_), one.labels_)
    assert distant.inertia_ == one.inertia_


def test_weights_count_rows_as_often() -> None:
    """Rows without weight change next to nothing, however far they are."""
    X = draw_tails()
    weights = np.ones(len(X))
    weights[:100] = 0.0
    far = X.copy()
    far[:100] *= 3
    assert fit(X, weights).inertia_ == pytest.approx(fit(far, weights).inertia_, rel=0.05)


def test_a_fit_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """A fit that a callback stopped in a late pass ends with the bits of one that was not."""
    X = draw_tails()

    def stop(state: FitState) -> bool:
        return state.step == "cluster" and state.iteration == 4

    whole = fit(X)
    fit(X, checkpoint=tmp_path / "run", callback=stop)
    resumed = fit(X, checkpoint=tmp_path / "run")
    assert_same_fit(resumed, whole)
    again = fit(X, checkpoint=tmp_path / "run")
    assert again.approach_ == whole.approach_


def test_polishing_goes_on_while_it_gains() -> None:
    """Rows without principal directions get more passes; a number that is given is kept."""
    noise = np.random.default_rng(0).normal(size=(10_000, 128)).astype(np.float32)
    options: dict[str, Any] = {"random_state": 0, "max_iter": 10, "n_components": 20}
    automatic = ProjectedKMeans(50, **options).fit(noise)
    one = ProjectedKMeans(50, polish_iter=1, **options).fit(noise)
    n_passes = [sum(state.step == "polish" for state in fit.trace_) for fit in (automatic, one)]
    assert n_passes[0] > n_passes[1]
    gains = [state.inertia for state in automatic.trace_ if state.step == "polish"]
    assert all(after <= before for before, after in pairwise(gains))
    assert automatic.inertia_ < one.inertia_

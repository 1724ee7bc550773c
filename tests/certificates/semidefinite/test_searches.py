"""Both searches: they come close to the optimum, give the same bits again, and stop anywhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from projected_kmeans import ProjectedKMeans
from projected_kmeans.certificates.dense_proof_rows import DenseProofRows
from projected_kmeans.certificates.semidefinite.cut_search import CutSearch
from projected_kmeans.certificates.semidefinite.plain_search import PlainSearch
from projected_kmeans.certificates.semidefinite.proof import MatrixBound

IRIS = load_iris().data
LABELS = ProjectedKMeans(3, projection=None, random_state=0).fit(IRIS).labels_


def prove_iris(kind: type[PlainSearch] | type[CutSearch], n_steps: int) -> float:
    """Return inertia / bound after some steps on iris."""
    bound = MatrixBound(DenseProofRows(IRIS), 3)
    search = kind(bound, LABELS)
    for step in range(n_steps):
        search.step()
        if step % 20 == 19:
            search.tighten()
    inertia = 78.85144142614601
    return inertia / bound.to_original(bound.prove(search.multipliers()))


def test_cuts_close_the_gap_of_iris() -> None:
    """Without cuts the relaxation of iris has a gap of some percent; cuts close it."""
    assert 1.01 < prove_iris(PlainSearch, 100) < 1.1
    assert 1.0 <= prove_iris(CutSearch, 160) < 1.001


@pytest.mark.parametrize("kind", [PlainSearch, CutSearch])
def test_the_bits_do_not_depend_on_threads(kind: type[PlainSearch] | type[CutSearch]) -> None:
    """The same multipliers come out however many threads BLAS may use."""
    rows = np.random.default_rng(0).normal(size=(220, 40))
    labels = np.arange(220, dtype=np.int32) % 7
    found = set()
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            search = kind(MatrixBound(DenseProofRows(rows), 7), labels)
            for step in range(9):
                search.step()
                if step == 4:
                    search.tighten()
            made = search.multipliers()
            found.add(made.entries.tobytes() + made.cuts.tobytes() + made.values.tobytes())
    assert len(found) == 1


def test_a_search_ends_with_the_best_clustering_as_its_matrix() -> None:
    """Where the gap closes, X is the matrix of the best clustering: 0 or 1 / size."""
    stream = np.random.default_rng(2)
    labels = (np.arange(60) % 3).astype(np.int32)
    rows = stream.normal(size=(60, 2)) + 20 * np.eye(3, 2)[labels]
    search = PlainSearch(MatrixBound(DenseProofRows(rows), 3), np.zeros(60, np.int32))
    for _ in range(60):
        search.step()
    assert search.factors is not None
    X = (search.factors.vectors * search.factors.values) @ search.factors.vectors.T + 1 / 60
    np.testing.assert_allclose(X, (labels[:, None] == labels) / 20, atol=2e-3)

"""Locally linear features agree with scikit-learn's embedding."""

from __future__ import annotations

import math

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding

from projected_kmeans.paper import (
    LocallyLinearFeatures,
)
from tests.support.normal_rows import draw_normal_rows


def test_textbook_embedding_is_that_of_scikit_learn() -> None:
    """With textbook indexing the embedding is scikit-learn's without regulariser, up to signs."""
    rows = draw_normal_rows(60, 30)
    found = LocallyLinearFeatures(3, n_neighbors=10).fit_transform(rows)
    theirs = LocallyLinearEmbedding(
        n_neighbors=10, n_components=3, reg=0, eigen_solver="dense"
    ).fit_transform(rows)
    np.testing.assert_allclose(np.abs(found), np.abs(theirs), atol=1e-9)


def test_paper_indexing_begins_with_the_constant_vector() -> None:
    """The paper's columns are a constant unit vector and all but the last of the textbook's."""
    rows = draw_normal_rows(60, 30)
    textbook = LocallyLinearFeatures(3, n_neighbors=10).fit(rows)
    paper = LocallyLinearFeatures(3, n_neighbors=10, indexing="paper").fit(rows)
    np.testing.assert_allclose(paper.embedding_[:, 0], 1 / math.sqrt(60))
    np.testing.assert_array_equal(paper.embedding_[:, 1:], textbook.embedding_[:, :2])
    np.testing.assert_allclose(paper.transform(rows), paper.embedding_, atol=0.05)

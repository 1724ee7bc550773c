"""The data sets of whole fits: how they are made, stored and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import data_sets
import numpy as np
import pytest
import scipy.sparse
from fit_process import load_rows

from projected_kmeans import normalized_inertia
from tests.support.benchmark_rows import MIXTURE, TEXTS


@pytest.mark.parametrize("rows", [MIXTURE, TEXTS], ids=["dense", "CSR"])
def test_the_judge_measures_distances_to_means(rows: Any) -> None:
    """F~ of labels is that of distances to means, one by one, and that of the library."""
    labels = np.random.default_rng(0).choice([0, 1, 3], rows.shape[0])
    full = (rows.toarray() if scipy.sparse.issparse(rows) else rows).astype(float)
    inertia = sum(((full[labels == j] - full[labels == j].mean(0)) ** 2).sum() for j in (0, 1, 3))
    found = data_sets.measure_partition(rows, labels)
    np.testing.assert_allclose(found, inertia / (full**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(found, normalized_inertia(full, labels), rtol=1e-9)


def test_made_rows_are_as_described() -> None:
    """Texts have 100 words and length 1, the mixture's rows have length 1 on the average."""
    assert (np.diff(TEXTS.indptr) == 100).all()
    assert (np.diff(TEXTS.indices.reshape(-1, 100), axis=1) > 0).all()
    np.testing.assert_allclose(TEXTS.multiply(TEXTS).sum(axis=1), 1, rtol=1e-5)
    assert abs((MIXTURE.astype(float) ** 2).sum(axis=1).mean() - 1) < 0.05


def test_words_that_differ_are_kept() -> None:
    """The first words that differ are kept, in ascending order; too few are an error."""
    drawn = np.array([[7, 7, 5, 7, 9, 1], [2, 1, 1, 1, 2, 0]])
    assert data_sets.keep_distinct(drawn, 3).tolist() == [[5, 7, 9], [0, 1, 2]]
    with pytest.raises(ValueError, match="fewer than 3 different words"):
        data_sets.keep_distinct(np.array([[1, 1, 2, 2]]), 3)


@pytest.mark.parametrize("rows", [MIXTURE, TEXTS], ids=["dense", "CSR"])
def test_rows_are_stored_and_loaded(
    rows: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process finds the rows that another made, which are made only once."""
    monkeypatch.setattr(data_sets, "SOURCES", {"made": lambda shrink: rows})
    path = data_sets.store_rows("made", tmp_path)
    monkeypatch.setattr(data_sets, "SOURCES", {})
    loaded = load_rows(data_sets.store_rows("made", tmp_path))
    assert path.parent == tmp_path
    assert abs(loaded - rows).max() == 0

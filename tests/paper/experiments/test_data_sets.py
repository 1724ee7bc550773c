"""Real data of the experiments is found in the data folder, or left out with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.paper.experiments.data_sets import SOURCES, DataSet, find_data_sets


def test_missing_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty data folder only scikit-learn's data is found; each other one has a sentence."""
    monkeypatch.setenv("PROJECTED_KMEANS_DATA", str(tmp_path))
    found = find_data_sets([*SOURCES, "ORL"], None)
    bundled = ["iris", "wine", "breast cancer", "digits"]
    assert [data.name for data in found.sets] == bundled
    assert len(found.missing) == len(SOURCES) + 1 - len(bundled)
    assert any("COIL20.mat is in no data folder" in sentence for sentence in found.missing)
    assert found.missing[-1] == "ORL is left out, because the face images were not found"


def test_newsgroups_are_sparse_rows_with_classes(find_data: Callable[[str], Path]) -> None:
    """The texts are read as sparse rows, with one of twenty classes each."""
    find_data("newsgroups.npz")
    (texts,) = find_data_sets(["newsgroups"], None).sets
    assert texts.is_sparse
    assert texts.rows.shape == (19997, 51020)
    assert texts.classes is not None
    assert len(np.unique(texts.classes)) == texts.n_clusters == 20


def test_every_entry_counts_in_the_description() -> None:
    """The checksum of a data set changes with any entry, dense or sparse."""
    rows = np.arange(6.0).reshape(2, 3)
    other = rows.copy()
    other[1, 2] = 7.0
    for make in (np.ascontiguousarray, scipy.sparse.csr_matrix):
        first, second = (DataSet("made up", make(one), 2).describe() for one in (rows, other))
        assert first["sha256"] != second["sha256"]
        assert first["shape"] == second["shape"] == [2, 3]

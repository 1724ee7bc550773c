"""The first rows of every cluster: against a sort of all rows, for any blocks."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.passes.ranked_rows import no_rows, rank_rows


@pytest.mark.parametrize("size", [1, 7, 200])
def test_lists_are_those_of_a_sort(size: int) -> None:
    """Whatever the blocks, lists hold the first rows by key and then by index, also with ties."""
    stream = np.random.default_rng(0)
    labels = stream.integers(-1, 6, size=200).astype(np.int32)
    keys = stream.integers(5, size=200).astype(np.float64)
    lists = no_rows(7, 4)
    starts = list(range(0, 200, size))
    for start in stream.permutation(starts).tolist():
        part = slice(start, start + size)
        rank_rows(lists, labels[part], keys[part], start)
    for cluster in range(7):
        own = np.flatnonzero(labels == cluster)
        expected = own[np.lexsort((own, keys[own]))][:4].tolist()
        assert lists["row"][cluster].tolist() == expected + [-1] * (4 - len(expected))
        assert lists["key"][cluster][: len(expected)].tolist() == keys[expected].tolist()
    assert np.isinf(lists["key"][6]).all()  # no row has the label 6

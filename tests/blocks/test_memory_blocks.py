"""Rows in memory, cut into blocks."""

from __future__ import annotations

import numpy as np
import pytest

from projected_kmeans.blocks.memory_blocks import SparseBlocks
from tests.support.sparse_rows import draw_sparse


def test_blocks_are_views_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks follow one another, share memory with the rows and hold about as many bytes each."""
    rows = draw_sparse(0, 400, 50, density=0.3, wide=True).sparse
    monkeypatch.setattr("projected_kmeans.blocks.memory_blocks.BLOCK_BYTES", 16 * 500)
    source = SparseBlocks(rows)
    blocks = list(source)
    assert len(blocks) == len(source) > 5
    assert [block.start for block in blocks[1:]] == [block.span.stop for block in blocks[:-1]]
    assert max(block.rows.nnz for block in blocks) <= 500 + 50
    for block in blocks:
        assert np.shares_memory(block.rows.data, rows.data)
        assert np.shares_memory(block.rows.indices, rows.indices)
        np.testing.assert_array_equal(block.rows.toarray(), rows[block.span].toarray())
    taken = source.take(np.array([5, 399, 5]))
    np.testing.assert_array_equal(taken, rows.toarray()[[5, 399, 5]])

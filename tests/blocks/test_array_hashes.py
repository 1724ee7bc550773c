"""Hashes of arrays: all entries, the shape and the element type count, the layout does not."""

from __future__ import annotations

import numpy as np

from projected_kmeans.blocks.array_hashes import PIECE_BYTES, hash_arrays


def test_every_entry_counts() -> None:
    """One changed bit anywhere, also beyond the first piece, gives another hash."""
    rows = np.zeros((PIECE_BYTES // 400, 101), np.float64)
    assert rows.nbytes > 2 * PIECE_BYTES
    before = hash_arrays(rows)
    for place in ((0, 0), (len(rows) // 2, 50), (-1, -1)):
        rows[place] = 5e-324
        assert hash_arrays(rows) != before
        rows[place] = 0
    assert hash_arrays(rows) == before


def test_shape_and_type_count() -> None:
    """Equal bytes in another shape, of another type or in another split are other arrays."""
    rows = np.zeros((6, 4))
    others = [rows.reshape(4, 6), rows.view(np.int64), rows[:5]]
    hashes = {hash_arrays(each) for each in (rows, *others)}
    assert len({*hashes, hash_arrays(rows[:3], rows[3:])}) == 5


def test_the_layout_does_not_count() -> None:
    """The same entries in another order of memory have the same hash."""
    rows = np.random.default_rng(0).normal(size=(7, 5))
    assert hash_arrays(np.asfortranarray(rows)) == hash_arrays(rows)
    assert hash_arrays(np.repeat(rows, 2, axis=0)[::2]) == hash_arrays(rows)

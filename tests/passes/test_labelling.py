"""Labels of new rows, block by block: the nearest of fixed centers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes.labelling import label_blocks
from tests import reference

ROWS = np.random.default_rng(0).normal(size=(50, 3)).round(1)
CENTERS = np.random.default_rng(1).normal(size=(4, 3))


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_labels_are_those_of_the_twin(sparse: bool, spherical: bool) -> None:
    """Each block gets the labels of its rows, which are divided by their lengths if asked for."""
    source = SparseBlocks(scipy.sparse.csr_array(ROWS), 7) if sparse else ArrayBlocks(ROWS, 7)
    found = list(label_blocks(source, CENTERS, spherical=spherical))
    assert [block.start for block in found] == list(range(0, 50, 7))
    seen = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True) if spherical else ROWS
    labels = np.concatenate([block.labels for block in found])
    np.testing.assert_array_equal(labels, reference.nearest_center(seen, CENTERS))


def test_a_bad_entry_ends_the_labels_at_its_block() -> None:
    """Blocks before the bad entry are labelled; the error names its place among all rows."""
    rows = ROWS.copy()
    rows[30, 1] = np.nan
    labelled = label_blocks(ArrayBlocks(rows, 20), CENTERS)
    assert next(labelled).start == 0
    with pytest.raises(ValueError, match="X contains NaN at row 30, column 1"):
        next(labelled)

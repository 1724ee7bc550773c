"""Labels among very many centers: bounds rule most of them out, and labels are those of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes import pruned_labels
from projected_kmeans.passes.center_cells import CenterCells
from projected_kmeans.passes.center_sketch import CenterSketch
from projected_kmeans.passes.labelling import label_blocks
from projected_kmeans.passes.pruned_labels import choose_pruning
from tests.support.problems import make_problem

D = 140


def draw(kind: str, n: int = 1200, k: int = 300, dtype: Any = np.float32) -> tuple[Any, Any]:
    """Return rows and centers: a tree of groups, a low-dimensional cloud, or noise; with ties."""
    stream = np.random.default_rng(3)
    if kind == "tree":
        places = np.repeat(8 * stream.normal(size=(30, D)), k // 30, axis=0)
        centers = places + stream.normal(size=(k, D))
    elif kind == "flat":
        centers = stream.normal(size=(k, 5)) @ stream.normal(size=(5, D))
    else:
        centers = stream.normal(size=(k, D))
    centers = centers.astype(np.float32).astype(np.float64)
    centers[k // 2 :: 7] = centers[: len(centers[k // 2 :: 7])]  # equal centers
    if kind == "noise":
        return stream.normal(size=(n, D)).astype(dtype), centers
    spread = 0.05 if kind == "flat" else 0.2
    rows = centers[stream.integers(k, size=n)] + spread * stream.normal(size=(n, D))
    return rows.astype(dtype), centers


def label_fully(rows: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.int32]:
    """Return the labels by looking at all centers."""
    labels = np.zeros(len(rows), np.int32)
    make_problem(rows).assign(centers, labels, keep_ties=False)
    return labels


@pytest.mark.parametrize("kind", ["tree", "flat", "noise"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_labels_are_those_of_all_centers(kind: str, dtype: str, offset: float) -> None:
    """Whatever the rows are, both ways find the nearest center, of equal ones the first."""
    rows, centers = draw(kind, dtype=dtype)
    rows, centers = (rows + offset).astype(dtype), centers + offset
    expected, shares = label_fully(rows, centers), {}
    for way in (
        CenterCells.around(centers, make_problem(rows)),
        CenterSketch.of(centers, rows.dtype),
    ):
        labels = np.full(len(rows), 7, np.int32)
        shares[type(way).__name__] = way.label(make_problem(rows, n_threads=2), labels)
        np.testing.assert_array_equal(labels, expected)
    alone = 64 / 300 + 2 * 65 / D + 8 / 300  # what the sketch takes if no row is left over
    if kind == "noise":
        assert shares["CenterCells"] > 1
        assert shares["CenterSketch"] > alone + 0.5
    elif offset == 0:
        assert shares["CenterCells"] < 0.4
        assert shares["CenterSketch"] == pytest.approx(alone, abs=0.05)


def test_the_way_that_saves_most_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees take cells if rows are many; noise, few centers and huge numbers take none."""
    rows, centers = draw("tree", k=1200)
    problem = make_problem(rows)
    assert isinstance(choose_pruning(centers, problem, 10**6), CenterCells)
    assert choose_pruning(centers, problem, 1000) is None
    assert choose_pruning(centers[:200], problem, 10**6) is None
    assert choose_pruning(1e20 * centers, problem, 10**6) is None
    assert choose_pruning(centers, make_problem(1e20 * rows), 10**6) is None
    noise, others = draw("noise", k=1200)
    assert choose_pruning(others, make_problem(noise), 10**6) is None


def test_blocks_are_labelled_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of blocks do not depend on pruning, blocks or threads; distances belong to them."""
    rows, centers = draw("tree", k=1200)
    monkeypatch.setattr(pruned_labels, "ROWS_PER_CELL", 1)
    expected = label_fully(rows, centers)
    for pruned, block_rows, n_threads in ((True, 1200, 1), (True, 500, 2), (False, 500, 1)):
        blocks = list(
            label_blocks(
                ArrayBlocks(rows, block_rows), centers, n_threads, measured=True, pruned=pruned
            )
        )
        np.testing.assert_array_equal(np.concatenate([one.labels for one in blocks]), expected)
        gaps = rows.astype(np.float64) - centers[expected]
        measured = np.concatenate([np.asarray(one.distances) for one in blocks])
        np.testing.assert_allclose(measured, np.linalg.norm(gaps, axis=1), rtol=1e-9)

"""Nearest of many centers: a sketch rules most of them out, and labels are those of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes import pruned_search
from projected_kmeans.passes.frame import Frame
from projected_kmeans.passes.labelling import label_blocks
from projected_kmeans.passes.pruned_search import (
    CenterSketch,
    PrunedCenters,
    count_directions,
    count_groups,
    count_share,
    is_moderate,
    is_worthwhile,
)
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
    """Rows get the nearest center, of equal ones the first, whatever is known of them before."""
    rows, centers = draw(kind, dtype=dtype)
    rows, centers = (rows + offset).astype(dtype), centers + offset
    expected, problem = label_fully(rows, centers), make_problem(rows, n_threads=2)
    frame = Frame.around(centers, rows.dtype, problem.ranges)
    pruned, compared = PrunedCenters(centers, rows.dtype, 2), {}
    guesses = {"none": None, "right": expected, "wrong": np.roll(expected, 5)}
    for name, guess in guesses.items():
        labels = np.full(len(rows), 7, np.int32) if guess is None else guess.copy()
        compared[name] = pruned.label(rows, frame, labels, guessed=guess is not None)
        np.testing.assert_array_equal(labels, expected)
    if kind == "noise":
        assert compared["right"] == 1200 * 300  # nothing is ruled out, so that all are compared
    elif offset == 0:
        assert compared["right"] <= compared["none"] < 1200 * 20
        assert compared["right"] < compared["wrong"]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_rows_of_bytes_are_labelled(dtype: str) -> None:
    """Rows of small integers, with many ties, get the labels of a full pass."""
    stream = np.random.default_rng(1)
    rows = stream.integers(0, 4, (700, 80)).astype(dtype)
    centers = stream.integers(0, 4, (300, 80)).astype(float)
    frame = Frame.around(centers, np.dtype(np.float32), make_problem(rows).ranges)
    labels = np.zeros(700, np.int32)
    PrunedCenters(centers, np.dtype(np.float32), 1).label(rows, frame, labels)
    np.testing.assert_array_equal(labels, label_fully(rows, centers))


def test_bounds_hold_in_a_sketch() -> None:
    """No row is farther from a center in the sketch than in all columns, up to its error."""
    rows, centers = draw("tree")
    sketch = CenterSketch.of(centers, rows.dtype, 1)
    sketched = sketch.sketch(rows, 1)
    inside = sketched.coordinates.astype(float)[:, None] - sketch.centers.astype(float)
    gaps = rows.astype(float)[:, None] - centers
    lower = np.linalg.norm(inside, axis=2) - sketched.errors[:, None]
    assert np.all(lower <= np.linalg.norm(gaps, axis=2))
    away = sketch.centers.astype(float) - sketch.middles[sketch.groups].astype(float)
    assert np.all(np.linalg.norm(away, axis=1) <= sketch.radii[sketch.groups])
    np.testing.assert_array_equal(np.sort(sketch.lists.members), np.arange(300))


def test_noise_is_compared_with_all_centers_after_a_few_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If some rows show that nothing is ruled out, the others are not sketched."""
    rows, centers = draw("noise", n=3000)
    pruned = PrunedCenters(centers, rows.dtype, 1)
    sketched: list[int] = []
    plain = CenterSketch.sketch
    monkeypatch.setattr(
        CenterSketch, "sketch", lambda *args: (sketched.append(len(args[1])), plain(*args))[1]
    )
    labels = np.zeros(3000, np.int32)
    frame = Frame.around(centers, rows.dtype, make_problem(rows).ranges)
    assert pruned.label(rows, frame, labels) == 3000 * 300
    assert sum(sketched) < 700
    np.testing.assert_array_equal(labels, label_fully(rows, centers))


def test_sketches_are_made_where_they_save_work() -> None:
    """Few clusters, rows or columns, and huge numbers, take a full pass."""
    assert is_worthwhile(10**5, 1000, 384)
    assert is_worthwhile(10**5, 200, 784)
    assert not is_worthwhile(10**5, 50, 784)
    assert not is_worthwhile(10**5, 1000, 64)
    assert not is_worthwhile(100, 1000, 384)
    rows, _ = draw("tree")
    assert is_moderate(make_problem(rows).ranges)
    assert not is_moderate(make_problem(1e20 * rows).ranges)
    assert not is_moderate(make_problem(0 * rows).ranges)


def test_blocks_are_labelled_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of blocks do not depend on pruning, blocks or threads; distances belong to them."""
    rows, centers = draw("tree", k=1200)
    monkeypatch.setattr(pruned_search, "MAX_PREPARATION", 9.0)
    monkeypatch.setattr(pruned_search, "MAX_SHARE", 9.0)
    expected = label_fully(rows, centers)
    for pruned, block_rows, n_threads in ((True, 1200, 1), (True, 500, 2), (False, 500, 1)):
        assert is_worthwhile(1200, 1200, D)
        blocks = list(
            label_blocks(
                ArrayBlocks(rows, block_rows), centers, n_threads, measured=True, pruned=pruned
            )
        )
        np.testing.assert_array_equal(np.concatenate([one.labels for one in blocks]), expected)
        gaps = rows.astype(np.float64) - centers[expected]
        measured = np.concatenate([np.asarray(one.distances) for one in blocks])
        np.testing.assert_allclose(measured, np.linalg.norm(gaps, axis=1), rtol=1e-9)


def test_sketches_grow_with_the_number_of_centers() -> None:
    """More centers have more directions and groups, and a smaller share of products is left."""
    assert [count_directions(k) for k in (100, 1000, 4096, 8192)] == [32, 64, 96, 128]
    assert [count_groups(k) for k in (100, 1000, 8192, 10**5)] == [50, 158, 384, 948]
    assert count_share(1000, 384) == pytest.approx(0.25, abs=0.005)
    assert count_share(64, 784) == pytest.approx(0.78, abs=0.005)

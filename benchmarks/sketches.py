"""The rows of the k-means benchmark: sketches of shifted digits, and random clouds of any size.

Makes rows and measures inertia on them; nothing is timed here.
"""

from __future__ import annotations

import os
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans import SignProjection
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.passes.problem import Problem

DIGITS = "mnist_10k.npz"
SIDE = 28

# Number of directions in which a cloud spreads, each less than the one before.
CLOUD_RANK = 24


def find_digits() -> Path | None:
    """Return the file of the digits, or None if it is missing."""
    default = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("PROJECTED_KMEANS_DATA", default)) / DIGITS
    return path if path.is_file() else None


def shift_digits(path: Path, n_shifts: int, n_images: int | None = None) -> NDArray[np.float32]:
    """Return digits in several shifts: the first nine by at most one pixel, later ones by two."""
    with np.load(path) as file:
        images = file["x"][:n_images].reshape(-1, SIDE, SIDE)
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    far = sorted(product(range(-2, 3), repeat=2), key=lambda shift: max(map(abs, shift)) == 2)
    parts = [
        padded[:, 2 - dy : 2 - dy + SIDE, 2 - dx : 2 - dx + SIDE].reshape(len(images), -1)
        for dy, dx in islice(far, n_shifts)
    ]
    return np.concatenate(parts).astype(np.float32)


def sketch_rows(rows: NDArray[Any], t: int) -> NDArray[np.float32]:
    """Return the paper's sketch of the rows, of t dimensions."""
    return np.ascontiguousarray(SignProjection(t, random_state=0).fit_transform(rows))


def make_cloud(n: int, t: int, key: int = 0) -> NDArray[np.float32]:
    """Return rows without clusters, whose spread decays from direction to direction.

    Real sketches are similar: bounds save work because of the leading directions, and Lloyd's
    method still moves rows after many passes.
    """
    stream = np.random.default_rng(key)
    spread = 1 / np.sqrt(np.arange(1, CLOUD_RANK + 1))
    axes = (spread[:, None] * stream.standard_normal((CLOUD_RANK, t))).astype(np.float32)
    rows = np.empty((n, t), dtype=np.float32)
    for start in range(0, n, 100_000):
        part = rows[start : start + 100_000]
        part[:] = stream.standard_normal((len(part), CLOUD_RANK), dtype=np.float32) @ axes
    return rows


def open_problem(rows: NDArray[np.float32], n_threads: int) -> Problem:
    """Return the rows as our solvers take them."""
    blocks = ArrayBlocks(rows)
    return Problem(blocks, scan_columns(blocks, n_threads), None, n_threads)


def draw_centers(rows: NDArray[np.float32], n_clusters: int, key: int = 0) -> NDArray[np.float32]:
    """Return random distinct rows, the same for every system."""
    chosen = np.random.default_rng(key).choice(len(rows), n_clusters, replace=False)
    return np.ascontiguousarray(rows[chosen])


def measure_inertia(rows: NDArray[np.float32], centers: NDArray[Any]) -> float:
    """Return the sum of squared distances to the nearest centers, in float64, for any system."""
    points = np.asarray(centers, dtype=np.float64)
    norms = np.einsum("ij,ij->i", points, points)
    total = 0.0
    for start in range(0, len(rows), 10_000):
        part = rows[start : start + 10_000].astype(np.float64)
        scores = part @ (-2 * points.T)
        scores += norms
        total += float(np.sum(scores.min(axis=1)) + np.sum(part * part))
    return total

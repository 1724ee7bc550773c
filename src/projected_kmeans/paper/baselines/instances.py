"""Small instances of k-means, of several families, whose optimum the exact solver can find.

Draws rows from a key; it solves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from projected_kmeans.blas_threads import multiply
from projected_kmeans.keys import open_stream
from projected_kmeans.paper.streams import INSTANCES
from projected_kmeans.results import Floats

# Dimensions of the instances of low rank, before they are mapped to d dimensions.
FLAT_DIMENSIONS = 2


@dataclass(frozen=True)
class Instance:
    """Rows, the number of clusters to find in them, and the family that they come from."""

    rows: Floats
    n_clusters: int
    family: str


def _draw_noise(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    return stream.normal(size=shape)


def _draw_mixture(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    means = stream.normal(size=(k, shape[1]))
    rows: Floats = means[stream.integers(k, size=shape[0])] + stream.normal(size=shape)
    return rows


def _draw_heavy_tails(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    return stream.normal(size=shape) * stream.pareto(1.5, size=(shape[0], 1))


def _draw_few_features(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows that differ in a few features only: hard for sampled columns."""
    rows = stream.normal(scale=1e-3, size=shape)
    rows[:, :FLAT_DIMENSIONS] += stream.normal(size=(shape[0], FLAT_DIMENSIONS))
    return rows


def _draw_plane(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows near a random plane: hard for few random dimensions."""
    directions = stream.normal(size=(FLAT_DIMENSIONS, shape[1]))
    inside: Floats = multiply(stream.normal(size=(shape[0], FLAT_DIMENSIONS)), directions)
    return inside + stream.normal(scale=1e-3, size=shape)


def _draw_shifted(stream: np.random.Generator, shape: tuple[int, int], k: int) -> Floats:
    """Rows far from the origin: hard for singular vectors, of which the offset takes one."""
    return stream.normal(size=shape) + 100 * stream.normal(size=shape[1])


FAMILIES: Mapping[str, Callable[[np.random.Generator, tuple[int, int], int], Floats]] = (
    MappingProxyType(
        {
            "noise": _draw_noise,
            "mixture": _draw_mixture,
            "heavy tails": _draw_heavy_tails,
            "few features": _draw_few_features,
            "plane": _draw_plane,
            "shifted": _draw_shifted,
        }
    )
)


def draw_instance(key: int, index: int, *, n_samples: int = 11, n_features: int = 240) -> Instance:
    """Return one instance. Families, and two or three clusters, alternate with the index.

    Parameters
    ----------
    key : int
        Fixes all instances.
    index : int
        The number of the instance.
    n_samples, n_features : int
        n and d.

    Examples
    --------
    >>> found = draw_instance(0, 7)
    >>> found.family, found.n_clusters, found.rows.shape
    ('mixture', 3, (11, 240))
    """
    families = tuple(FAMILIES)
    family = families[index % len(families)]
    n_clusters = 2 + index // len(families) % 2
    stream = open_stream(key, INSTANCES, index)
    rows = FAMILIES[family](stream, (n_samples, n_features), n_clusters)
    return Instance(np.ascontiguousarray(rows), n_clusters, family)

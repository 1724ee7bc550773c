"""Multipliers that try to break a semidefinite proof: random ones, and all iterates of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.certificates.semidefinite.multipliers import NO_ROW, Multipliers
from projected_kmeans.certificates.semidefinite.proof import MatrixBound
from projected_kmeans.certificates.semidefinite.search import Search


def draw_multipliers(seed: int, bound: MatrixBound, best: NDArray[Any]) -> Multipliers:
    """Return multipliers that prove a lot, or too much if the check has an error.

    Numbers between the clusters of a best clustering raise the bound without limit in the
    inequality of the proof. The size of the bound's numbers is that of the multipliers, more or
    less.
    """
    stream = np.random.default_rng(seed)
    n = len(bound.gram)
    size = abs(bound.total) / n * 10.0 ** stream.choice([-3, -1, 0, 0, 1, 3, 8])
    apart = best[:, None] != best
    entries = stream.exponential(size=(n, n)) * size
    entries *= stream.choice([apart, np.ones((n, n)), stream.random((n, n)) < 0.3])
    n_cuts = int(stream.choice([0, 1, 5 * n, 200]))
    cuts = stream.integers(n, size=(n_cuts, 3)).astype(np.int32)
    cuts[stream.random(n_cuts) < 0.3, 2] = NO_ROW
    values = stream.exponential(size=n_cuts) * size * 10.0 ** stream.uniform(-6, 0, size=n_cuts)
    return Multipliers(entries, cuts, values * float(np.min(bound.roots)) ** 2)


def prove_iterates(bound: MatrixBound, best: NDArray[Any], seed: int, n_steps: int) -> list[float]:
    """Return what every iterate proves, with and without cuts, from good or random labels."""
    if bound.n_clusters == 1 or not bound.total > 0:
        return []
    stream = np.random.default_rng(seed)
    labels = best if seed % 2 else stream.integers(bound.n_clusters, size=len(best))
    proven = []
    for cuts in (False, True):
        search = Search(bound, labels.astype(np.int32), cuts=cuts)
        for step in range(n_steps):
            search.step()
            proven.append(bound.prove(search.multipliers()))
            if step % 3 == 2:
                search.tighten()
    return proven

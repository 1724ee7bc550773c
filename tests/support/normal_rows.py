"""Normal rows, the same in every run."""

from __future__ import annotations

from projected_kmeans.keys import open_stream
from projected_kmeans.results import Floats


def draw_normal_rows(n_samples: int, n_features: int, path: int = 0) -> Floats:
    """Return rows of standard normal numbers; another ``path`` gives other rows."""
    return open_stream(5, 77, path).normal(size=(n_samples, n_features))

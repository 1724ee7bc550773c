"""The paper's own experiments, and the baselines and solvers that only they need.

Composes the library's parts; nothing in the library depends on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_kmeans.paper.exact import solve_exactly
    from projected_kmeans.paper.fisher_score import FisherScore
    from projected_kmeans.paper.folklore_projection import FolkloreProjection
    from projected_kmeans.paper.kss04 import solve_kss04
    from projected_kmeans.paper.laplacian_score import LaplacianScore
    from projected_kmeans.paper.locally_linear_features import LocallyLinearFeatures
    from projected_kmeans.paper.orss06 import place_orss06
    from projected_kmeans.paper.svd_features import SVDFeatures

_HOMES = {
    "FisherScore": "fisher_score",
    "FolkloreProjection": "folklore_projection",
    "LaplacianScore": "laplacian_score",
    "LocallyLinearFeatures": "locally_linear_features",
    "SVDFeatures": "svd_features",
    "place_orss06": "orss06",
    "solve_exactly": "exact",
    "solve_kss04": "kss04",
}

__all__ = [
    "FisherScore",
    "FolkloreProjection",
    "LaplacianScore",
    "LocallyLinearFeatures",
    "SVDFeatures",
    "place_orss06",
    "solve_exactly",
    "solve_kss04",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

"""The paper's own experiments, and the baselines and solvers that only they need.

Composes the library's parts; nothing in the library depends on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projected_kmeans.paper.baselines.exact import solve_exactly
    from projected_kmeans.paper.baselines.fisher_score import FisherScore
    from projected_kmeans.paper.baselines.folklore_projection import FolkloreProjection
    from projected_kmeans.paper.baselines.kss04 import solve_kss04
    from projected_kmeans.paper.baselines.laplacian_score import LaplacianScore
    from projected_kmeans.paper.baselines.locally_linear_features import LocallyLinearFeatures
    from projected_kmeans.paper.baselines.orss06 import place_orss06
    from projected_kmeans.paper.baselines.svd_features import SVDFeatures

_HOMES = {
    "FisherScore": "baselines.fisher_score",
    "FolkloreProjection": "baselines.folklore_projection",
    "LaplacianScore": "baselines.laplacian_score",
    "LocallyLinearFeatures": "baselines.locally_linear_features",
    "SVDFeatures": "baselines.svd_features",
    "place_orss06": "baselines.orss06",
    "solve_exactly": "baselines.exact",
    "solve_kss04": "baselines.kss04",
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

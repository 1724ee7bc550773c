"""The paper's own experiments, and the baselines and solvers that only they need.

The paper is *Random Projections for k-means Clustering* (Boutsidis, Zouzias, Drineas, NIPS 2010).
This package measures its tables, its figure and its theorem again with the parts of this library.
Nothing in the library depends on it; only the command ``reproduce`` and the benchmarks use it.

- ``baselines/``    the methods that the paper compares with, as scikit-learn estimators and
  functions
- ``experiments/``  what is measured, unit by unit, and stored as JSON
- ``views/``        how a stored document is shown: tables, figures, the page docs/reproduction.md
- ``streams``       the number of every random stream that this package opens

The three packages import in this order only: views import experiments, and experiments import
baselines. Measuring and showing are apart, because a run takes minutes to hours and its tables are
drawn again whenever their layout changes.

The names below come from ``baselines`` and are public: users import them from
``projected_kmeans.paper``. They are imported when they are first asked for, so that the command
line starts without loading scikit-learn.
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

# The module of ``baselines`` that defines each public name.
_MODULES = {
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
    """Import a public name when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.baselines.{_MODULES[name]}"), name)

"""k-means on randomly projected data: fast clustering in high dimension.

Public names are imported when they are first asked for, so that what needs none of them, such as
``projected-kmeans --help``, does not wait for the numerical packages. `__init__.pyi` tells type
checkers and editors the same.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "RULES": "dimensions",
    "Certificate": "certificate",
    "ClusterCounts": "choices",
    "ColumnSampling": "column_sampling",
    "FitState": "results",
    "GaussianProjection": "gaussian_projection",
    "HadamardProjection": "projections",
    "LowerBound": "lower_bounds",
    "Plan": "plans",
    "ProjectedKMeans": "estimator",
    "SignProjection": "projections",
    "SparseSignProjection": "projections",
    "SpectralProjection": "spectral",
    "certify": "certificate",
    "choose_n_clusters": "choosing",
    "clustering_accuracy": "scoring",
    "indicator_matrix": "scoring",
    "inertia": "scoring",
    "kmeans_lower_bound": "lower_bounds",
    "normalized_inertia": "scoring",
    "plan_fit": "plans",
    "target_dimension": "dimensions",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import what is public when it is asked for the first time, and keep it."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("projected_kmeans")
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is public beside what is there already."""
    return sorted({*globals(), *__all__, "__version__"})

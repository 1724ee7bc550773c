"""k-means on randomly projected data: fast clustering in high dimension.

Public names are imported when they are first asked for, so that what needs none of them, such as
``projected-kmeans --help``, does not wait for the numerical packages. `__init__.pyi` tells type
checkers and editors the same.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "RULES": "projections.target_dimension",
    "Certificate": "certificates.certificate",
    "ClusterCounts": "choosing_k.cluster_counts",
    "ColumnSampling": "projections.column_sampling",
    "FitState": "results",
    "GaussianProjection": "projections.gaussian",
    "HadamardProjection": "projections.hadamard",
    "LowerBound": "certificates.lower_bounds",
    "Plan": "estimator.plan_fit",
    "ProjectedKMeans": "estimator.projected_kmeans",
    "SignProjection": "projections.signs",
    "SparseSignProjection": "projections.signs",
    "SpectralProjection": "projections.spectral",
    "certify": "certificates.certificate",
    "choose_n_clusters": "choosing_k.choose_n_clusters",
    "clustering_accuracy": "passes.scoring",
    "indicator_matrix": "passes.scoring",
    "inertia": "passes.scoring",
    "kmeans_lower_bound": "certificates.lower_bounds",
    "normalized_inertia": "passes.scoring",
    "plan_fit": "estimator.plan_fit",
    "target_dimension": "projections.target_dimension",
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

"""k-means on randomly projected data: fast clustering in high dimension.

Everything that a user imports comes from here. A public name is imported when it is first used, so
that ``projected-kmeans --help``, which needs none of them, does not wait for numerical packages.
`__init__.pyi` lists the same names for type checkers and editors, and a test compares the two.
"""

from importlib import import_module
from typing import Any

# Public names and the modules that define them.
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
    "as_row_source": "sources.array_source",
    "certify": "certificates.certificate",
    "choose_n_clusters": "choosing_k.choose_n_clusters",
    "clustering_accuracy": "passes.scoring",
    "indicator_matrix": "passes.scoring",
    "inertia": "passes.scoring",
    "kmeans_lower_bound": "certificates.lower_bounds",
    "load_model": "estimator.model_files",
    "normalized_inertia": "passes.scoring",
    "open_rows": "sources.open_rows",
    "plan_fit": "estimator.plan_fit",
    "read_ahead": "sources.read_ahead",
    "save_model": "estimator.model_files",
    "target_dimension": "projections.target_dimension",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
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
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__, "__version__"})

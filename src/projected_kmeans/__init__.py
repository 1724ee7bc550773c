"""k-means on randomly projected data: fast clustering in high dimension.

Everything that a user imports comes from here. A public name is imported when it is first used, so
that ``projected-kmeans --help``, which needs none of them, does not wait for numerical packages.
`__init__.pyi` lists the same names for type checkers and editors, and a test compares the two.
"""

from importlib import import_module
from typing import Any

# Public names and the modules that define them.
_HOMES = {
    "Algorithm1Result": "estimator.algorithm1",
    "RULES": "projections.target_dimension",
    "Certificate": "certificates.certificate",
    "ClusterCounts": "choosing_k.cluster_counts",
    "ClusterDescription": "estimator.cluster_descriptions",
    "ClusteringComparison": "passes.scoring",
    "ColumnSampling": "projections.column_sampling",
    "FitState": "results",
    "GaussianProjection": "projections.maps",
    "HadamardProjection": "projections.maps",
    "LowerBound": "certificates.certificate",
    "Plan": "estimator.plan_fit",
    "ProjectedKMeans": "estimator.projected_kmeans",
    "Representatives": "estimator.cluster_descriptions",
    "SignProjection": "projections.maps",
    "SparseSignProjection": "projections.maps",
    "SpectralProjection": "projections.spectral",
    "as_row_source": "sources.array_source",
    "certify": "certificates.lower_bounds",
    "choose_n_clusters": "choosing_k.choose_n_clusters",
    "clustering_accuracy": "passes.scoring",
    "compare_clusterings": "passes.scoring",
    "indicator_matrix": "passes.scoring",
    "inertia": "passes.scoring",
    "kmeans_lower_bound": "certificates.lower_bounds",
    "load_model": "estimator.model_files",
    "normalized_inertia": "passes.scoring",
    "open_rows": "sources.open_rows",
    "plan_fit": "estimator.plan_fit",
    "random_projection_kmeans": "estimator.algorithm1",
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
    elif name == "_native":
        value = _load_kernels()
    elif name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _load_kernels() -> Any:
    """Import the kernels such that threads of OpenMP sleep soon while they wait for work.

    By default they would run in a loop for about a millisecond, so that they begin sooner. On a
    machine that is busy with other processes, such loops take the time of threads that have work,
    and kernels took up to 20 times as long. Threads that sleep at once make a fit of 0.4 s on an
    idle machine 10 % longer; 1000 turns of the loop, some 20 microseconds, do not. OpenMP reads its
    settings once, when it is loaded. So they only stand in the environment meanwhile, and not at
    all if the user has chosen one.
    """
    import os

    settings = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
    chosen = any(name in os.environ for name in (*settings, "KMP_BLOCKTIME"))
    if not chosen:
        os.environ.update(settings)
    try:
        return import_module(f"{__name__}._native")
    finally:
        if not chosen:
            for name in settings:
                del os.environ[name]


def __dir__() -> list[str]:
    """List the public names, imported or not, and no other."""
    return sorted([*__all__, "__version__"])

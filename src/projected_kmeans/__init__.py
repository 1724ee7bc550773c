"""k-means on randomly projected data: fast clustering in high dimension."""

from importlib.metadata import version

from projected_kmeans.column_sampling import ColumnSampling
from projected_kmeans.dimensions import RULES, target_dimension
from projected_kmeans.estimator import ProjectedKMeans
from projected_kmeans.projections import (
    GaussianProjection,
    HadamardProjection,
    SignProjection,
    SparseSignProjection,
)
from projected_kmeans.results import FitState
from projected_kmeans.scoring import (
    clustering_accuracy,
    indicator_matrix,
    inertia,
    normalized_inertia,
)
from projected_kmeans.spectral import SpectralProjection

__version__ = version("projected_kmeans")

__all__ = [
    "RULES",
    "ColumnSampling",
    "FitState",
    "GaussianProjection",
    "HadamardProjection",
    "ProjectedKMeans",
    "SignProjection",
    "SparseSignProjection",
    "SpectralProjection",
    "clustering_accuracy",
    "indicator_matrix",
    "inertia",
    "normalized_inertia",
    "target_dimension",
]

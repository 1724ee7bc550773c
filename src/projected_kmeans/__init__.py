"""k-means on randomly projected data: fast clustering in high dimension."""

from importlib.metadata import version

from projected_kmeans.certificate import Certificate, certify
from projected_kmeans.column_sampling import ColumnSampling
from projected_kmeans.dimensions import RULES, target_dimension
from projected_kmeans.estimator import ProjectedKMeans
from projected_kmeans.gaussian_projection import GaussianProjection
from projected_kmeans.lower_bounds import LowerBound, kmeans_lower_bound
from projected_kmeans.projections import (
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
    "Certificate",
    "ColumnSampling",
    "FitState",
    "GaussianProjection",
    "HadamardProjection",
    "LowerBound",
    "ProjectedKMeans",
    "SignProjection",
    "SparseSignProjection",
    "SpectralProjection",
    "certify",
    "clustering_accuracy",
    "indicator_matrix",
    "inertia",
    "kmeans_lower_bound",
    "normalized_inertia",
    "target_dimension",
]

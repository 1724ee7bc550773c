from typing import Final

from projected_kmeans.certificates.certificate import Certificate as Certificate
from projected_kmeans.certificates.certificate import LowerBound as LowerBound
from projected_kmeans.certificates.lower_bounds import certify as certify
from projected_kmeans.certificates.lower_bounds import kmeans_lower_bound as kmeans_lower_bound
from projected_kmeans.choosing_k.choose_n_clusters import choose_n_clusters as choose_n_clusters
from projected_kmeans.choosing_k.cluster_counts import ClusterCounts as ClusterCounts
from projected_kmeans.estimator.algorithm1 import Algorithm1Result as Algorithm1Result
from projected_kmeans.estimator.algorithm1 import (
    random_projection_kmeans as random_projection_kmeans,
)
from projected_kmeans.estimator.cluster_descriptions import ClusterDescription as ClusterDescription
from projected_kmeans.estimator.cluster_descriptions import Representatives as Representatives
from projected_kmeans.estimator.model_files import load_model as load_model
from projected_kmeans.estimator.model_files import save_model as save_model
from projected_kmeans.estimator.plan_fit import Plan as Plan
from projected_kmeans.estimator.plan_fit import plan_fit as plan_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans as ProjectedKMeans
from projected_kmeans.passes.scoring import ClusteringComparison as ClusteringComparison
from projected_kmeans.passes.scoring import clustering_accuracy as clustering_accuracy
from projected_kmeans.passes.scoring import compare_clusterings as compare_clusterings
from projected_kmeans.passes.scoring import indicator_matrix as indicator_matrix
from projected_kmeans.passes.scoring import inertia as inertia
from projected_kmeans.passes.scoring import normalized_inertia as normalized_inertia
from projected_kmeans.projections.column_sampling import ColumnSampling as ColumnSampling
from projected_kmeans.projections.maps import GaussianProjection as GaussianProjection
from projected_kmeans.projections.maps import HadamardProjection as HadamardProjection
from projected_kmeans.projections.maps import SignProjection as SignProjection
from projected_kmeans.projections.maps import SparseSignProjection as SparseSignProjection
from projected_kmeans.projections.spectral import SpectralProjection as SpectralProjection
from projected_kmeans.projections.target_dimension import RULES as RULES
from projected_kmeans.projections.target_dimension import target_dimension as target_dimension
from projected_kmeans.results import FitState as FitState
from projected_kmeans.sources.array_source import as_row_source as as_row_source
from projected_kmeans.sources.open_rows import open_rows as open_rows
from projected_kmeans.sources.read_ahead import read_ahead as read_ahead

__version__: Final[str]
__all__: Final[list[str]]

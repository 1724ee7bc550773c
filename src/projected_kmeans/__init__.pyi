from typing import Final

from projected_kmeans.certificate import Certificate as Certificate
from projected_kmeans.certificate import certify as certify
from projected_kmeans.choices import ClusterCounts as ClusterCounts
from projected_kmeans.choosing import choose_n_clusters as choose_n_clusters
from projected_kmeans.column_sampling import ColumnSampling as ColumnSampling
from projected_kmeans.dimensions import RULES as RULES
from projected_kmeans.dimensions import target_dimension as target_dimension
from projected_kmeans.estimator import ProjectedKMeans as ProjectedKMeans
from projected_kmeans.gaussian_projection import GaussianProjection as GaussianProjection
from projected_kmeans.lower_bounds import LowerBound as LowerBound
from projected_kmeans.lower_bounds import kmeans_lower_bound as kmeans_lower_bound
from projected_kmeans.plans import Plan as Plan
from projected_kmeans.plans import plan_fit as plan_fit
from projected_kmeans.projections import HadamardProjection as HadamardProjection
from projected_kmeans.projections import SignProjection as SignProjection
from projected_kmeans.projections import SparseSignProjection as SparseSignProjection
from projected_kmeans.results import FitState as FitState
from projected_kmeans.scoring import clustering_accuracy as clustering_accuracy
from projected_kmeans.scoring import indicator_matrix as indicator_matrix
from projected_kmeans.scoring import inertia as inertia
from projected_kmeans.scoring import normalized_inertia as normalized_inertia
from projected_kmeans.spectral import SpectralProjection as SpectralProjection

__version__: Final[str]
__all__: Final[list[str]]

"""The maps by the names that users give them. A new map gets one line here.

Most maps need only the shape of the rows. The last two, "svd" and "columns", learn from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from projected_kmeans.projections.column_sampling import ColumnSampling
from projected_kmeans.projections.gaussian import GaussianProjection
from projected_kmeans.projections.hadamard import HadamardProjection
from projected_kmeans.projections.map_protocol import MapTransformer
from projected_kmeans.projections.signs import SignProjection, SparseSignProjection
from projected_kmeans.projections.spectral import SpectralProjection

MAPS: Mapping[str, type[MapTransformer]] = MappingProxyType(
    {
        "sign": SignProjection,
        "sparse-sign": SparseSignProjection,
        "hadamard": HadamardProjection,
        "gaussian": GaussianProjection,
        "svd": SpectralProjection,
        "columns": ColumnSampling,
    }
)

"""The table of all file formats that rows can be read from.

A new format is a new line in `TABLE`; the docstring of the package lists what else it needs.
"""

from __future__ import annotations

from projected_kmeans.sources.file_format import Format
from projected_kmeans.sources.formats.arrow import ARROW
from projected_kmeans.sources.formats.hdf5 import HDF5
from projected_kmeans.sources.formats.images import IMAGES
from projected_kmeans.sources.formats.matlab import MAT
from projected_kmeans.sources.formats.npy import NPY
from projected_kmeans.sources.formats.npz import NPZ
from projected_kmeans.sources.formats.parquet import PARQUET
from projected_kmeans.sources.formats.svmlight import SVMLIGHT
from projected_kmeans.sources.formats.text import CSV, TSV
from projected_kmeans.sources.formats.vectors import BVECS, FVECS, IVECS
from projected_kmeans.sources.formats.zarr import ZARR

# Errors and help texts list the extensions in this order.
TABLE = (
    NPY,
    NPZ,
    MAT,
    CSV,
    TSV,
    PARQUET,
    ARROW,
    HDF5,
    ZARR,
    SVMLIGHT,
    FVECS,
    BVECS,
    IVECS,
    IMAGES,
)
FORMATS: dict[str, Format] = {extension: entry for entry in TABLE for extension in entry.extensions}

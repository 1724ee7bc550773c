"""The words that users choose among: metrics, solvers, maps, seedings, methods of proof, formats.

Imports nothing but the standard library, so that the help of a command, which lists these words,
does not wait for numerical packages. Tables that give a word its meaning stand where the work is
done, and a test compares their keys with these words.
"""

from __future__ import annotations

METRICS = ("euclidean", "cosine")
ON_MISSING = ("error", "skip")

# Solvers that start from first centers and may restart, and those that get the sketch as a whole.
SOLVERS = ("lloyd", "hartigan")
SKETCH_SOLVERS = ("orss06", "kss04", "exact")

MAP_NAMES = ("sign", "sparse-sign", "hadamard", "gaussian", "svd", "columns")
SEEDING_NAMES = ("k-means++", "k-means||", "afk-mc2", "random", "orss06")

# The methods of proof that a fit offers, and those of labels that were found already.
CERTIFICATES = ("auto", "spectral", "full", "semidefinite")
PROOF_METHODS = ("auto", "spectral", "neighbour", "semidefinite", "full")

# The experiments of the paper, in the order in which all of them run.
EXPERIMENTS = ("table1", "table2", "figure1", "mailman", "theorem", "optimum", "beyond")

# The extensions of all formats, without their dots.
FORMAT_NAMES = (
    "npy",
    "npz",
    "mat",
    "csv",
    "tsv",
    "parquet",
    "pq",
    "arrow",
    "feather",
    "h5",
    "hdf5",
    "zarr",
    "svm",
    "svmlight",
    "libsvm",
    "fvecs",
    "bvecs",
    "ivecs",
    "png",
    "jpg",
    "jpeg",
    "bmp",
    "tif",
    "tiff",
    "gif",
    "webp",
    "pgm",
    "ppm",
)

# The types of the kernels in src/native. tests/native/bindings/test_stub.py compares this file with
# the built module. Arrays are C-contiguous and never converted; outputs come last.

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

_Block: TypeAlias = NDArray[np.generic]  # of any of ELEMENT_TYPES
_Csr: TypeAlias = csr_array[np.float32 | np.float64, tuple[int, int]]
_F32: TypeAlias = NDArray[np.float32]
_F64: TypeAlias = NDArray[np.float64]
_Floats: TypeAlias = _F32 | _F64

# The precision of a computation, the same for all arrays that take part.
_C = TypeVar("_C", np.float32, np.float64)
_Real: TypeAlias = NDArray[_C]

# What Python and C++ share: set in src/native/bindings/module.cpp.
INSTRUCTION_SETS: tuple[str, ...]  # of this build, from the least to the most demanding
ELEMENT_TYPES: tuple[str, ...]  # that a dense block may have, by NumPy's names
BOUNDS_PER_ROW: int  # lower bounds that a row keeps in `bounded_assignment`
CENTERS_TOGETHER: int  # the size of a group of centers is best a multiple of it
MAX_QUANTA: int  # the largest bound
MAX_NARROW_CENTERS: int  # centers that candidates of type uint16 can name
TILE_ROWS: int  # rows of a tile of `weigh_candidates`
DOT_SPAN: int  # sums that the products of `dot_rows` go to
MAX_NONZEROS: int  # nonzeros in a row of a sparse sign matrix

def instruction_set() -> str: ...
def max_threads(n_threads: int = 0) -> int: ...
def release_memory() -> None: ...

# Files mapped into memory, each with a number; 0 stands for none.
def watch_mapping(address: int, n_bytes: int) -> int: ...
def forget_mapping(number: int) -> bool: ...
def mapping_at(address: int) -> int: ...
def mapping_was_cut(number: int) -> bool: ...
def sign_rectangle(key: int, row: int, column: int, out: NDArray[np.int8]) -> None: ...
def word_rectangle(key: int, row: int, column: int, out: NDArray[np.uint64]) -> None: ...
def sign_product(
    block: _Block,
    key: int,
    scale: float,
    out: _Floats,
    n_threads: int,
    n_nonzeros: int = 0,
    positions: NDArray[np.int64] | None = None,
) -> None: ...

sparse_sign_product = sign_product
hadamard_product = sign_product
on_the_fly_product = sign_product
mailman_product = sign_product

def sign_product_sparse(
    values: _Floats,
    indices: NDArray[np.integer],
    starts: NDArray[np.integer],
    n_columns: int,
    key: int,
    scale: float,
    out: _Floats,
    n_threads: int,
    n_nonzeros: int = 0,
    positions: NDArray[np.int64] | None = None,
) -> None: ...

sparse_sign_product_sparse = sign_product_sparse
hadamard_product_sparse = sign_product_sparse

def nearest_center(
    block: _Block | _Csr,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    exact_centers: _F64,
    keep_ties: bool,
    labels: NDArray[np.int32],
    nearest: _Real[_C],
    second: _Real[_C],
    n_threads: int,
) -> None: ...
def bounded_assignment(
    block: _Block,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    exact_centers: _F64,
    groups: NDArray[np.int32],
    drifts: NDArray[np.uint16],
    group_drifts: NDArray[np.uint16],
    quantum: float,
    keep_ties: bool,
    labels: NDArray[np.int32],
    upper: NDArray[np.uint16],
    lower: NDArray[np.uint16],
    n_threads: int,
) -> int: ...
def squared_distances(
    block: _Block | _Csr,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    out: _Real[_C],
    n_threads: int,
) -> None: ...
def direction_product(
    block: _Block,
    origin: _Real[_C],
    scale: float,
    directions: _Real[_C],
    out: _Real[_C],
    n_threads: int,
) -> None: ...
def lower_distances(
    block: _Block, origin: _Floats, scale: float, centers: _Floats, nearest: _Floats, n_threads: int
) -> None: ...
def priced_clusters(
    distances: _Real[_C],
    prices: _Real[_C],
    labels: NDArray[np.int32],
    seconds: NDArray[np.int32],
    least: _Real[_C],
    next: _Real[_C],
    n_threads: int,
) -> None: ...
def repair_sizes(
    distances: _Real[_C],
    reaches: _F64,
    minimum: int,
    maximum: int,
    labels: NDArray[np.int32],
    prices: _F64,
    wanted: NDArray[np.int64],
    excess: NDArray[np.int64],
) -> None: ...
def weigh_candidates(
    tiles: _Floats,
    centers: _Floats,
    nearest: _Floats,
    shares: _Floats,
    after: _Floats,
    sums: _F64,
    n_threads: int,
) -> None: ...
def dot_rows(
    left: _F64, right: _F64, columns: NDArray[np.int64] | None, n_columns: int, out: _F64
) -> None: ...
def nearest_candidate(
    block: _Csr,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    exact_centers: _F64,
    candidates: NDArray[np.uint16] | NDArray[np.int32],
    labels: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def scan_columns(
    block: _Block | _Csr, minimum: _F64, maximum: _F64, norm: _F64, n_threads: int
) -> tuple[int, int]: ...
def own_distances(
    block: _Block | _Csr,
    labels: NDArray[np.int32],
    centers: _F64,
    scale: float,
    out: _F64,
    n_threads: int,
) -> None: ...
def cluster_moments(
    block: _Block | _Csr,
    labels: NDArray[np.int32],
    before: NDArray[np.int32] | None,
    weights: _F64 | None,
    centers: _F64,
    magic: _F64,
    ratios: _F64,
    offsets: _F64,
    totals: _F64,
    n_threads: int,
) -> None: ...
def move_points(
    block: _Block,
    weights: _F64 | None,
    origin: _Real[_C],
    scale: float,
    labels: NDArray[np.int32],
    centers: _F64,
    mass: _F64,
    n_threads: int,
) -> int: ...
def sweep_cuts(
    cuts: NDArray[np.int32], scales: _F64 | None, matrix: _F32, values: _F32
) -> None: ...
def violated_triangles(
    matrix: _F32,
    floor: float,
    others: NDArray[np.int32],
    violations: _F32,
    counts: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def hash_columns(
    block: _Csr,
    key: int,
    n_hashed: int,
    values: _Floats,
    columns: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def table_product(block: _Csr, table: _Floats, out: _Floats, n_threads: int) -> None: ...
def transposed_product(block: _Csr, table: _F64, out: _F64, n_threads: int) -> None: ...
def nearest_listed(
    block: _Block,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    exact_centers: _F64,
    groups: NDArray[np.int32] | None,
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    labels: NDArray[np.int32],
    nearest: _Real[_C],
    second: _Real[_C],
    n_threads: int,
) -> None: ...
def nearest_by_sketch(
    block: _Block,
    origin: _Real[_C],
    scale: float,
    centers: _Real[_C],
    exact_centers: _F64,
    sketch: _Real[_C],
    errors: _Real[_C],
    sketched_centers: _Real[_C],
    middles: _Real[_C],
    radii: _Real[_C],
    groups: NDArray[np.int32],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    most: int,
    labels: NDArray[np.int32],
    counts: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def center_neighbours(
    centers: _Floats,
    groups: NDArray[np.int32],
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    out: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def race_centers(
    rows: _Floats,
    weights: _F64 | None,
    scale: float,
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    n_centers: int,
    counts: NDArray[np.int64],
    chosen: NDArray[np.int64],
    times: _F64,
    n_threads: int,
) -> int: ...
def halve_clusters(
    rows: _Floats,
    weights: _F64 | None,
    scale: float,
    labels: NDArray[np.int32],
    means: _F64,
    seed: int,
    n_passes: int,
    halves: NDArray[np.int32],
    centers: _F64,
    gains: _F64,
    n_threads: int,
) -> None: ...
def search_few_rows(
    rows: _F64,
    weights: _F64 | None,
    seed: int,
    patience: int,
    max_iter: int,
    tol: float,
    labels: NDArray[np.int32],
    centers: _F64,
) -> float: ...

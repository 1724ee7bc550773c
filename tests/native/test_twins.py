"""Every kernel has a NumPy twin in tests/reference.py, and gives what its twin gives.

Kernels work on tiles of rows, columns and centers, and on what is left beside whole tiles. So they
are compared at all sizes where the tiles of some instruction set change: see `SHAPES`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans import _native
from tests import reference

KERNELS = sorted(
    name
    for name, value in vars(_native).items()
    if callable(value) and name not in reference.WITHOUT_TWIN
)
KEY = 7
N_THREADS = 2

Array = NDArray[Any]


class Shape(NamedTuple):
    """The size of a problem. Maps take centers for their components, lists for their members."""

    n_rows: int
    n_columns: int
    n_centers: int

    def __str__(self) -> str:
        return "x".join(map(str, self))


# A vector has 2 to 16 lanes, and a tile one or two vectors of rows. Up to 8 rows of a group meet
# 1, 2 or 4 vectors of centers at once. Long rows are cut into parts, of 256 or 512 columns say.
N_CENTERS = (1, 7, 8, 16, 17, 32, 33, 64, 65)
N_COLUMNS = (1, 13, 2047, 2048, 2049, 3072, 3073)
SMALL = Shape(70, 13, 6)
NARROW = (
    SMALL,
    *(Shape(70, 13, k) for k in N_CENTERS),
    *(Shape(9, 33, k) for k in N_CENTERS),
    *(Shape(n, 13, 33) for n in range(1, 10)),
    *(Shape(n, 13, 1) for n in (1, 3, 4)),  # maps have methods for few rows and few components
    *(Shape(n, 13, 17) for n in (8, 16, 17, 32, 33)),
    *(Shape(9, d, k) for d in N_COLUMNS for k in (17, 33) if d < 100),
)
WIDE = (
    *(Shape(9, d, k) for d in N_COLUMNS for k in (17, 33) if d > 100),
    *(Shape(8, 3072, k) for k in (7, 8, 16, 17, 32)),  # lists in one vector, two or four
    *(Shape(n, 2049, 16) for n in (1, 3, 7)),
    Shape(9, 2049, 1),
    Shape(9, 3073, 65),
)
SHAPES = NARROW + WIDE
PRECISIONS = ("float32", "float64")

# The wide problems of kernels whose twins are slow.
SLOW = {
    # Its twin measures all centers and rows from each other, three times.
    "center_neighbours": (Shape(8, 3072, 16), Shape(8, 3072, 17), Shape(9, 3073, 33)),
    # Its twin adds fractions one by one.
    "cluster_moments": (Shape(9, 2049, 1), Shape(9, 3073, 17)),
    # Its twin tries every swap of a row for a center.
    "search_few_rows": (Shape(9, 2048, 17), Shape(9, 3073, 17)),
}

# The parts of a shape that matter, where not all do. No two problems then agree in these.
PARTS = {
    "sign_rectangle": ("n_columns", "n_centers"),
    "word_rectangle": ("n_columns", "n_centers"),
    "dot_rows": ("n_rows", "n_columns"),
    "scan_columns": ("n_rows", "n_columns"),
    "priced_clusters": ("n_rows", "n_centers"),
    "repair_sizes": ("n_rows", "n_centers"),
    "sweep_cuts": ("n_rows", "n_centers"),
    "violated_triangles": ("n_rows", "n_centers"),
}

# Kernels that take one precision, or none.
PRECISION = {
    "sign_rectangle": "float64",
    "word_rectangle": "float64",
    "dot_rows": "float64",
    "search_few_rows": "float64",
    "sweep_cuts": "float32",
    "violated_triangles": "float32",
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and centers of small integers, so that sums are exact, in float32, too.

    Kernels that divide get `rough` rows: rounding does not decide between equals there, because
    there are none.
    """

    shape: Shape
    X: Array
    centers: Array
    origin: Array
    labels: NDArray[np.int32]
    by_column: Array  # n_columns x n_centers
    by_row: Array  # n_rows x n_centers
    rough: Array
    order: NDArray[np.int64]  # of the rows
    names: NDArray[np.int32]  # of all centers, in any order

    @cached_property
    def inside(self) -> Array:
        """The centers in the frame."""
        return self.centers - self.origin

    @cached_property
    def exact(self) -> NDArray[np.float64]:
        """The centers in double precision."""
        return self.centers.astype(np.float64)

    @cached_property
    def sparse(self) -> Any:
        """The rows in compressed sparse form."""
        return scipy.sparse.csr_array(self.X)

    @cached_property
    def caps(self) -> Array:
        """Distances to earlier centers: some are lowered by the centers, some are not."""
        n, d, _ = self.shape
        return np.where(np.arange(n) % 3 == 0, 2 * d, 4 * d).astype(self.X.dtype)

    @cached_property
    def spread(self) -> NDArray[np.int32]:
        """Labels that leave no cluster without rows: of the first clusters if rows are few."""
        n, _, k = self.shape
        return (self.order % min(k, n)).astype(np.int32)

    @cached_property
    def stairs(self) -> NDArray[np.int32]:
        """Groups of rows: one row in the first, two in the second, and so on, at most nine."""
        n = self.shape.n_rows
        sizes = np.minimum(np.arange(1, n + 1), 9)
        return np.repeat(np.arange(n), sizes)[self.order].astype(np.int32)

    def rows(self, is_sparse: bool) -> Any:
        """Return the rows, dense or sparse."""
        return self.sparse if is_sparse else self.X

    def blank(self, *size: int) -> Array:
        """Return an array for results, in which nothing has been written."""
        return np.full(size, np.nan, self.X.dtype)


@cache
def draw_problem(shape: Shape, dtype: str) -> Problem:
    """Return the problem of a shape, always the same."""
    n, d, k = shape
    stream = np.random.default_rng(0)
    root = int(np.sqrt(d))
    return Problem(
        shape,
        X=stream.integers(0, 5, size=(n, d)).astype(dtype),
        centers=stream.integers(0, 5, size=(k, d)).astype(dtype),
        # Of length 2 * root: sparse kernels square a root.
        origin=np.where(np.arange(d) < root**2, 2.0, 0.0).astype(dtype),
        labels=stream.integers(k, size=n).astype(np.int32),
        by_column=stream.integers(-4, 5, size=(d, k)).astype(dtype),
        by_row=stream.integers(-4, 5, size=(n, k)).astype(dtype),
        rough=stream.normal(size=(n, d)).astype(dtype),
        order=stream.permutation(n),
        names=stream.permutation(k).astype(np.int32),
    )


Outcome = tuple[Any, Any]  # what the kernel gives, what the twin gives
Compare = Callable[[Any, Any, Problem], Outcome]


def compare_rectangle(kernel: Any, twin: Any, problem: Problem, dtype: Any) -> Outcome:
    """Draw a rectangle of random numbers."""
    _, d, k = problem.shape
    out = np.full((d, k), 77, dtype)
    kernel(KEY, 3, 99, out)
    return out, twin(KEY, range(3, 3 + d), range(99, 99 + k))


def compare_product(
    kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False, **extra: Any
) -> Outcome:
    """Multiply rows by a random map."""
    n, d, k = problem.shape
    sparse, out = problem.sparse, problem.blank(n, k)
    rows = (sparse.data, sparse.indices, sparse.indptr, d) if is_sparse else (problem.X,)
    kernel(*rows, KEY, 1.0, out, N_THREADS, **extra)
    arguments = extra if "positions" in extra else {"n_components": k} | extra
    return out, twin(problem.X, KEY, **arguments)


def compare_few_signs(
    kernel: Any, twin: Any, problem: Problem, n_nonzeros: int, is_sparse: bool = False
) -> Outcome:
    """Multiply rows by a map with some nonzeros in a row."""
    n_nonzeros = min(n_nonzeros, problem.shape.n_centers)
    return compare_product(kernel, twin, problem, is_sparse, n_nonzeros=n_nonzeros)


def compare_hadamard(kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False) -> Outcome:
    """Keep entries of a transform whose length is a power of two."""
    _, d, k = problem.shape
    positions = np.random.default_rng(1).integers(1 << (d - 1).bit_length(), size=k)
    return compare_product(kernel, twin, problem, is_sparse, positions=positions)


def compare_hashed(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Hash the columns of sparse rows."""
    n, _, k = problem.shape
    values, columns = problem.blank(problem.sparse.nnz), np.empty(problem.sparse.nnz, np.int32)
    starts = np.empty(n + 1, np.int64)
    kernel(problem.sparse, KEY, k, values, columns, starts, N_THREADS)
    parts = values[: starts[-1]], columns[: starts[-1]], starts
    return scipy.sparse.csr_array(parts, shape=(n, k)).toarray(), twin(problem.X, KEY, k, 1)


def compare_directions(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Multiply rows by directions."""
    n, _, k = problem.shape
    out, directions = problem.blank(n, k), problem.by_column.T.copy()
    kernel(problem.X, problem.origin, 0.5, directions, out, N_THREADS)
    return out, twin(problem.X, problem.origin, 0.5, directions)


def compare_table(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Multiply sparse rows by a table."""
    n, _, k = problem.shape
    out = problem.blank(n, k)
    kernel(problem.sparse, problem.by_column, out, N_THREADS)
    return out, twin(problem.X, problem.by_column)


def compare_transposed(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Add the transpose of sparse rows times a table to what is there."""
    _, d, k = problem.shape
    out, table = np.ones((d, k)), problem.by_row.astype(np.float64)
    kernel(problem.sparse, table, out, N_THREADS)
    return out, 1 + twin(problem.X, table)


def compare_nearest(kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False) -> Outcome:
    """Find the nearest centers, and two distances; the present center stays among equals."""
    n = problem.shape.n_rows
    labels, nearest, second = problem.labels.copy(), problem.blank(n), problem.blank(n)
    known = problem.origin, 1.0, problem.inside, problem.exact, True
    kernel(problem.rows(is_sparse), *known, labels, nearest, second, N_THREADS)
    distances = reference.squared_distances(problem.X, problem.centers)
    two = np.sort(np.r_[distances, np.full((1, n), np.inf)], axis=0)[:2]
    expected = twin(problem.X, problem.centers, problem.labels)
    return np.c_[labels, nearest, second], np.c_[expected, two.T]


def compare_bounded(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Find the nearest centers, first without bounds; then half of the centers have moved by 1."""
    n, _, k = problem.shape
    size = max(4, -(-k // _native.BOUNDS_PER_ROW))
    groups = np.full((-(-k // size), size), -1, np.int32)
    groups.flat[:k] = problem.names
    drifts, of_groups = np.zeros(k, np.uint16), np.zeros(_native.BOUNDS_PER_ROW, np.uint16)
    lower = np.zeros((n, _native.BOUNDS_PER_ROW), np.uint16)
    upper = np.full(n, _native.MAX_QUANTA, np.uint16)
    labels, centers, found, expected = problem.labels.copy(), problem.centers.copy(), [], []
    for _ in range(2):
        expected.append(twin(problem.X, centers, labels))
        known = groups, drifts, of_groups, 100.0, True, labels, upper, lower
        inside, exact = centers - problem.origin, centers.astype(np.float64)
        kernel(problem.X, problem.origin, 1.0, inside, exact, *known, N_THREADS)
        found.append(labels.copy())
        centers[::2, 0] += 1
        drifts[::2] = 101  # rounded up
        of_groups[: len(groups)] = np.append(drifts, np.uint16(0))[groups].max(axis=1)
    return found, expected


def compare_distances(kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False) -> Outcome:
    """Measure all distances."""
    n, _, k = problem.shape
    out = problem.blank(k, n)
    kernel(problem.rows(is_sparse), problem.origin, 1.0, problem.inside, out, N_THREADS)
    return out, twin(problem.X, problem.centers)


def compare_own(kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False) -> Outcome:
    """Measure the distance of every row to its own center."""
    out = np.full(problem.shape.n_rows, np.nan)
    kernel(problem.rows(is_sparse), problem.labels, problem.exact, 1.0, out, N_THREADS)
    return out, twin(problem.X, problem.centers, problem.labels)


def compare_lowered(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Lower distances to those of further centers."""
    nearest = problem.caps.copy()
    kernel(problem.X, problem.origin, 1.0, problem.centers, nearest, N_THREADS)
    return nearest, twin(problem.X, problem.centers, problem.caps)


def compare_weighed(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Weigh candidates on tiles of rows: as many tiles as rows, up to nine; one of wide rows."""
    n, d, k = problem.shape
    n_tiles = min(n, 9 if d < 100 else 1)
    which = np.arange(n_tiles * _native.TILE_ROWS) % n
    X, nearest = problem.X[which], problem.caps[which]
    shares = (np.arange(len(which)) % 4).astype(X.dtype)
    tiles = X.reshape(n_tiles, _native.TILE_ROWS, d).transpose(0, 2, 1).copy()
    after, sums = problem.blank(k, len(which)), np.full(k, np.nan)
    kernel(tiles, problem.centers, nearest, shares, after, sums, N_THREADS)
    expected = twin(X, problem.centers, nearest, shares)
    return np.c_[after, sums], np.c_[expected[0], expected[1]]


def compare_priced(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Choose clusters by distances with many ties and prices of both signs."""
    n, _, k = problem.shape
    distances, prices = np.abs(problem.by_row), (np.arange(k) % 13 - 6).astype(problem.X.dtype)
    labels, seconds = np.full((2, n), -7, np.int32)
    least, following = problem.blank(2, n)
    kernel(distances, prices, labels, seconds, least, following, N_THREADS)
    return np.c_[labels, seconds, least, following], np.stack(twin(distances, prices), axis=1)


def compare_repaired(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Move rows from their nearest clusters until sizes differ by one at most."""
    n, _, k = problem.shape
    distances = np.random.default_rng(0).random((n, k)).astype(problem.X.dtype)
    labels = distances.argmin(axis=1).astype(np.int32)
    sizes, limits = np.bincount(labels, minlength=k), (n // k, -(-n // k))
    wanted = np.clip(sizes, *limits)
    excess = np.append(sizes - wanted, 0)
    excess[k] = -excess.sum()
    kernel(distances, np.full(k, np.inf), *limits, labels, np.zeros(k), wanted, excess)
    return labels, twin(distances.astype(np.float64), *limits)


def compare_candidates(kernel: Any, twin: Any, problem: Problem, most: int, dtype: Any) -> Outcome:
    """Choose among candidates, the present center among them."""
    k, labels = problem.shape.n_centers, problem.labels.copy()
    lists = ((labels[:, None] - np.arange(min(most, k))) % k).astype(dtype)
    known = problem.origin, 1.0, problem.inside, problem.exact, lists
    kernel(problem.sparse, *known, labels, N_THREADS)
    return labels, twin(problem.X, problem.centers, lists, problem.labels)


def join(lists: list[Array]) -> tuple[Array, Array]:
    """Return where the lists start, and the members of all lists."""
    return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.int32)


def compare_listed(
    kernel: Any, twin: Any, problem: Problem, groups: Array | None, lists: list[Array]
) -> Outcome:
    """Choose among the centers that groups of rows list, or that the present cluster lists."""
    n, labels = problem.shape.n_rows, problem.labels
    found = labels.copy(), problem.blank(n), problem.blank(n)
    known = problem.origin, 1.0, problem.inside, problem.exact, groups, *join(lists)
    kernel(problem.X, *known, *found, N_THREADS)
    expected = twin(problem.X, problem.centers, lists, labels if groups is None else groups, labels)
    return np.c_[found], expected


def compare_stairs(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Let groups of 1 to 9 rows list all centers, each in another order."""
    lists = [np.roll(problem.names, group) for group in range(problem.stairs.max() + 1)]
    return compare_listed(kernel, twin, problem, problem.stairs, lists)


def compare_one_list(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Give all rows one group, which lists all centers; groups with short lists have no rows."""
    lists = [problem.names[:1], problem.names, problem.names[::2]]
    return compare_listed(kernel, twin, problem, np.full(len(problem.X), 1, np.int32), lists)


def compare_short_lists(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Let four groups of rows list all centers, a half, a quarter and one of them."""
    k, groups = problem.shape.n_centers, (problem.order % 4).astype(np.int32)
    lists = [problem.names[: max(1, k // share)] for share in (1, 2, 4, k)]
    return compare_listed(kernel, twin, problem, groups, lists)


def compare_own_lists(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Let every cluster list itself and others, as many as there are or fewer, for its rows."""
    k = problem.shape.n_centers
    lists = [np.roll(np.arange(k), -own)[: k - own] for own in range(k)]
    return compare_listed(kernel, twin, problem, None, lists)


def compare_sketched(
    kernel: Any, twin: Any, problem: Problem, guessed: bool, size: int, width: int
) -> Outcome:
    """Rule centers out by their first columns; first centers are given, or those of a group."""
    n, _, k = problem.shape
    lists = np.array_split(problem.names, -(-k // size))
    sketch, inside = problem.X[:, :width].copy(), problem.centers[:, :width].copy()
    middles = np.array([inside[names].mean(axis=0) for names in lists], inside.dtype)
    around = zip(lists, middles.astype(np.float64), strict=True)
    radii = [np.sqrt(((inside[names] - middle) ** 2).sum(axis=1).max()) for names, middle in around]
    groups = problem.labels % len(lists)
    near = reference.squared_distances(sketch, inside).T
    own = [lists[group] for group in groups]
    best = [names[row[names].argmin()] for row, names in zip(near, own, strict=True)]
    first = problem.labels if guessed else np.array(best)
    beyond = np.sqrt(near.T) - np.sqrt(reference.own_distances(problem.X, problem.centers, first))
    # Errors that leave no center at the limit, because rounding would decide there.
    errors = np.linspace(0.25, 0.5, 9)
    clear = np.abs(beyond[:, :, None] - errors).min(axis=0)
    errors = errors[clear.argmax(axis=1)].astype(inside.dtype)
    known = sketch, errors, inside, middles, np.array(radii, inside.dtype) * 1.001, groups
    frame = problem.origin, 1.0, problem.inside, problem.exact
    nearest, sizes = twin(problem.X, problem.centers, sketch, errors, inside, first)
    found, expected = [], []
    for most in (k, -(-k // 2)):
        labels = problem.labels.copy() if guessed else np.full(n, -1, np.int32)
        counts = np.full(n, -7, np.int32)
        kernel(problem.X, *frame, *known, *join(lists), most, labels, counts, N_THREADS)
        found.append(np.c_[labels, counts])
        expected.append(np.c_[np.where(sizes > most, first, nearest), sizes])
    return found, expected


def compare_neighbours(kernel: Any, twin: Any, problem: Problem, most: int) -> Outcome:
    """List the nearest centers of the centers, and of rows in groups of 1 to 9."""
    k, names = problem.shape.n_centers, problem.names
    wanted, n_groups = min(most, k), problem.stairs.max() + 1
    points = np.r_[problem.centers, problem.X]
    groups = np.r_[np.full(k, n_groups, np.int32), problem.stairs]
    shorter = [names, names[: max(wanted, k // 2)]]
    lists = [np.roll(shorter[group % 2], group) for group in range(n_groups)] + [names]
    out = np.full((len(points), wanted), -7, np.int32)
    kernel(points, groups, *join(lists), out, N_THREADS)
    return out, twin(points, lists, groups, wanted)


def compare_race(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Let three cells of rows race for centers."""
    n, _, k = problem.shape
    starts, seeds = np.array([0, n * 4 // 7, n * 2 // 3, n]), np.array([7, 2**63, 5], np.uint64)
    cells, wanted = np.split(problem.order, starts[1:3]), min(k, n)
    counts, chosen, times = np.empty(3, np.int64), np.empty(n, np.int64), np.empty(n)
    outputs = counts, chosen, times
    total = kernel(problem.X, None, 1.0, starts, problem.order, seeds, wanted, *outputs, N_THREADS)
    places = [
        (times[starts[cell] + i], cell, chosen[starts[cell] + i])
        for cell in range(3)
        for i in range(counts[cell])
    ]
    assert total == len(places)
    return sorted(places)[:wanted], twin(problem.X, cells, seeds, wanted)


def compare_halving(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Divide clusters of rows, with two rows at least where there are two."""
    (n, d, k), X = problem.shape, problem.rough
    labels = (problem.order % max(1, min(k, n // 2))).astype(np.int32)
    means = reference.means(X, labels, labels.max() + 1)
    halves, gains = np.full(n, -7, np.int32), np.full(len(means), np.nan)
    centers = np.full((2 * len(means), d), np.nan)
    kernel(X, None, 0.5, labels, means, 5, 3, halves, centers, gains, N_THREADS)
    expected, pairs, wanted = twin(X.astype(np.float64), labels, means, 5, 3)
    rounding = 1e-9 if X.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(centers, pairs, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(gains, wanted, rtol=10 * rounding, atol=10 * rounding)
    return halves, expected


def compare_few_rows(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Search for clusters by Lloyd's method and swaps of centers."""
    n, _, k = problem.shape
    first, labels = problem.rough[: min(k, n)], np.full(n, -7, np.int32)
    patience = 4 if k < 20 else 1  # the twin is slow
    inertia = kernel(problem.rough, None, 11, patience, 1000, 1e-3, labels, first.copy())
    expected, wanted = twin(problem.rough, first, 11, patience, 1e-3)
    np.testing.assert_allclose(inertia, expected, rtol=1e-9, atol=1e-9)
    return labels, wanted


def compare_dots(kernel: Any, twin: Any, problem: Problem, step: int) -> Outcome:
    """Multiply rows that have all columns, or only some."""
    n, d, _ = problem.shape
    columns = np.arange(min(3, d - 1), d, step) if step > 1 else np.arange(d)
    left, right = np.random.default_rng(1).normal(size=(2, n, len(columns)))
    out = np.full(n, np.nan)
    kernel(left, right, columns if step > 1 else None, d, out)
    filled = np.zeros((2, n, d))
    filled[:, :, columns] = left, right
    return out, twin(*filled)


def compare_scans(kernel: Any, twin: Any, problem: Problem, is_sparse: bool = False) -> Outcome:
    """Find the ranges of all columns."""
    X, d = problem.X.astype(np.float64), problem.shape.n_columns
    low, high, norm = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(1)
    place = kernel(problem.rows(is_sparse), low, high, norm, N_THREADS)
    minimum, maximum, first = twin(X)
    largest = np.max(np.sum(X * X, axis=1))
    return np.r_[low, high, place, norm], np.r_[minimum, maximum, first, largest]


def compare_moments(kernel: Any, twin: Any, problem: Problem, weighted: bool) -> Outcome:
    """Sum rows by cluster on grids that hold all terms."""
    n, d, k = problem.shape
    weights = 1.0 + np.arange(n) % 3 if weighted else None
    offsets, totals = np.zeros((2, k, d)), np.zeros((3, k, 2))
    magic = np.full((1, d + 2), 1.5 * 2.0**52 * 2.0**-20)
    ratios = np.array([2.0**-20, 2.0**-20, 1.0, 2.0**10])
    sums = (offsets, totals, N_THREADS)
    kernel(problem.X, problem.labels, None, weights, problem.exact, magic, ratios, *sums)
    mass, expected, squares = twin(problem.X, problem.labels, weights, problem.centers)
    found = np.c_[totals.sum(axis=0), offsets.sum(axis=0)]
    return found, np.c_[mass, squares, expected].astype(np.float64)


def compare_moves(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Move single rows, once around."""
    X, labels, k = problem.rough, problem.spread.copy(), problem.spread.max() + 1
    centers, mass = reference.means(X, labels, k), np.bincount(labels).astype(float)
    kernel(X, None, problem.origin, 1.0, labels, centers, mass, N_THREADS)
    return labels, twin(X, problem.spread, k)


def draw_matrix(side: int) -> NDArray[np.float32]:
    """Return a symmetric matrix of small integers."""
    matrix = np.random.default_rng(1).integers(0, 5, size=(side, side))
    return (matrix + matrix.T).astype(np.float32)


def compare_sweeps(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """Meet pair and triangle cuts of a matrix of small integers, once each."""
    n, side = problem.shape.n_rows, problem.shape.n_centers + 2
    matrix, values = draw_matrix(side), (np.arange(n) % 4 * 10).astype(np.float32)
    stream = np.random.default_rng(2)
    cuts = np.array([stream.permutation(side)[:3] for _ in range(n)], np.int32)
    cuts[::3, 2] = -1
    expected = twin(cuts, np.ones(side), matrix, values)
    kernel(cuts, None, matrix, values)
    return np.r_[matrix.ravel(), values], np.r_[expected[0].ravel(), expected[1]]


def compare_triangles(kernel: Any, twin: Any, problem: Problem) -> Outcome:
    """List the triangle cuts of each row that a matrix of small integers breaks most."""
    most, side = min(problem.shape.n_rows, 9), problem.shape.n_centers
    matrix, violations = draw_matrix(side), np.full((side, most), np.nan, np.float32)
    others, counts = np.full((side, most, 2), -7, np.int32), np.full(side, -7, np.int32)
    kernel(matrix, 2.0, others, violations, counts, N_THREADS)
    found = [(violations[i, at], *others[i, at]) for i in range(side) for at in range(counts[i])]
    return found, [one for row in twin(matrix, 2.0, most) for one in row]


COMPARES: dict[str, list[Compare]] = {
    "sign_rectangle": [partial(compare_rectangle, dtype=np.int8)],
    "word_rectangle": [partial(compare_rectangle, dtype=np.uint64)],
    "sign_product": [compare_product],
    "on_the_fly_product": [compare_product],
    "mailman_product": [compare_product],
    "sign_product_sparse": [partial(compare_product, is_sparse=True)],
    "sparse_sign_product": [
        partial(compare_few_signs, n_nonzeros=2),
        partial(compare_few_signs, n_nonzeros=5),
    ],
    "sparse_sign_product_sparse": [
        partial(compare_few_signs, n_nonzeros=2, is_sparse=True),
        partial(compare_few_signs, n_nonzeros=5, is_sparse=True),
    ],
    "hadamard_product": [compare_hadamard],
    "hadamard_product_sparse": [partial(compare_hadamard, is_sparse=True)],
    "direction_product": [compare_directions],
    "hash_columns": [compare_hashed],
    "table_product": [compare_table],
    "transposed_product": [compare_transposed],
    "nearest_center": [compare_nearest, partial(compare_nearest, is_sparse=True)],
    "bounded_assignment": [compare_bounded],
    "squared_distances": [compare_distances, partial(compare_distances, is_sparse=True)],
    "own_distances": [compare_own, partial(compare_own, is_sparse=True)],
    "nearest_candidate": [
        partial(compare_candidates, most=65, dtype=np.int32),
        partial(compare_candidates, most=3, dtype=np.uint16),
    ],
    "nearest_listed": [compare_stairs, compare_one_list, compare_short_lists, compare_own_lists],
    "nearest_by_sketch": [
        partial(compare_sketched, guessed=True, size=4, width=2),
        partial(compare_sketched, guessed=False, size=33, width=40),
    ],
    "center_neighbours": [
        partial(compare_neighbours, most=65),
        partial(compare_neighbours, most=3),
        partial(compare_neighbours, most=1),
    ],
    "race_centers": [compare_race],
    "halve_clusters": [compare_halving],
    "search_few_rows": [compare_few_rows],
    "lower_distances": [compare_lowered],
    "priced_clusters": [compare_priced],
    "repair_sizes": [compare_repaired],
    "weigh_candidates": [compare_weighed],
    "dot_rows": [partial(compare_dots, step=1), partial(compare_dots, step=7)],
    "scan_columns": [compare_scans, partial(compare_scans, is_sparse=True)],
    "cluster_moments": [  # sparse rows: test_cluster_moments_sparse.py
        partial(compare_moments, weighted=False),
        partial(compare_moments, weighted=True),
    ],
    "move_points": [compare_moves],
    "sweep_cuts": [compare_sweeps],
    "violated_triangles": [compare_triangles],
}


def find_twin(name: str) -> Callable[..., Any]:
    """Return the function that gives what a kernel has to give."""
    twin: Callable[..., Any] = getattr(reference, reference.TWINS.get(name, name))
    return twin


def list_shapes(name: str) -> tuple[Shape, ...]:
    """Return the shapes that differ for a kernel."""
    shapes = NARROW + SLOW.get(name, WIDE)
    parts = PARTS.get(name, Shape._fields)
    different: dict[Any, Shape] = {}
    for shape in shapes:
        different.setdefault(tuple(getattr(shape, part) for part in parts), shape)
    return tuple(different.values())


def list_cases() -> list[tuple[str, Shape, str]]:
    """Return every kernel with the shapes and precisions that it is called with."""
    return [
        (name, shape, dtype)
        for name in KERNELS
        for shape in list_shapes(name)
        for dtype in PRECISIONS
        if PRECISION.get(name, dtype) == dtype
    ]


@pytest.mark.parametrize(("name", "shape", "dtype"), list_cases(), ids=str)
def test_a_kernel_gives_what_its_twin_gives(name: str, shape: Shape, dtype: str) -> None:
    """On problems of all sizes, every kernel gives the results of its twin."""
    kernel, problem = getattr(_native, name), draw_problem(shape, dtype)
    for compare in COMPARES[name]:
        found, expected = compare(kernel, find_twin(name), problem)
        np.testing.assert_array_equal(found, expected, err_msg=str(compare))


def test_tables_name_what_exists() -> None:
    """Every name in the tables of twins and of shapes is a function of the native module."""
    tables = reference.TWINS, reference.WITHOUT_TWIN, COMPARES, SLOW, PARTS, PRECISION
    assert {name for table in tables for name in table} <= set(vars(_native))
    assert not set(reference.TWINS) & set(reference.WITHOUT_TWIN)
    assert all(COMPARES[name] for name in KERNELS)


def test_twins_are_short() -> None:
    """No function of tests/reference.py has more than 15 lines after its docstring."""
    functions = ast.parse(inspect.getsource(reference)).body
    lengths = {
        node.name: node.body[-1].end_lineno - node.body[1].lineno + 1
        for node in functions
        if isinstance(node, ast.FunctionDef) and node.body[-1].end_lineno is not None
    }
    assert max(lengths.values()) <= 15, lengths

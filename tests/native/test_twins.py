"""Every kernel has a NumPy twin in tests/reference.py, and gives what its twin gives."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

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

# Small integers, so that sums are exact and the results are those of the twins in every bit.
STREAM = np.random.default_rng(0)
X = STREAM.integers(0, 5, size=(70, 13)).astype(np.float64)
CENTERS = STREAM.integers(0, 5, size=(6, 13)).astype(np.float64)
ORIGIN = np.where(np.arange(13) < 9, 2.0, 0.0)  # of length 6: sparse kernels square a root
INSIDE = CENTERS - ORIGIN
LABELS = STREAM.integers(6, size=70).astype(np.int32)
TABLE = STREAM.integers(-4, 5, size=(13, 4)).astype(np.float64)
POSITIONS = np.array([0, 3, 15, 8])
SPARSE = scipy.sparse.csr_array(X)
PARTS = (SPARSE.data, SPARSE.indices, SPARSE.indptr, 13)

Outcome = tuple[Any, Any]  # what the kernel gives, what the twin gives


def compare_rectangle(kernel: Any, twin: Any, dtype: Any) -> Outcome:
    """Draw a rectangle of random numbers."""
    out = np.empty((5, 300), dtype)
    kernel(KEY, 3, 2, out)
    return out, twin(KEY, range(3, 8), range(2, 302))


def compare_product(kernel: Any, twin: Any, rows: tuple[Any, ...], **extra: Any) -> Outcome:
    """Multiply rows by a random map of four components."""
    out = np.empty((70, 4))
    kernel(*rows, KEY, 1.0, out, N_THREADS, **extra)
    arguments = extra if "positions" in extra else {"n_components": 4} | extra
    return out, twin(X, KEY, **arguments)


def compare_hashed(kernel: Any, twin: Any) -> Outcome:
    """Hash the columns of sparse rows to four."""
    values, columns = np.empty(SPARSE.nnz), np.empty(SPARSE.nnz, np.int32)
    starts = np.empty(71, np.int64)
    kernel(SPARSE, KEY, 4, values, columns, starts, N_THREADS)
    parts = values[: starts[-1]], columns[: starts[-1]], starts
    return scipy.sparse.csr_array(parts, shape=(70, 4)).toarray(), twin(X, KEY, 4, 1)


def compare_nearest(kernel: Any, twin: Any, rows: Any) -> Outcome:
    """Find the nearest centers; the present one stays among equals."""
    labels, nearest, second = LABELS.copy(), np.empty(70), np.empty(70)
    kernel(rows, ORIGIN, 1.0, INSIDE, CENTERS, True, labels, nearest, second, N_THREADS)
    return labels, twin(X, CENTERS, LABELS)


def compare_bounded(kernel: Any, twin: Any) -> Outcome:
    """Find the nearest centers with bounds of which nothing is known yet."""
    groups = np.array([[0, 1, 2, 3], [4, 5, -1, -1]], np.int32)
    drifts = np.zeros(6, np.uint16), np.zeros(_native.BOUNDS_PER_ROW, np.uint16)
    lower = np.zeros((70, _native.BOUNDS_PER_ROW), np.uint16)
    upper = np.full(70, _native.MAX_QUANTA, np.uint16)
    labels = LABELS.copy()
    known = (groups, *drifts, 100.0, True, labels, upper, lower)
    kernel(X, ORIGIN, 1.0, INSIDE, CENTERS, *known, N_THREADS)
    return labels, twin(X, CENTERS, LABELS)


def compare_distances(kernel: Any, twin: Any, rows: Any) -> Outcome:
    """Measure all distances."""
    out = np.empty((6, 70))
    kernel(rows, ORIGIN, 1.0, INSIDE, out, N_THREADS)
    return out, twin(X, CENTERS)


def compare_own(kernel: Any, twin: Any, rows: Any) -> Outcome:
    """Measure the distance of every row to its own center."""
    out = np.empty(70)
    kernel(rows, LABELS, CENTERS, 1.0, out, N_THREADS)
    return out, twin(X, CENTERS, LABELS)


def compare_directions(kernel: Any, twin: Any) -> Outcome:
    """Multiply rows by directions."""
    out = np.empty((70, 4))
    kernel(X, ORIGIN, 0.5, TABLE.T.copy(), out, N_THREADS)
    return out, twin(X, ORIGIN, 0.5, TABLE.T)


def compare_tables(kernel: Any, twin: Any, table: NDArray[Any], n_rows: int) -> Outcome:
    """Multiply sparse rows, or their transpose, by a table."""
    out = np.zeros((n_rows, 4))
    kernel(SPARSE, table, out, N_THREADS)
    return out, twin(X, table)


def compare_lowered(kernel: Any, twin: Any) -> Outcome:
    """Lower distances to those of further centers."""
    nearest = np.full(70, 20.0)
    kernel(X, ORIGIN, 1.0, CENTERS, nearest, N_THREADS)
    return nearest, twin(X, CENTERS, np.full(70, 20.0))


def compare_weighed(kernel: Any, twin: Any) -> Outcome:
    """Weigh candidates on two tiles of rows."""
    n = 2 * _native.TILE_ROWS
    tiles = X[:n].reshape(2, _native.TILE_ROWS, 13).transpose(0, 2, 1).copy()
    nearest, shares = np.full(n, 20.0), np.arange(n, dtype=np.float64)
    after, sums = np.empty((6, n)), np.empty(6)
    kernel(tiles, CENTERS, nearest, shares, after, sums, N_THREADS)
    expected = twin(X[:n], CENTERS, nearest, shares)
    return np.c_[after, sums], np.c_[expected[0], expected[1]]


def compare_priced(kernel: Any, twin: Any) -> Outcome:
    """Choose clusters by distances with many ties and prices of both signs."""
    distances, prices = np.abs(X), np.arange(13.0) - 6
    labels, seconds = np.empty((2, 70), np.int32)
    least, following = np.empty((2, 70))
    kernel(distances, prices, labels, seconds, least, following, N_THREADS)
    return np.c_[labels, seconds, least, following], np.stack(twin(distances, prices), axis=1)


def compare_repaired(kernel: Any, twin: Any) -> Outcome:
    """Move rows from their nearest clusters until 12 rows, or 11, are in each of 6."""
    distances = np.random.default_rng(0).random((70, 6))
    labels = distances.argmin(axis=1).astype(np.int32)
    wanted = np.clip(np.bincount(labels, minlength=6), 11, 12)
    excess = np.append(np.bincount(labels, minlength=6) - wanted, 0)
    excess[6] = -excess.sum()
    kernel(distances, np.full(6, np.inf), 11, 12, labels, np.zeros(6), wanted, excess)
    return labels, twin(distances, 11, 12)


def compare_lists(kernel: Any, twin: Any) -> Outcome:
    """List the three nearest centers of every row."""
    out = np.empty((70, 3), np.uint16)
    kernel(X, ORIGIN, 1.0, INSIDE, LABELS, out, N_THREADS)
    return out, twin(X, CENTERS, LABELS, 3)


def compare_candidates(kernel: Any, twin: Any, rows: Any) -> Outcome:
    """Choose among three candidates, the present center among them."""
    lists = np.c_[LABELS, (LABELS + 1) % 6, (LABELS + 3) % 6].astype(np.int32)
    labels = LABELS.copy()
    kernel(rows, ORIGIN, 1.0, INSIDE, CENTERS, lists, labels, N_THREADS)
    return labels, twin(X, CENTERS, lists, LABELS)


LISTS = [np.array([3, 0]), np.array([1, 4, 2, 5]), np.arange(6), np.array([2])]


def compare_listed(kernel: Any, twin: Any, groups: NDArray[Any] | None) -> Outcome:
    """Choose among the centers that groups of rows list, or that the present cluster lists."""
    lists = LISTS if groups is not None else [*LISTS, *LISTS[:2]]
    starts = np.cumsum([0, *map(len, lists)])
    members = np.concatenate(lists).astype(np.int32)
    found = LABELS.copy(), np.empty(70), np.empty(70)
    kernel(X, ORIGIN, 1.0, INSIDE, CENTERS, groups, starts, members, *found, N_THREADS)
    return np.c_[found], twin(X, CENTERS, lists, LABELS if groups is None else groups, LABELS)


def compare_sketched(kernel: Any, twin: Any, guessed: bool) -> Outcome:
    """Rule centers out by their first two columns; first centers are given, or those of a group."""
    lists = np.array([[0, 2, 4], [5, 3, 1]], np.int32)
    sketch, inside = X[:, :2].astype(float), CENTERS[:, :2].copy()
    middles = inside[lists].mean(axis=1)
    radii = np.sqrt(np.sum((inside[lists] - middles[:, None]) ** 2, axis=2).max(axis=1)) + 1e-9
    groups, errors, counts = LABELS % 2, np.full(70, 0.25), np.empty(70, np.int32)
    near = reference.squared_distances(sketch, inside).T[np.arange(70)[:, None], lists[groups]]
    first = LABELS if guessed else lists[groups, near.argmin(axis=1)]
    labels = LABELS.copy() if guessed else np.full(70, -1, np.int32)
    known = sketch, errors, inside, middles, radii, groups, np.array([0, 3, 6]), lists.ravel()
    kernel(X, ORIGIN, 1.0, INSIDE, CENTERS, *known, 6, labels, counts, N_THREADS)
    return np.c_[labels, counts], np.c_[twin(X, CENTERS, sketch, errors, inside, first)]


def compare_neighbours(kernel: Any, twin: Any) -> Outcome:
    """List the three nearest centers of every center, among those of its cell."""
    lists = [np.array([0, 1, 2, 4]), np.array([5, 3, 0, 2, 4])]
    starts = np.cumsum([0, *map(len, lists)])
    groups, out = np.array([0, 0, 0, 1, 0, 1], np.int32), np.empty((6, 3), np.int32)
    kernel(CENTERS, groups, starts, np.concatenate(lists).astype(np.int32), out, N_THREADS)
    return out, twin(CENTERS, lists, groups, 3)


def compare_race(kernel: Any, twin: Any) -> Outcome:
    """Let three cells of rows race for nine centers."""
    order = np.random.default_rng(3).permutation(70)
    cells = [order[:40], order[40:44], order[44:]]
    starts, seeds = np.array([0, 40, 44, 70]), np.array([7, 2**63, 5], np.uint64)
    counts, chosen, times = np.empty(3, np.int64), np.empty(70, np.int64), np.empty(70)
    outputs = counts, chosen, times
    total = kernel(X, None, 1.0, starts, order, seeds, 9, *outputs, N_THREADS)
    places = [
        (times[starts[cell] + i], cell, chosen[starts[cell] + i])
        for cell in range(3)
        for i in range(counts[cell])
    ]
    assert total == len(places) >= 9
    return sorted(places)[:9], twin(X, cells, seeds, 9)


def compare_halving(kernel: Any, twin: Any) -> Outcome:
    """Divide three clusters of rows."""
    labels = (np.arange(70) % 3).astype(np.int32)
    means = np.array([X[labels == j].mean(axis=0) for j in range(3)])
    halves, centers, gains = np.empty(70, np.int32), np.empty((6, X.shape[1])), np.empty(3)
    kernel(X, None, 0.5, labels, means, 5, 3, halves, centers, gains, N_THREADS)
    expected, pairs, wanted = twin(X, labels, means, 5, 3)
    np.testing.assert_allclose(centers, pairs, rtol=1e-9, atol=1e-9)
    return [*halves, *gains.round(6)], [*expected, *wanted.round(6)]


def compare_scouts(kernel: Any, twin: Any) -> Outcome:
    """Search for six clusters by Lloyd's method and swaps of centers."""
    centers, labels = X[:6].copy(), np.empty(70, np.int32)
    inertia = kernel(X, None, 11, 4, 1000, 1e-3, labels, centers)
    expected, wanted = twin(X, X[:6].copy(), 11, 4, 1e-3)
    return [*labels, round(inertia, 6)], [*wanted, round(expected, 6)]


def compare_dots(kernel: Any, twin: Any, columns: Any) -> Outcome:
    """Multiply rows that have all columns, or only some of 2,000."""
    left = STREAM.normal(size=(5, 1300 if columns is None else len(columns)))
    right, out = STREAM.normal(size=left.shape), np.empty(5)
    if columns is None:
        kernel(left, right, None, 1300, out)
        return out, twin(left, right)
    kernel(left, right, columns, 2000, out)
    filled = np.zeros((2, 5, 2000))
    filled[:, :, columns] = left, right
    return out, twin(*filled)


def compare_scans(kernel: Any, twin: Any, rows: Any) -> Outcome:
    """Find the ranges of all columns."""
    low, high, norm = np.full(13, np.inf), np.full(13, -np.inf), np.zeros(1)
    place = kernel(rows, low, high, norm, N_THREADS)
    minimum, maximum, first = twin(X)
    largest = np.max(np.sum(X * X, axis=1))
    return np.r_[low, high, place, norm], np.r_[minimum, maximum, first, largest]


def compare_moments(kernel: Any, twin: Any) -> Outcome:
    """Sum rows by cluster on grids that hold all terms."""
    weights = STREAM.integers(1, 4, size=70).astype(np.float64)
    offsets, totals = np.zeros((2, 6, 13)), np.zeros((3, 6, 2))
    magic = np.full((1, 15), 1.5 * 2.0**52 * 2.0**-20)
    ratios = np.array([2.0**-20, 2.0**-20, 1.0, 2.0**10])
    sums = (offsets, totals, N_THREADS)
    kernel(X, LABELS, None, weights, CENTERS, magic, ratios, *sums)
    mass, expected, squares = twin(X, LABELS, weights, CENTERS)
    found = np.c_[totals.sum(axis=0), offsets.sum(axis=0)]
    return found, np.c_[mass, squares, expected].astype(np.float64)


def compare_moves(kernel: Any, twin: Any) -> Outcome:
    """Move single rows, once around."""
    labels = LABELS.copy()
    centers, mass = reference.means(X, labels, 6), np.bincount(labels, minlength=6).astype(float)
    kernel(X, None, ORIGIN, 1.0, labels, centers, mass, N_THREADS)
    return labels, twin(X, LABELS, 6)


def compare_sweeps(kernel: Any, twin: Any) -> Outcome:
    """Meet pair and triangle cuts of a matrix of small integers, once each."""
    matrix = (X[:13] + X[:13].T).astype(np.float32)
    cuts = np.array([[0, 1, -1], [3, 2, 5], [1, 0, 7], [3, 5, 2], [12, 4, -1]], np.int32)
    values = np.array([0, 1, 0, 40, 2], np.float32)
    expected = twin(cuts, np.ones(13), matrix, values)
    kernel(cuts, None, matrix, values)
    return np.r_[matrix.ravel(), values], np.r_[expected[0].ravel(), expected[1]]


def compare_triangles(kernel: Any, twin: Any) -> Outcome:
    """List the four triangle cuts of each row that a matrix of small integers breaks most."""
    matrix = (X[:13] + X[:13].T).astype(np.float32)
    others, violations = np.empty((13, 4, 2), np.int32), np.empty((13, 4), np.float32)
    counts = np.empty(13, np.int32)
    kernel(matrix, 2.0, others, violations, counts, N_THREADS)
    found = [(violations[i, at], *others[i, at]) for i in range(13) for at in range(counts[i])]
    return found, [one for row in twin(matrix, 2.0, 4) for one in row]


CASES: dict[str, list[Callable[[Any, Any], Outcome]]] = {
    "sign_rectangle": [lambda k, t: compare_rectangle(k, t, np.int8)],
    "word_rectangle": [lambda k, t: compare_rectangle(k, t, np.uint64)],
    "sign_product": [lambda k, t: compare_product(k, t, (X,))],
    "on_the_fly_product": [lambda k, t: compare_product(k, t, (X,))],
    "mailman_product": [lambda k, t: compare_product(k, t, (X,))],
    "sign_product_sparse": [lambda k, t: compare_product(k, t, PARTS)],
    "sparse_sign_product": [lambda k, t: compare_product(k, t, (X,), n_nonzeros=2)],
    "sparse_sign_product_sparse": [lambda k, t: compare_product(k, t, PARTS, n_nonzeros=2)],
    "hadamard_product": [lambda k, t: compare_product(k, t, (X,), positions=POSITIONS)],
    "hadamard_product_sparse": [lambda k, t: compare_product(k, t, PARTS, positions=POSITIONS)],
    "direction_product": [compare_directions],
    "hash_columns": [compare_hashed],
    "table_product": [lambda k, t: compare_tables(k, t, TABLE, 70)],
    "transposed_product": [lambda k, t: compare_tables(k, t, X[:, :4].copy(), 13)],
    "nearest_center": [
        lambda k, t: compare_nearest(k, t, X),
        lambda k, t: compare_nearest(k, t, SPARSE),
    ],
    "bounded_assignment": [compare_bounded],
    "squared_distances": [
        lambda k, t: compare_distances(k, t, X),
        lambda k, t: compare_distances(k, t, SPARSE),
    ],
    "own_distances": [
        lambda k, t: compare_own(k, t, X),
        lambda k, t: compare_own(k, t, SPARSE),
    ],
    "candidate_centers": [compare_lists],
    "nearest_candidate": [
        lambda k, t: compare_candidates(k, t, X),
        lambda k, t: compare_candidates(k, t, SPARSE),
    ],
    "nearest_listed": [
        lambda k, t: compare_listed(k, t, LABELS % 4),
        lambda k, t: compare_listed(k, t, None),
    ],
    "nearest_by_sketch": [
        lambda k, t: compare_sketched(k, t, True),
        lambda k, t: compare_sketched(k, t, False),
    ],
    "center_neighbours": [compare_neighbours],
    "race_centers": [compare_race],
    "halve_clusters": [compare_halving],
    "scout_centers": [compare_scouts],
    "lower_distances": [compare_lowered],
    "priced_clusters": [compare_priced],
    "repair_sizes": [compare_repaired],
    "weigh_candidates": [compare_weighed],
    "dot_rows": [
        lambda k, t: compare_dots(k, t, None),
        lambda k, t: compare_dots(k, t, np.arange(3, 2000, 7)),
    ],
    "scan_columns": [
        lambda k, t: compare_scans(k, t, X),
        lambda k, t: compare_scans(k, t, SPARSE),
    ],
    "cluster_moments": [compare_moments],  # sparse rows: test_cluster_moments_sparse.py
    "move_points": [compare_moves],
    "sweep_cuts": [compare_sweeps],
    "violated_triangles": [compare_triangles],
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_gives_what_its_twin_gives(name: str) -> None:
    """On small integers, every kernel gives the results of its twin."""
    twin = getattr(reference, reference.TWINS.get(name, name))
    assert CASES[name]
    for compare in CASES[name]:
        found, expected = compare(getattr(_native, name), twin)
        np.testing.assert_array_equal(found, expected)


def test_tables_name_what_exists() -> None:
    """Every name in the tables of twins is a function of the native module."""
    assert {*reference.TWINS, *reference.WITHOUT_TWIN, *CASES} <= set(vars(_native))
    assert not set(reference.TWINS) & set(reference.WITHOUT_TWIN)


def test_twins_are_short() -> None:
    """No function of tests/reference.py has more than 15 lines after its docstring."""
    functions = ast.parse(inspect.getsource(reference)).body
    lengths = {
        node.name: node.body[-1].end_lineno - node.body[1].lineno + 1
        for node in functions
        if isinstance(node, ast.FunctionDef) and node.body[-1].end_lineno is not None
    }
    assert max(lengths.values()) <= 15, lengths

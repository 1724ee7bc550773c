"""NumPy twins of the kernels: short, slow and plain, written independently of the C++.

A twin has at most 15 lines. Its name is that of its kernel, or stands in `TWINS`. Every kernel is
compared with its twin in tests/native/test_twins.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[Any]
MASK = 2**32 - 1

# Kernels whose twin has another name: they give the same result in another way, or for sparse rows.
TWINS = {
    "sign_rectangle": "signs",
    "word_rectangle": "random_words",
    "on_the_fly_product": "sign_product",
    "mailman_product": "sign_product",
    "sign_product_sparse": "sign_product",
    "sparse_sign_product_sparse": "sparse_sign_product",
    "hash_columns": "sparse_sign_product",
    "hadamard_product_sparse": "hadamard_product",
    "bounded_assignment": "nearest_center",
}

# Functions of the native module that have no twin, and why.
WITHOUT_TWIN = {
    "forget_mapping": "ends the watch over a mapped file",
    "instruction_set": "tells which build of the kernels is in use",
    "mapping_at": "tells which watched file is mapped at an address",
    "mapping_was_cut": "tells whether a mapped file was cut while it was read",
    "max_threads": "asks OpenMP",
    "release_memory": "gives freed memory back to the system",
    "watch_mapping": "begins the watch over a mapped file",
}


def philox(counter: Iterable[Any], key: int) -> list[NDArray[np.uint64]]:
    """Return the four words of Philox4x32-10 (Salmon et al. 2011) for each counter."""
    words = [np.asarray(word, dtype=np.uint64) for word in counter]
    low, high = key & MASK, key >> 32
    for _ in range(10):
        first, second = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [
            (second >> 32) ^ words[1] ^ low,
            second & MASK,
            (first >> 32) ^ words[3] ^ high,
            first & MASK,
        ]
        low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
    return words


def random_words(key: int, rows: Iterable[int], columns: Iterable[int]) -> NDArray[np.uint64]:
    """Return the 64-bit words of the key in some rows and columns: two columns a cell."""
    row = np.array(list(rows), dtype=np.uint64)[:, None]
    column = np.array(list(columns), dtype=np.uint64)[None, :]
    word = philox((row & MASK, row >> 32, column // 2, 1), key)
    even = column % 2 == 0
    return np.where(even, word[1] << 32 | word[0], word[3] << 32 | word[2])


def signs(key: int, rows: Iterable[int], columns: Iterable[int]) -> Array:
    """Return the signs of the key in some rows and columns: 128 columns a cell, a set bit is +1."""
    row = np.array(list(rows), dtype=np.uint64)[:, None]
    column = np.array(list(columns), dtype=np.uint64)[None, :]
    words = np.stack(philox((row & MASK, row >> 32, column // 128, 0), key))
    quarter = np.broadcast_to((column // 32 % 4).astype(np.intp), words.shape[1:])
    bits = np.take_along_axis(words, quarter[None], axis=0)[0] >> column % 32 & 1
    return 2 * bits.astype(np.int8) - 1


def sign_product(X: Array, key: int, n_components: int, scale: float = 1.0) -> Array:
    """Return the rows times the sign matrix, in extended precision."""
    matrix = signs(key, range(X.shape[1]), range(n_components))
    return X.astype(np.longdouble) @ matrix.astype(np.longdouble) * np.longdouble(scale)


def sparse_sign_matrix(key: int, n_rows: int, n_components: int, n_nonzeros: int) -> Array:
    """Return a sparse sign matrix in full: a sign at a random place of each stretch of columns."""
    matrix = np.zeros((n_rows, n_components))
    row = np.arange(n_rows, dtype=np.uint64)
    for index in range(n_nonzeros):
        word = philox((row & MASK, row >> 32, index // 4, 2), key)[index % 4]
        begin, end = (i * n_components // n_nonzeros for i in (index, index + 1))
        place = begin + ((word & (2**31 - 1)) * (end - begin) >> 31).astype(int)
        matrix[np.arange(n_rows), place] = np.where(word >> 31 == 1, 1.0, -1.0)
    return matrix


def hadamard_matrix(key: int, n_rows: int, positions: Array) -> Array:
    """Return the kept columns of a randomised Walsh-Hadamard matrix, entry by entry."""
    flips = signs(key, range(n_rows), [0]).astype(float)
    parity = [[bin(i & int(p)).count("1") % 2 for p in positions] for i in range(n_rows)]
    return flips * (1.0 - 2.0 * np.array(parity).reshape(n_rows, len(positions)))


def sparse_sign_product(X: Array, key: int, n_components: int, n_nonzeros: int) -> Array:
    """Return the rows times a sparse sign matrix, in extended precision."""
    matrix = sparse_sign_matrix(key, X.shape[1], n_components, n_nonzeros)
    return X.astype(np.longdouble) @ matrix.astype(np.longdouble)


def hadamard_product(X: Array, key: int, positions: Array) -> Array:
    """Return the kept entries of the randomised transform of the rows, in extended precision."""
    matrix = hadamard_matrix(key, X.shape[1], positions)
    return X.astype(np.longdouble) @ matrix.astype(np.longdouble)


def direction_product(X: Array, origin: Array, scale: float, directions: Array) -> Array:
    """Return the coordinates of the rows about an origin along some directions."""
    inside = (X.astype(np.longdouble) - origin) * np.longdouble(scale)
    return inside @ directions.astype(np.longdouble).T


def table_product(X: Array, table: Array) -> Array:
    """Return the rows times a table, in extended precision."""
    return X.astype(np.longdouble) @ table.astype(np.longdouble)


def transposed_product(X: Array, table: Array) -> Array:
    """Return the transposed rows times a table, in extended precision."""
    return X.astype(np.longdouble).T @ table.astype(np.longdouble)


def squared_distances(X: Array, centers: Array) -> Array:
    """Return the squared distance of every center (row) to every row of X (column)."""
    gaps = X.astype(np.longdouble)[None] - centers.astype(np.longdouble)[:, None]
    return np.sum(gaps * gaps, axis=2)


def nearest_center(X: Array, centers: Array, labels: Array | None = None) -> Array:
    """Return the nearest center of every row: the lowest, or the present one among ties."""
    distances = squared_distances(X, centers)
    nearest = distances.argmin(axis=0)
    if labels is None:
        return nearest
    rows = np.arange(len(X))
    return np.where(distances[labels, rows] <= distances[nearest, rows], labels, nearest)


def own_distances(X: Array, centers: Array, labels: Array) -> Array:
    """Return the squared distance of every row to the center that its label names."""
    return squared_distances(X, centers)[labels, np.arange(len(X))]


def lower_distances(X: Array, centers: Array, nearest: Array) -> Array:
    """Return the minimum of every row's present squared distance and those to further centers."""
    return np.minimum(nearest, squared_distances(X, centers).min(axis=0, initial=np.inf))


def priced_clusters(distances: Array, prices: Array) -> tuple[Array, Array, Array, Array]:
    """Return the best and the second best cluster of every row at given prices, and their costs."""
    rows, costs = np.arange(len(distances)), distances + prices
    labels = costs.argmin(axis=1)
    others = costs.copy()
    others[rows, labels] = np.inf
    seconds = others.argmin(axis=1)
    return labels, seconds, costs[rows, labels], others[rows, seconds]


def repair_sizes(distances: Array, minimum: int, maximum: int) -> Array:
    """Return labels of least inertia with sizes within limits: rows get seats of clusters."""
    k = distances.shape[1]
    seats = np.repeat(distances, maximum, axis=1)  # of each cluster, the first must be taken
    must = np.tile(np.arange(maximum) < minimum, k)
    bonus = 1 + 2 * np.abs(distances).sum()
    _, taken = linear_sum_assignment(seats - bonus * must)
    return taken // maximum


def weigh_candidates(
    X: Array, centers: Array, nearest: Array, shares: Array
) -> tuple[Array, Array]:
    """Return the distances that each candidate leaves to every row, and their weighted sums."""
    after = np.minimum(nearest, squared_distances(X, centers))
    return after, after @ shares.astype(np.longdouble)


def dot_rows(left: Array, right: Array) -> Array:
    """Return the dot products of rows: 512 sums of columns with equal rests, added two and two."""
    sums = np.zeros((len(left), 512))
    for column in range(left.shape[1]):
        sums[:, column % 512] += left[:, column] * right[:, column]
    while sums.shape[1] > 1:
        first, second = np.split(sums, 2, axis=1)
        sums = first + second
    return sums[:, 0]


def plus_plus_chances(X: Array, weights: Array, chosen: tuple[int, ...]) -> Array:
    """Return the chance of every row to be the next center by k-means++."""
    if not chosen:
        return weights / weights.sum()
    chances = squared_distances(X, X[list(chosen)]).min(axis=0).astype(float) * weights
    return chances / chances.sum()


def nearest_candidate(X: Array, centers: Array, candidates: Array, labels: Array) -> Array:
    """Return the nearest candidate of every row: the present one among ties, else the lowest."""
    rows = np.arange(len(X))
    distances = np.full((len(X), len(centers)), np.inf, dtype=np.longdouble)
    full = squared_distances(X, centers).T
    distances[rows[:, None], candidates] = full[rows[:, None], candidates]
    nearest = distances.argmin(axis=1)
    return np.where(distances[rows, labels] <= distances[rows, nearest], labels, nearest)


def nearest_listed(X: Array, centers: Array, lists: Any, groups: Array, labels: Array) -> Array:
    """Return the nearest of the centers that each row's group lists, and its distances."""
    full = np.full((len(X), len(centers)), np.inf, dtype=np.longdouble)
    distances = squared_distances(X, centers).T
    for row, group in enumerate(groups):
        full[row, lists[group]] = distances[row, lists[group]]
    two = np.sort(np.c_[full, np.full(len(X), np.inf)], axis=1)[:, :2]
    ties = full[np.arange(len(X)), labels] <= two[:, 0]
    return np.c_[np.where(ties, labels, full.argmin(axis=1)), two]


def nearest_by_sketch(
    X: Array, centers: Array, sketch: Array, errors: Array, inside: Array, labels: Array
) -> tuple[Array, Array]:
    """Return the nearest centers, and how many are not ruled out by the sketch and a first one."""
    distances = squared_distances(X, centers).T
    reach = np.sqrt(distances[np.arange(len(X)), labels]) + errors
    return distances.argmin(axis=1), (
        np.sqrt(squared_distances(sketch, inside).T) <= reach[:, None]
    ).sum(axis=1)


def center_neighbours(centers: Array, lists: Any, groups: Array, n_neighbours: int) -> Array:
    """Return each center and then the nearest of the others that its group lists."""
    gaps = squared_distances(centers, centers)
    np.fill_diagonal(gaps, -1)
    found = []
    for own, group in zip(gaps, groups, strict=True):
        ascending = np.sort(lists[group])
        found.append(ascending[np.argsort(own[ascending], kind="stable")][:n_neighbours])
    return np.array(found)


def uniform(seed: int, index: int) -> float:
    """Return a number in [0, 1) of the generator SplitMix64."""
    mask = 2**64 - 1
    word = (seed + (index + 1) * 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return float((word ^ (word >> 31)) >> 11) * 2.0**-53


def place_centers(X: Array, seed: int, n_centers: int) -> list[tuple[float, int]]:
    """Return the times and rows of the first centers of one cell, by greedy k-means++."""
    placed: list[tuple[float, int]] = []
    nearest, chances = np.full(len(X), np.inf), np.ones(len(X))
    while len(placed) < min(n_centers, len(X)) and chances.sum() > 0:
        total = float(chances.sum())
        time = placed[-1][0] + 1 / total if placed else 0.0
        points = [uniform(seed, 4 * len(placed) + j) * total for j in range(4)]
        drawn = np.searchsorted(np.cumsum(chances), points, side="right")
        after = np.minimum(nearest, squared_distances(X, X[drawn]))
        best = int(np.argmin(after.sum(axis=1)))
        nearest = chances = after[best]
        placed.append((time, int(drawn[best])))
    return placed


def halve_cluster(rows: Array, weights: Array, point: float, n_passes: int) -> Any:
    """Return halves of a cluster, their means and what these gain; the mean of the rows is zero."""
    chances = weights * (rows**2).sum(axis=1)
    drawn = int(np.searchsorted(np.cumsum(chances), point * chances.sum(), side="right"))
    drawn = min(drawn, len(rows) - 1)  # all rows may lie at the mean
    pair = np.array([rows[drawn], -rows[drawn]])
    for _ in range(n_passes):
        half = squared_distances(rows, pair).argmin(axis=0)
        mass = np.bincount(half, weights, 2)
        sums = np.array([(weights * (half == one)) @ rows for one in (0, 1)])
        pair = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-99)[:, None], pair)
    return half, pair, mass.prod() / mass.sum() * ((pair[0] - pair[1]) ** 2).sum()


def halve_clusters(X: Array, labels: Array, means: Array, seed: int, n_passes: int) -> Any:
    """Return halves of all rows, means of the halves and gains, for clusters that differ."""
    halves, centers, gains = np.empty(len(X), int), [], []
    for j, mean in enumerate(means):
        inside = np.flatnonzero(labels == j)
        point = uniform(seed, j)
        half, pair, gain = halve_cluster(X[inside] - mean, np.ones(len(inside)), point, n_passes)
        halves[inside] = 2 * j + half
        centers.extend(mean + pair)
        gains.append(gain)
    return halves, np.array(centers), np.array(gains)


def race_centers(X: Array, cells: Any, seeds: Any, n_centers: int) -> list[tuple[float, int, int]]:
    """Return time, cell and row of the earliest centers of all cells."""
    return sorted(
        (time, cell, int(rows[place]))
        for cell, rows in enumerate(cells)
        for time, place in place_centers(X[rows], int(seeds[cell]), n_centers)
    )[:n_centers]


def means_of(X: Array, labels: Array, centers: Array) -> Array:
    """Return the mean of each cluster; one without rows keeps its center."""
    members = [X[labels == j] for j in range(len(centers))]
    pairs = zip(members, centers, strict=True)
    return np.array([rows.mean(axis=0) if len(rows) else center for rows, center in pairs])


def descend(X: Array, centers: Array, tol: float) -> tuple[float, Array, Array]:
    """Return inertia, centers and labels after Lloyd's method."""
    distances = squared_distances(X, centers)
    inertia, labels = distances.min(axis=0).sum(), distances.argmin(axis=0)
    while True:
        before, old = inertia, labels
        centers = means_of(X, labels, centers)
        distances = squared_distances(X, centers)
        inertia, labels = distances.min(axis=0).sum(), distances.argmin(axis=0)
        if (labels == old).all() or not before - inertia > tol * inertia:
            return float(inertia), centers, labels


def swap_center(X: Array, centers: Array, seed: int, index: int) -> Array:
    """Return centers with the best of two drawn rows in place of the best of all centers."""
    nearest = squared_distances(X, centers).min(axis=0)
    points = [uniform(seed, 2 * index + j) * nearest.sum() for j in range(2)]
    drawn = np.searchsorted(np.cumsum(nearest), points, side="right")
    trials = np.repeat(centers[None], 2 * len(centers), axis=0)
    for i, (row, center) in enumerate(itertools.product(drawn, range(len(centers)))):
        trials[i, center] = X[row]
    sums = [squared_distances(X, trial).min(axis=0).sum() for trial in trials]
    return np.array(trials[int(np.argmin(sums))])


def search_few_rows(
    X: Array, centers: Array, seed: int, patience: int, tol: float
) -> tuple[float, Array]:
    """Return inertia and labels after Lloyd's method and swaps that lower it within four passes."""
    inertia, centers, labels = descend(X, centers, tol)
    failed = index = 0
    while failed < patience and inertia > 0:
        trial, goal = swap_center(X, centers, seed, index), inertia * (1 - 1e-9)
        values = [squared_distances(X, trial).min(axis=0).sum()]
        while values[-1] >= goal and len(values) < 5:
            trial = means_of(X, squared_distances(X, trial).argmin(axis=0), trial)
            values.append(squared_distances(X, trial).min(axis=0).sum())
            if values[-1] - (values[-2] - values[-1]) * (5 - len(values)) >= goal:
                break
        failed, index = 0 if values[-1] < goal else failed + 1, index + 1
        if not failed:
            inertia, centers, labels = descend(X, trial, tol)
    return inertia, labels


def scan_columns(X: Array) -> tuple[Array, Array, tuple[int, int]]:
    """Return the smallest and largest value of each column and the first that is not finite."""
    bad = np.argwhere(~np.isfinite(X.astype(np.float64)))
    first = (int(bad[0, 0]), int(bad[0, 1])) if len(bad) else (-1, -1)
    return X.min(axis=0), X.max(axis=0), first


def cluster_moments(
    X: Array, labels: Array, weights: Array | None, references: Array
) -> tuple[Array, Array, Array]:
    """Return weight, weighted offsets and weighted squares of each cluster in exact fractions."""
    k, d = references.shape
    mass, squares = [Fraction(0)] * k, [Fraction(0)] * k
    offsets = [[Fraction(0)] * d for _ in range(k)]
    for i, j in enumerate(labels):
        weight = Fraction(1 if weights is None else float(weights[i]))
        mass[j] += weight
        for column in range(d):
            gap = Fraction(float(X[i, column])) - Fraction(float(references[j, column]))
            offsets[j][column] += weight * gap
            squares[j] += weight * gap * gap
    return np.array(mass), np.array(offsets), np.array(squares)


def inertia(X: Array, labels: Array, weights: Array | None = None) -> float:
    """Return the weighted squared distances to the means of the clusters, in exact fractions."""
    k = int(np.max(labels)) + 1
    zeros = np.zeros((k, X.shape[1]))
    mass, offsets, squares = cluster_moments(X, labels, weights, zeros)
    total = sum(squares, start=Fraction(0))
    for j in np.flatnonzero(mass):
        total -= sum((value * value for value in offsets[j]), start=Fraction(0)) / mass[j]
    return float(total)


def means(X: Array, labels: Array, k: int, weights: Array | None = None) -> Array:
    """Return the weighted mean of each cluster, NaN for an empty one."""
    weights = np.ones(len(X)) if weights is None else weights
    mass = np.bincount(labels, weights, minlength=k)
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, labels, X.astype(np.float64) * weights[:, None])
    return np.divide(sums, mass[:, None], out=np.full_like(sums, np.nan), where=mass[:, None] > 0)


def changes(X: Array, labels: Array, k: int, weights: Array) -> Array:
    """Return MatLab's Del: how inertia grows if a row joins a cluster, or falls if it leaves."""
    own = labels[:, None] == np.arange(k)
    mass = np.bincount(labels, weights, minlength=k)[None, :]
    centers = np.nan_to_num(means(X, labels, k, weights))
    distances = squared_distances(X, centers).T.astype(np.float64)
    left = np.where(own, mass - weights[:, None], mass + weights[:, None])
    alone = own & (left <= 1e-12 * mass)
    return np.where(alone, 0.0, weights[:, None] * mass / np.where(alone, 1.0, left) * distances)


def move_points(X: Array, labels: Array, k: int, weights: Array | None = None) -> Array:
    """Return the labels after one cyclic pass of MatLab's online phase."""
    weights = np.ones(len(X)) if weights is None else weights
    labels, last = labels.copy(), -1
    while True:
        change = changes(X, labels, k, weights)
        rows = np.arange(len(X))
        gains = change.min(axis=1) < change[rows, labels] * (1 - 1e-12)
        movers = np.flatnonzero(gains & (rows > last) & (weights > 0))
        if not len(movers):
            return labels
        last = int(movers[0])
        labels[last] = change[last].argmin()


def lloyd(X: Array, centers: Array, max_iter: int) -> tuple[Array, list[float]]:
    """Return the labels and the inertias of MatLab's batch phase; no cluster may become empty."""
    k = len(centers)
    labels = nearest_center(X, centers)
    history = [inertia(X, labels)]
    while len(history) < max_iter:
        candidate = nearest_center(X, means(X, labels, k), labels)
        value = inertia(X, candidate)
        if not value < history[-1]:
            break
        labels = candidate
        history.append(value)
    return labels, history


def sweep_cuts(cuts: Array, scales: Array, matrix: Array, values: Array) -> tuple[Array, Array]:
    """Return Z and the multipliers after each cut has been met once, in order."""
    Z, t = matrix.copy(), values.copy()
    for c, (i, j, h) in enumerate(cuts):
        terms = [(i, i, 1.0), (i, j, -1.0)]
        if h >= 0:
            terms = [(i, i, 1.0), (j, h, 1.0), (i, j, -1.0), (i, h, -1.0)]
        factors = [sign * scales[a] * scales[b] for a, b, sign in terms]
        pairs = zip(terms, factors, strict=True)
        slack = sum(factor * float(Z[min(a, b), max(a, b)]) for (a, b, _), factor in pairs)
        norm = factors[0] ** 2 + sum(factor**2 for factor in factors[1:]) / 2
        after = max(t[c] - np.float32(slack / norm), np.float32(0))
        step, t[c] = float(after) - float(t[c]), after
        for (a, b, _), factor in zip(terms, factors, strict=True):
            change = np.float32(step * factor / (1 if a == b else 2))
            Z[a, b] = Z[b, a] = Z[min(a, b), max(a, b)] + change
    return Z, t


def violated_triangles(Z: Array, floor: float, most: int) -> list[list[tuple[Any, int, int]]]:
    """Return, for every row i, the largest Z_ij + Z_ih - Z_ii - Z_jh with j and h, sorted."""
    n, found = len(Z), []
    for i in range(n):
        pairs = [(j, h) for j in range(n) for h in range(j + 1, n) if i not in (j, h)]
        every = [((Z[i, j] - Z[i, i]) + (Z[i, h] - Z[j, h]), j, h) for j, h in pairs]
        broken = [one for one in every if one[0] > floor]
        found.append(sorted(broken, key=lambda one: (-one[0], one[1], one[2]))[:most])
    return found


def brute_force_optimum(X: Array, k: int) -> float:
    """Return the minimum inertia over all partitions into at most k clusters."""
    partitions = itertools.product(range(k), repeat=len(X) - 1)
    return min(inertia(X, np.array((0, *rest))) for rest in partitions)


def best_matching(labels_true: Array, labels_pred: Array) -> float:
    """Return the largest share of rows matched over all one-to-one matchings, by trying all."""
    classes, clusters = np.unique(labels_true), np.unique(labels_pred)
    size = max(len(classes), len(clusters))
    padded = list(classes) + [None] * (size - len(classes))
    best = 0
    for order in itertools.permutations(padded):
        matched = dict(zip(clusters, order, strict=False))
        pairs = zip(labels_true, labels_pred, strict=True)
        best = max(best, sum(matched[cluster] == name for name, cluster in pairs))
    return best / len(labels_true)


def extended_inertia(X: Array, labels: Array) -> float:
    """Return the inertia in extended precision: for many rows, where fractions are too slow."""
    total = np.longdouble(0)
    for j in np.unique(labels):
        part = X[labels == j].astype(np.longdouble)
        part = part - part.mean(axis=0)
        total += np.sum(part * part)
    return float(total)

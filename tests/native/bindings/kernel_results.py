"""A program: run all kernels under the instruction set of its environment and write the results.

Called as ``python -m tests.native.bindings.kernel_results FILE.npz`` by test_instruction_sets.py,
because the instruction set of a process is chosen only once.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse

from projected_kmeans import ProjectedKMeans, _native
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, SparseBlocks
from projected_kmeans.passes.problem import Problem, assign_rows, measure_rows, own_distances
from projected_kmeans.projections.hashed_columns import hash_sparse
from projected_kmeans.search.lloyd import run_lloyd

N_COLUMNS, N_CENTERS = 1100, 14

Results = dict[str, Any]


def compute_dense(rows: Any, centers: Any, name: str) -> Results:
    """Return the results of the kernels for dense rows of one element type."""
    found: Results = {}
    X = rows.astype(name)
    wide = np.float64 if name == "float64" else np.float32
    for t in (5, 50, 150):
        out = np.empty((len(X), t), wide)
        _native.sign_product(X, 2**63 + 7, 0.3, out, 2)
        found[f"product {t}"] = out
    source = ArrayBlocks(X)
    labels = np.zeros(len(X), np.int32)
    near = assign_rows(source, centers, labels, keep_ties=False)
    found["distances"], found["second"], found["labels"] = near.nearest, near.second, labels.copy()
    found["all distances"] = measure_rows(source, centers)
    origin, zero = np.full(N_COLUMNS, 50, wide), np.zeros(N_COLUMNS, wide)
    found["lowered"] = lowered = np.full(len(X), 1e6, wide)
    _native.lower_distances(X, origin, 0.5, centers.astype(wide), lowered, 2)
    tiles = (X[:64].astype(wide) - origin).reshape(2, 32, N_COLUMNS).transpose(0, 2, 1).copy()
    found["after"], found["left"] = np.empty((N_CENTERS, 64), wide), np.empty(N_CENTERS)
    inside = centers.astype(wide) - origin
    shares = nearest = lowered[:64]
    _native.weigh_candidates(tiles, inside, nearest, shares, found["after"], found["left"], 2)
    priced = found["all distances"].T.astype(wide, order="C")
    found["priced"], found["second price"] = costs = np.empty((2, len(X)), wide)
    first, second = np.empty((2, len(X)), np.int32)
    prices = np.arange(N_CENTERS, dtype=wide)
    _native.priced_clusters(priced, prices, first, second, *costs, 2)
    found["priced labels"], found["second labels"] = first, second
    sizes, repaired = np.bincount(first, minlength=N_CENTERS), first.copy()
    wanted = np.clip(sizes, 1, -(-len(X) // N_CENTERS) + 1)
    excess = np.append(sizes - wanted, np.sum(wanted - sizes))
    moved, reaches, high = prices.astype(np.float64), np.full(N_CENTERS, np.inf), int(wanted.max())
    _native.repair_sizes(priced, reaches, 1, high, repaired, moved, wanted, excess)
    found["repaired labels"] = repaired
    # Nine rows, each in a cluster of its own: most clusters are empty at first.
    lonely, sizes = first[:9].copy(), np.bincount(first[:9], minlength=N_CENTERS)
    wanted = np.minimum(sizes, 1)
    excess = np.append(sizes - wanted, np.sum(wanted - sizes))
    _native.repair_sizes(
        priced[:9].copy(), reaches, 0, 1, lonely, np.zeros(N_CENTERS), wanted, excess
    )
    found["lonely labels"], found["lonely excess labels"] = lonely, excess
    found["dots"] = np.empty(N_CENTERS)
    _native.dot_rows(centers, centers[::-1].copy(), None, N_COLUMNS, found["dots"])
    ranges = scan_columns(source)
    found["minimum"], found["maximum"] = ranges.minimum, ranges.maximum
    moments = Problem(source, ranges).sum(labels, centers)
    found["offsets"], found["squares"] = moments.offsets, moments.squares
    inside = centers.astype(wide)
    near = np.empty((N_CENTERS, 3), np.int32)
    names, starts = np.arange(N_CENTERS, dtype=np.int32), np.array([0, N_CENTERS])
    _native.center_neighbours(inside, np.zeros(N_CENTERS, np.int32), starts, names, near, 2)
    found["near labels"], found["listed labels"] = near, labels[::-1].copy()
    starts = np.arange(0, near.size + 1, 3)
    distances = np.empty((2, len(X)), wide)
    _native.nearest_listed(
        X, zero, 1.0, inside, centers, None, starts, near.ravel(), found["listed labels"],
        *distances, 2,
    )  # fmt: skip
    found["listed distances"] = distances
    pairs, few = np.arange(0, N_CENTERS + 1, N_CENTERS), X[:, :3].astype(wide)
    known = few, np.ones(len(X), wide), inside[:, :3].copy(), inside[:1, :3].copy()
    found["sketched labels"], found["sketched counts"] = both = np.empty((2, len(X)), np.int32)
    both[0] = labels[::-1]
    _native.nearest_by_sketch(
        X, zero, 1.0, inside, centers, *known, np.full(1, 1e3, wide), np.zeros(len(X), np.int32),
        pairs, names, N_CENTERS, *both, 2,
    )  # fmt: skip
    means, mass = moments.means, moments.mass.copy()
    found["moves"] = _native.move_points(X, None, origin, 1.0, labels, means, mass, 2)
    found["moved labels"], found["moved means"] = labels, means
    return found


def compute_sparse(rows: Any, centers: Any, name: str, stream: np.random.Generator) -> Results:
    """Return the results of the kernels for sparse rows of one precision."""
    found: Results = {}
    X = scipy.sparse.csr_array(np.where(rows > 85, rows, 0).astype(name))
    source, labels = SparseBlocks(X), np.zeros(len(rows), np.int32)
    ranges = scan_columns(source)
    near = assign_rows(source, centers, labels, keep_ties=False, ranges=ranges)
    found["sparse near"], found["sparse next"] = near.nearest, near.second
    found["sparse labels"] = labels
    found["sparse all"] = measure_rows(source, centers)
    found["sparse own"] = own_distances(source, centers, labels)
    moments = Problem(source, ranges).sum(labels, centers)
    found["sparse offsets"], found["sparse squares"] = moments.offsets, moments.squares
    lists = stream.integers(N_CENTERS, size=(len(rows), 5)).astype(np.uint16)
    found["sparse chosen labels"] = chosen = lists[:, 0].astype(np.int32)
    inside, zero = centers.astype(name), np.zeros(N_COLUMNS, name)
    _native.nearest_candidate(X, zero, 1.0, inside, centers, lists, chosen, 2)
    found["sparse product"] = out = np.empty((len(rows), N_CENTERS), name)
    _native.table_product(X, inside.T.copy(), out, 2)
    found["sparse hashed"] = hash_sparse(X, 3, 7, 2).toarray()
    found["sparse turned"] = np.zeros((N_COLUMNS, N_CENTERS))
    _native.transposed_product(X, out.astype(float), found["sparse turned"], 2)
    return found


def compute_models(stream: np.random.Generator) -> Results:
    """Return labels and inertia of whole fits."""
    middles = 84 * np.eye(5, 200)[stream.integers(5, size=300)]
    separate = stream.normal(size=(300, 200)) + middles
    models = [
        ProjectedKMeans(5, random_state=seed, solver=solver).fit(separate)
        for seed in range(4)
        for solver in ("lloyd", "hartigan")
    ]
    return {
        "model labels": [model.labels_ for model in models],
        "model inertia": [model.inertia_ for model in models],
    }


def compute_lloyd(name: str, stream: np.random.Generator) -> Results:
    """Return labels and centers of Lloyd's method, most passes of which keep bounds."""
    X = stream.integers(0, 100, size=(2000, 37)).astype(name)
    source = ArrayBlocks(X)
    found = run_lloyd(Problem(source, scan_columns(source)), X[:30].astype(float), max_iter=12)
    return {"lloyd labels": found.labels, "lloyd centers": found.centers}


def compute_cuts(stream: np.random.Generator) -> Results:
    """Return the cuts that a matrix breaks most, and what a sweep over them makes of it."""
    matrix = stream.random((90, 90)).astype(np.float32)
    matrix = (matrix + matrix.T) / 2
    others, violations = np.empty((90, 7, 2), np.int32), np.empty((90, 7), np.float32)
    counts = np.empty(90, np.int32)
    _native.violated_triangles(matrix, 0.0, others, violations, counts, 2)
    cuts = np.column_stack([np.repeat(np.arange(90), 7), others.reshape(-1, 2)]).astype(np.int32)
    found = {"triangle labels": others, "violations": violations, "cut matrix": matrix}
    found["cut values"] = np.zeros(len(cuts), np.float32)
    _native.sweep_cuts(cuts, np.linspace(1, 2, 90), matrix, found["cut values"])
    return found


def compute_all() -> Results:
    """Return all results, those of an element type under names that begin with the type."""
    stream = np.random.default_rng(0)
    rows = stream.integers(0, 100, size=(75, N_COLUMNS))
    centers = stream.integers(0, 100, size=(N_CENTERS, N_COLUMNS)).astype(float)
    parts = [(name, compute_dense(rows, centers, name)) for name in _native.ELEMENT_TYPES]
    for name in ("float32", "float64"):
        parts.append((name, compute_sparse(rows, centers, name, stream)))
    results = compute_models(stream) | {"instruction set": _native.instruction_set()}
    parts.append(("float32", compute_cuts(stream)))
    for name in ("float32", "float64", "uint8"):
        parts.append((name, compute_lloyd(name, stream)))
    return results | {
        f"{name} {what}": value for name, part in parts for what, value in part.items()
    }


if __name__ == "__main__":
    np.savez(sys.argv[1], **compute_all())

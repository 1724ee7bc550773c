"""The least inertia within limits of sizes, from prices that nearly keep them.

At any prices, rows that choose for themselves are assigned optimally for the sizes that result.
What is left is to move a few rows. A move of a row from cluster a to cluster b costs the difference
of its two distances; the cheapest moves between all pairs of clusters make a graph with k nodes.
Rows too many travel over shortest paths of this graph to clusters with too few. Prices change with
the lengths of the paths, so that every row stays with the cluster that is cheapest for it
(successive shortest paths). The result is therefore optimal, up to the rounding of the distances.

One more node, the hub, stands for the freedom of sizes: a path over it lets one cluster keep a row
more, or another one do with a row less.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_kmeans.passes.cluster_prices import Choice, rank_gaps, target_sizes
from projected_kmeans.passes.size_limits import SizeLimits
from projected_kmeans.results import Floats

# First only rows with small gaps take part: 16 of each cluster, and twice those in the wrong place.
# Then all rows do.
ROWS_PER_CLUSTER, ROWS_PER_WRONG = 16, 2


class Paths(NamedTuple):
    """Shortest paths from some nodes to all.

    Attributes
    ----------
    lengths : ndarray of float64 (nodes,)
        Infinity where there is no path.
    before : ndarray of int64 (nodes,)
        The node before on the path; -1 at its start.
    """

    lengths: Floats
    before: NDArray[np.int64]

    def to(self, node: int) -> list[int]:
        """Return the nodes of the path to a node."""
        path = [node]
        while self.before[path[-1]] >= 0:
            path.append(int(self.before[path[-1]]))
        return path[::-1]


def find_paths(graph: Floats, starts: NDArray[np.bool_]) -> Paths:
    """Return shortest paths from the nearest of some nodes (Bellman and Ford, all arcs at once).

    Parameters
    ----------
    graph : ndarray of float64 (nodes, nodes)
        The lengths of arcs from row to column, at least 0; infinity where there is none.
    starts : ndarray of bool (nodes,)
        Where paths may begin.

    Examples
    --------
    >>> graph = np.array([[np.inf, 1.0, 5.0], [np.inf, np.inf, 1.0], [np.inf] * 3])
    >>> found = find_paths(graph, np.array([True, False, False]))
    >>> found.lengths.tolist(), found.to(2)
    ([0.0, 1.0, 2.0], [0, 1, 2])
    """
    nodes = np.arange(len(graph))
    lengths = np.where(starts, 0.0, np.inf)
    before = np.full(len(graph), -1, dtype=np.int64)
    while True:
        longer = lengths[:, None] + graph
        last = longer.argmin(axis=0)
        found = longer[last, nodes]
        better = found < lengths
        if not better.any():
            return Paths(lengths, before)
        lengths = np.where(better, found, lengths)
        before[better] = last[better]


def repair_sizes(distances: NDArray[Any], choice: Choice, limits: SizeLimits) -> Choice:
    """Return the assignment of least inertia within limits, for rows without weights.

    Parameters
    ----------
    distances : ndarray of float32 or float64 (n, k)
        Squared distances of all rows to all centers.
    choice : Choice
        What rows choose at some prices.
    limits : SizeLimits
        Limits in whole rows that can be kept.

    Returns
    -------
    Choice
        Labels within the limits, and prices that prove that none has less inertia. Its gaps are
        those of other prices if rows were moved.
    """
    k = distances.shape[1]
    if not choice.excess.any():
        return choice
    repair = _Repair(choice, limits)
    n_taking_part = ROWS_PER_CLUSTER + ROWS_PER_WRONG * np.abs(choice.excess).astype(np.int64)
    if not repair.run(distances, _reaches(choice, n_taking_part), choice.gaps):
        repair.run(distances, np.full(k, np.inf), choice.gaps)
    return replace(choice, prices=repair.prices, labels=repair.labels, excess=np.zeros(k))


def _reaches(choice: Choice, n_taking_part: NDArray[np.int64]) -> Floats:
    """Return for each cluster the gap up to which its rows take part; infinity if all do."""
    counts = np.bincount(choice.labels, minlength=len(n_taking_part))
    return np.where(n_taking_part < counts, rank_gaps(choice, n_taking_part), np.inf)


class _Repair:
    """An assignment at its prices, with rows too many and too few that are to be cancelled."""

    def __init__(self, choice: Choice, limits: SizeLimits) -> None:
        self.prices, self.labels = choice.prices.copy(), choice.labels.copy()
        self._limits, self._k = limits, len(choice.prices)
        sizes = np.bincount(self.labels, minlength=self._k)
        wanted = target_sizes(self.prices, sizes.astype(np.float64), limits)
        # The size that each cluster shall have so far, and what nodes have above it. The last node
        # is the hub.
        self._wanted = wanted.astype(np.int64)
        self._excess = np.append(sizes - self._wanted, 0)
        self._excess[self._k] = -np.sum(self._excess)

    def run(self, distances: NDArray[Any], reaches: Floats, gaps: Floats) -> bool:
        """Move rows whose gaps are within reach; return whether all sizes are then right.

        The other rows of a cluster stay where they are as long as its price has not risen by more
        than their smallest gap, compared with any other price. Rows stop moving before that.
        """
        rows = np.flatnonzero(gaps <= reaches[self.labels])
        moves = _Moves(distances, rows, self.labels[rows])
        begun = self.prices.copy()
        while self._excess.any():
            paths = find_paths(self._graph(moves), self._excess > 0)
            targets = self._raise_prices(paths, begun, reaches)
            if not len(targets):
                break
            self._move_along(paths, targets, moves)
        self.labels[rows] = moves.labels
        return not self._excess.any()

    def _graph(self, moves: _Moves) -> Floats:
        """Return the costs of the cheapest moves at the present prices, with the hub."""
        k, prices = self._k, self.prices
        graph = np.full((k + 1, k + 1), np.inf)
        graph[:k, :k] = np.maximum(moves.cheapest() + prices - prices[:, None], 0.0)
        may_grow, may_shrink = self._room()
        graph[:k, k][may_grow] = np.maximum(-prices[may_grow], 0.0)
        graph[k, :k][may_shrink] = np.maximum(prices[may_shrink], 0.0)
        return graph

    def _room(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self._wanted < self._limits.maximum, self._wanted > self._limits.minimum

    def _raise_prices(self, paths: Paths, begun: Floats, reaches: Floats) -> NDArray[np.int64]:
        """Change prices by the lengths of paths; return the nodes that rows can then travel to.

        As many of the nodes that miss rows are served as the reaches of clusters allow.
        """
        targets = np.flatnonzero((self._excess < 0) & np.isfinite(paths.lengths))
        targets = targets[np.argsort(paths.lengths[targets], kind="stable")]
        n_served = len(targets)
        while n_served:
            farthest = paths.lengths[targets[n_served - 1]]
            change = np.minimum(paths.lengths, farthest)
            prices = self.prices - change[:-1] + change[-1]
            risen = prices - begun
            if np.all(risen - np.min(risen) <= reaches):
                self.prices = prices
                break
            n_served //= 2
        return targets[:n_served]

    def _move_along(self, paths: Paths, targets: NDArray[np.int64], moves: _Moves) -> None:
        """Move rows along the paths to nodes that miss some; a row moves once at most."""
        moves.begin_round()
        for target in targets:
            path = paths.to(int(target))
            arcs = list(pairwise(path))
            rows = [moves.rows_between(a, b) if self._k not in (a, b) else None for a, b in arcs]
            n_moved = min(
                self._excess[path[0]],
                -self._excess[target],
                *(
                    self._capacity(a, b) if rows_ is None else len(rows_)
                    for (a, b), rows_ in zip(arcs, rows, strict=True)
                ),
            )
            if n_moved <= 0:
                continue
            self._excess[path[0]] -= n_moved
            self._excess[target] += n_moved
            for (a, b), some in zip(arcs, rows, strict=True):
                if some is not None:
                    moves.move(some[:n_moved], a, b)
                elif b == self._k:
                    self._wanted[a] += n_moved
                else:
                    self._wanted[b] -= n_moved

    def _capacity(self, a: int, b: int) -> int:
        """Return by how much a cluster may still grow or shrink, on an arc to or from the hub."""
        if b == self._k:
            return int(self._limits.maximum - self._wanted[a])
        return int(self._wanted[b] - self._limits.minimum)


class _Moves:
    """The rows that take part, and the cheapest moves between all pairs of clusters."""

    def __init__(
        self, distances: NDArray[Any], rows: NDArray[np.int64], labels: NDArray[np.int64]
    ) -> None:
        k = distances.shape[1]
        self.labels, self._rows, self._distances = labels, rows, distances
        self._least = np.full((k, k), np.inf)
        self._changed = set(range(k))
        self._has_moved = np.zeros(len(labels), dtype=np.bool_)

    def cheapest(self) -> Floats:
        """Return the cost of the cheapest move from row to column; infinity if there is none."""
        for a in self._changed:
            inside = self._rows[self.labels == a]
            costs = self._distances[inside]
            costs -= costs[:, a : a + 1].copy()
            self._least[a] = costs.min(axis=0) if len(inside) else np.inf
            self._least[a, a] = np.inf
        self._changed = set()
        return self._least

    def begin_round(self) -> None:
        """Let all rows move again."""
        self._has_moved[:] = False

    def rows_between(self, a: int, b: int) -> NDArray[np.int64]:
        """Return the rows whose move is as cheap as the cheapest and that have not moved yet."""
        inside = np.flatnonzero((self.labels == a) & ~self._has_moved)
        rows = self._rows[inside]
        costs = self._distances[rows, b] - self._distances[rows, a]
        return np.asarray(inside[costs == self._least[a, b]])

    def move(self, rows: NDArray[np.int64], a: int, b: int) -> None:
        """Move rows from one cluster to another."""
        self.labels[rows] = b
        self._has_moved[rows] = True
        self._changed |= {a, b}

"""Deal all rows over parts so that every part mirrors the whole.

The rows of a part have the inertia of their clusters about the part's own means. This is less than
what they add to the inertia of all rows, by

    sum over parts p and clusters c of |sum over rows of c in p of w (y - center of c)|^2 / weight,

and no sum of bounds of parts can be higher. So the rows of each cluster are dealt such that every
part's sum of w (y - center) stays close to zero. Rows are dealt like cards, far rows first, one to
every part in a round. Which row of the round goes to which part is an assignment problem: the sums
after the round shall be as short as possible. Sums are measured along the directions in which the
rows of the cluster vary most. The next cluster goes on where the last one ended, so that two parts
differ by at most one row.

Any deal gives a valid bound. So nothing here has to be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import linear_sum_assignment

from projected_kmeans.blas_threads import multiply, strictly
from projected_kmeans.certificates.proof_rows import Indices, never_stop
from projected_kmeans.certificates.semidefinite.part import Instance
from projected_kmeans.keys import DEAL, open_stream
from projected_kmeans.results import Floats
from projected_kmeans.thread_pool import ThreadPool

# Directions along which sums are measured. On the digits of MNIST in parts of 1,000 rows the ratio
# of a deal is 1.0021 with 32 of them, 1.0015 with 64, 1.0012 with 128, and 1.0099 at random.
N_DIRECTIONS = 96
# Rows of a cluster that are converted to float64 at a time.
STRETCH = 4096


class Deal(NamedTuple):
    """Which rows are in which part."""

    parts: tuple[Indices, ...]  # the rows of each part, in ascending order
    # The inertia of the clustering over the sum of its inertias in the parts, at least 1. It is the
    # smallest ratio that bounds of these parts can prove for this clustering.
    ratio: float


def deal_rows(
    instance: Instance,
    n_parts: int,
    *,
    key: int = 0,
    n_threads: int = 1,
    check: Callable[[], None] = never_stop,
) -> Deal:
    """Deal rows over 1 to n parts that mirror the clustering; the same bits for any threads.

    The key fixes the vectors from which directions are found. ``n_threads`` clusters are dealt at a
    time. The check is called between rounds, and may raise to stop the work.
    """
    rows, weights = instance.rows, instance.weights
    codes = np.unique(instance.labels, return_inverse=True)[1]
    clusters = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    first_parts = np.cumsum([0, *(len(members) for members in clusters)]) % n_parts
    exponent = _find_exponent(rows)

    def deal_one(index: int) -> _Dealt:
        members = clusters[index]
        shares = np.ones(len(members))
        if weights is not None:
            shares = weights[members] / weights.max()
        make = _SparseCluster if scipy.sparse.issparse(rows) else _DenseCluster
        cluster = make(rows, members, shares, exponent, check)
        stream = open_stream(key, DEAL, index)
        return _deal_cluster(cluster, n_parts, int(first_parts[index]), stream)

    if min(n_threads, len(clusters)) <= 1:
        every = [deal_one(index) for index in range(len(clusters))]
    else:
        with ThreadPool(n_threads) as pool:
            every = list(pool.map(deal_one, range(len(clusters))))
    owners = np.empty(rows.shape[0], np.int64)
    for members, dealt in zip(clusters, every, strict=True):
        owners[members] = dealt.owners
    ends = np.cumsum(np.bincount(owners, minlength=n_parts))[:-1]
    parts = tuple(np.split(np.argsort(owners, kind="stable"), ends))
    return Deal(parts, _ratio(every))


class _Dealt(NamedTuple):
    """The part of every row of a cluster, the cluster's inertia, and what the parts lose of it."""

    owners: Indices
    inertia: float
    lost: float


def _ratio(every: list[_Dealt]) -> float:
    whole = math.fsum(dealt.inertia for dealt in every)
    lost = math.fsum(dealt.lost for dealt in every)
    if not whole > 0:
        return 1.0
    return max(1.0, whole / (whole - lost)) if lost < whole else math.inf


class _DenseCluster:
    """The rows of a cluster about its center, each times its weight, in stretches."""

    def __init__(
        self,
        rows: Any,
        members: Indices,
        weights: Floats,
        exponent: int,
        check: Callable[[], None],
    ) -> None:
        self._rows, self._members, self.check = rows, members, check
        self._factor = math.ldexp(1.0, -min(1000, max(-1000, exponent)))
        self.weights, self.shape = weights, (len(members), int(rows.shape[1]))
        self._center = np.zeros(self.shape[1])
        sums = np.zeros(self.shape[1])
        for span, rows in self._walk():
            sums += multiply(self.weights[span], rows)
        self._center = sums / math.fsum(weights)

    def _walk(self) -> Iterator[tuple[slice, Any]]:
        for first in range(0, len(self._members), STRETCH):
            self.check()
            span = slice(first, first + STRETCH)
            yield span, self._prepare(self._rows[self._members[span]])

    def _prepare(self, rows: Any) -> Any:
        moved = np.multiply(rows, self._factor, dtype=np.float64)
        moved -= self._center
        return moved

    def squares(self) -> Floats:
        """Return |y - center|^2 of every row."""
        return np.concatenate([np.einsum("ij,ij->i", rows, rows) for _, rows in self._walk()])

    def project(self, basis: Floats) -> Floats:
        """Return w (y - center) B for every row."""
        return np.concatenate(
            [self.weights[span, None] * multiply(rows, basis) for span, rows in self._walk()]
        )

    def combine(self, factors: Floats) -> Floats:
        """Return the sum of w (y - center)^T f over all rows, (d, t)."""
        sums = np.zeros((self.shape[1], factors.shape[1]))
        for span, rows in self._walk():
            sums += multiply(rows.T, self.weights[span, None] * factors[span])
        return sums

    def sum_parts(self, owners: Indices, n_parts: int) -> Floats:
        """Return |sum of w (y - center)|^2 of the rows of every part."""
        sums = np.zeros((n_parts, self.shape[1]))
        for span, rows in self._walk():
            sums += _indicator(owners[span], self.weights[span], n_parts) @ rows
        return np.asarray(np.einsum("ij,ij->i", sums, sums))


class _SparseCluster(_DenseCluster):
    """The same for CSR rows; the center is subtracted from products and not from rows."""

    def _prepare(self, rows: Any) -> Any:
        return scipy.sparse.csr_array(rows) * self._factor

    def squares(self) -> Floats:
        """Return |y - center|^2 of every row."""
        own = np.concatenate([rows.power(2).sum(axis=1) for _, rows in self._walk()])
        sides = np.concatenate([rows @ self._center for _, rows in self._walk()])
        squares = own - 2 * sides + multiply(self._center, self._center)
        return np.asarray(np.maximum(squares, 0.0))

    def project(self, basis: Floats) -> Floats:
        """Return w (y - center) B for every row."""
        products = np.concatenate([rows @ basis for _, rows in self._walk()])
        return np.asarray(self.weights[:, None] * (products - multiply(self._center, basis)))

    def combine(self, factors: Floats) -> Floats:
        """Return the sum of w (y - center)^T f over all rows, (d, t)."""
        weighted = self.weights[:, None] * factors
        sums = -np.outer(self._center, weighted.sum(axis=0))
        for span, rows in self._walk():
            sums += rows.T @ weighted[span]
        return sums

    def sum_parts(self, owners: Indices, n_parts: int) -> Floats:
        """Return |sum of w (y - center)|^2 of the rows of every part."""
        sums: Any = sum(
            _indicator(owners[span], self.weights[span], n_parts) @ rows
            for span, rows in self._walk()
        )
        weights = np.bincount(owners, self.weights, minlength=n_parts)
        sides = weights * (sums @ self._center)
        center = multiply(self._center, self._center)
        squares = sums.power(2).sum(axis=1) - 2 * sides + weights**2 * center
        return np.asarray(np.maximum(squares, 0.0))


def _indicator(owners: Indices, weights: Floats, n_parts: int) -> Any:
    """Return the sparse matrix (parts, rows) that sums rows by part."""
    places = (weights, (owners, np.arange(len(owners))))
    return scipy.sparse.csr_array(places, shape=(n_parts, len(owners)))


def _deal_cluster(
    cluster: _DenseCluster, n_parts: int, first_part: int, stream: np.random.Generator
) -> _Dealt:
    """Deal the rows of one cluster, beginning the last round with a given part."""
    squares = cluster.squares()
    inertia = float(multiply(cluster.weights, squares))
    order = np.argsort(-squares * cluster.weights**2, kind="stable")
    points = _find_coordinates(cluster, stream) if len(order) > n_parts > 1 else None
    owners = np.empty(len(order), np.int64)
    sums = None if points is None else np.zeros((n_parts, points.shape[1]))
    for first in range(0, len(order), n_parts):
        dealt = order[first : first + n_parts]
        # All parts are dealt to but in the last round, which may be short.
        parts = (first_part + np.arange(len(dealt))) % n_parts
        if points is not None and sums is not None and first:
            cluster.check()
            parts = parts[linear_sum_assignment(multiply(points[dealt], sums[parts].T))[1]]
        owners[dealt] = parts
        if points is not None and sums is not None:
            sums[parts] += points[dealt]
    weights = np.bincount(owners, cluster.weights, minlength=n_parts)
    lost = cluster.sum_parts(owners, n_parts)[weights > 0] / weights[weights > 0]
    return _Dealt(owners, inertia, math.fsum(lost))


def _find_coordinates(cluster: _DenseCluster, stream: np.random.Generator) -> Floats:
    """Return the rows along the directions of largest variance, roughly (one power step)."""
    n_rows, n_columns = cluster.shape
    if n_columns <= N_DIRECTIONS:
        return cluster.project(np.eye(n_columns))
    width = min(N_DIRECTIONS, n_rows)
    sketched = cluster.project(stream.normal(size=(n_columns, width)))
    combined = cluster.combine(sketched)
    basis = strictly(lambda: np.linalg.qr(combined)[0])
    return cluster.project(np.asarray(basis))


def _find_exponent(rows: Any) -> int:
    """Return e such that rows times 2^-e have entries of at most 1."""
    is_sparse: bool = scipy.sparse.issparse(rows)
    entries = rows.data if is_sparse else rows
    largest = max(abs(float(entries.max(initial=0))), abs(float(entries.min(initial=0))))
    return math.frexp(largest)[1] if math.isfinite(largest) else 0

"""The sampled bound: a lower bound on the inertia of many rows from a few random subsets.

It holds with a stated probability over the random draws; the other bounds are certain.

Draws. They follow from the key and from a fingerprint of the rows, a hash of all their entries. If
they followed from the key alone, anyone who knows the key could make rows for which the bound is
false: spread the rows that will be drawn, and move all others together. With the fingerprint,
moving any row changes all draws. The probability is taken over the draws as if the hash were a
random function: for rows that were not chosen with this program in view, it is as stated. What is
left to an adversary who knows the key is to try many data sets until the draws of one are bad: one
in a hundred is, at a confidence of 0.99. A key that was drawn after the rows were fixed
(``random_state=None``) leaves nothing to try.

Inequality. Let N rows be drawn uniformly (in proportion to their weights, if they have any) and
divided into subsets. Let x be the sum of certain lower bounds on the minimum inertia of each
subset, divided by N. Let mu be the minimum inertia of all rows, divided by their weight, and R an
upper bound on the squared distance of a row to the nearest of the best centers. Then

    P(observing x or more) <= exp(-N kl(x / R, mu / R)),

where kl is the Kullback-Leibler divergence of two coins. The bound is the smallest mu for which
this probability is at least 1 - confidence.

Proof. Let f be the squared distance of a row to the nearest of the best centers of all rows; its
mean over all rows is mu. The minimum inertia of a subset is at most the sum of f over the subset,
so x is at most the mean of f over the N rows drawn. As f lies in [0, R], Hoeffding's inequality in
its sharp form applies (1963, theorem 1; section 6 for draws without replacement).

R. The mean of all rows is a weighted mean of the best centers. So the squared distance of a row y
to the nearest center is at most ||y - mean||^2 plus the variance of the centers, which is at most
that of the rows. `ProofRows.reach` is this sum.

The number of subsets is fixed before any of them is looked at. A subset for which there was no time
counts as 0; leaving it out would make the number depend on what was seen. Only this one bound is
random, so the probability of an error is not divided among several bounds.

Rounding. Bounds of subsets are certain, with rounding included. `MARGIN` is larger than the
rounding of the few operations here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.tasks import Block
from projected_kmeans.certificates.proof_rows import Indices, ProofRows, never_stop
from projected_kmeans.keys import CERTIFICATE, open_stream
from projected_kmeans.results import Floats

# A relative margin, larger than the rounding errors of this module.
MARGIN = 1e-9


def sampled_bound(
    whole: ProofRows, subsets: list[Indices], bound: Callable[[Indices], float], confidence: float
) -> float:
    """Return a bound that exceeds the minimum inertia with probability at most 1 - confidence.

    The subsets are those of `draw_subsets`. ``bound`` returns a certain lower bound on the minimum
    inertia of a subset, each row with weight 1; 0 is always one.
    """
    size = len(subsets[0])
    mean = math.fsum(bound(subset) for subset in subsets) / (len(subsets) * size)
    largest = whole.reach * whole.unit * (1 + MARGIN)
    if not mean > 0:
        return 0.0
    share = lower_mean(min(1.0, mean / largest), size * len(subsets), 1 - confidence)
    return share * largest * whole.original_weight * (1 - MARGIN)


def draw_subsets(whole: ProofRows, n_subsets: int, size: int, key: int) -> list[Indices]:
    """Draw the rows of random subsets.

    Rows without weights are drawn without replacement, so that subsets have no row in common. Rows
    with weights are drawn with replacement, in proportion to their weights; each draw then counts
    once.
    """
    stream = open_stream(key, CERTIFICATE, fingerprint(whole))
    n_rows, total = whole.shape[0], n_subsets * size
    if whole.is_weighted:
        drawn = stream.choice(n_rows, total, p=whole.weights / whole.weights.sum())
    else:
        drawn = stream.choice(n_rows, total, replace=False)
    return list(drawn.reshape(n_subsets, size))


def lower_mean(share: float, n_draws: int, delta: float) -> float:
    """Return the smallest mean mu in [0, 1] for which a mean of ``share`` is not too unlikely.

    A mean of n_draws values in [0, 1] that is ``share`` or more is too unlikely if
    exp(-n_draws kl(share, mu)) is below delta.
    """
    needed = math.log(1 / delta) * (1 + MARGIN) / n_draws
    low, high = 0.0, share
    for _ in range(200):
        middle = (low + high) / 2
        if middle > 0 and _divergence(share, middle) <= needed:
            high = middle
        else:
            low = middle
    return low


def _divergence(share: float, mean: float) -> float:
    """Return the Kullback-Leibler divergence of two coins, or 0 if share <= mean."""
    if mean >= 1 or share <= mean:
        return 0.0
    rest = 0.0 if share >= 1 else (1 - share) * (math.log1p(-share) - math.log1p(-mean))
    return share * math.log(share / mean) + rest


def fingerprint(rows: ProofRows) -> int:
    """Return a number that follows from the content of the rows x and their weights."""
    weights = rows.weights if rows.is_weighted else None
    return hash_blocks(rows.source, rows.shape, weights, rows.check)


def hash_blocks(
    blocks: Iterable[Block],
    shape: tuple[int, int],
    weights: Floats | None,
    check: Callable[[], None] = never_stop,
) -> int:
    """Return the SHA-256 hash of rows and weights as an integer.

    Rows that hold the same numbers in the same order have the same hash, whatever their element
    type, dense or sparse, and however they are divided into blocks. What is hashed are the entries
    that are not zero, as float64, with their columns. The columns of rows without zeros are left
    out, because they are known.
    """
    # One hash for each kind of number, so that the end of a block leaves no trace.
    hashes = tuple(hashlib.sha256() for _ in _Entries._fields)
    for block in blocks:
        check()
        for kind, part in zip(hashes, _list_entries(block.rows), strict=True):
            kind.update(np.ascontiguousarray(part).data)
    whole = hashlib.sha256(repr((shape, weights is not None)).encode())
    for kind in hashes:
        whole.update(kind.digest())
    if weights is not None:
        whole.update(np.ascontiguousarray(weights).data)
    return int.from_bytes(whole.digest(), "big")


class _Entries(NamedTuple):
    """The entries of some rows that are not zero."""

    counts: NDArray[np.int64]  # how many each row has
    # Their columns, row by row, in ascending order, but none for rows without zeros.
    columns: NDArray[np.int64]
    values: Floats  # the entries, row by row


def _list_entries(rows: Any) -> _Entries:
    n_rows, n_columns = rows.shape
    is_sparse: bool = scipy.sparse.issparse(rows)
    if is_sparse:
        filled = rows.data != 0
        places = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[filled]
        columns, values = rows.indices[filled], rows.data[filled]
    elif rows.all():
        places, columns = np.repeat(np.arange(n_rows), n_columns), np.empty(0, np.int64)
        values = rows
    else:
        places, columns = np.nonzero(rows)
        values = rows[places, columns]
    counts = np.bincount(places, minlength=n_rows)
    if len(columns):
        columns = columns[counts[places] < n_columns]
    return _Entries(counts, columns.astype(np.int64), values.astype(np.float64))

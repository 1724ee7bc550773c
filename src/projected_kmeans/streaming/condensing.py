"""Replace many weighted rows by few: each the mean of rows that lie near one another.

The inertia that this hides is summed up, so that the inertia of all rows is still known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import scan_columns
from projected_kmeans.blocks.memory_blocks import ArrayBlocks, open_blocks
from projected_kmeans.blocks.unit_length import to_unit_rows
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.map_protocol import fit_shape, sketch_rows
from projected_kmeans.projections.maps import SignProjection
from projected_kmeans.results import Floats, Labels
from projected_kmeans.search.lloyd import run_lloyd

# Which rows are near one another is measured on a sign sketch of 64 dimensions, if the rows have
# more than twice as many columns or are sparse.
NEARNESS_COMPONENTS = 64

# Passes of Lloyd's method. On digits, three passes instead of one lower the inertia of 100 clusters
# by only another 0.1 %.
LLOYD_PASSES = 1


@dataclass(frozen=True)
class WeightedRows:
    """Rows that stand for other rows, and what that hides."""

    rows: Any  # dense or CSR, float32 or float64
    weights: Floats  # positive: the total weight of the rows that each row stands for
    # The inertia of the original rows about the rows that stand for them. Added to the inertia of
    # these rows about any centers, it gives that of the original rows, if all rows behind one row
    # go to its center.
    hidden: float = 0.0
    # The sum of squares of the original rows, less that of the rows that stand for them.
    hidden_squares: float = 0.0

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.weights)

    @property
    def n_floats(self) -> int:
        """How many numbers are kept: entries (and columns if sparse), and weights."""
        sparse = scipy.sparse.issparse(self.rows)
        return int(2 * self.rows.nnz if sparse else self.rows.size) + len(self)

    @property
    def sum_of_squares(self) -> float:
        """The weighted sum of squares of all original rows."""
        return math.fsum(_squares(self.rows) * self.weights) + self.hidden_squares

    @property
    def largest_spherical_inertia(self) -> float:
        """The largest inertia about unit centers that all original rows can have.

        It is their weight and their sum of squares; see `_to_directions` for what is hidden of it.
        """
        return math.fsum((_squares(self.rows) + 1) * self.weights) + self.hidden


def join(parts: Sequence[WeightedRows]) -> WeightedRows:
    """Return the rows of all parts, one after another."""
    stack = scipy.sparse.issparse(parts[0].rows)
    rows = [part.rows for part in parts]
    return WeightedRows(
        scipy.sparse.csr_array(scipy.sparse.vstack(rows, "csr")) if stack else np.concatenate(rows),
        np.concatenate([part.weights for part in parts]),
        math.fsum(part.hidden for part in parts),
        math.fsum(part.hidden_squares for part in parts),
    )


def condense(
    given: WeightedRows,
    n_kept: int,
    key: int,
    stream: np.random.Generator,
    *,
    n_threads: int = 0,
    spherical: bool = False,
) -> WeightedRows:
    """Return at most ``n_kept`` rows, two or more, that stand for the given rows.

    Half of the first centers are drawn by weight, the others by weighted squared distance from the
    first half, so that a few rows far away keep rows of their own. Then one pass of Lloyd's method
    groups the rows. Distances are measured on a sign sketch, but the means and the inertia that are
    kept are those of the rows themselves. If ``spherical``, rows have length one and are replaced
    by the direction of their sum, weighted by its length.
    """
    if len(given) <= n_kept:
        return given
    source = open_blocks(given.rows)
    sketch = _open_sketch(source, given.weights, key, n_threads)
    chosen = _draw(sketch, n_kept, stream)
    labels = run_lloyd(sketch, sketch.source.take(chosen), max_iter=LLOYD_PASSES).labels
    kept = _average(source, given.weights, labels, chosen, n_threads)
    if spherical:
        kept = _to_directions(kept, given)
    return replace(
        kept,
        hidden=given.hidden + kept.hidden,
        hidden_squares=given.hidden_squares + kept.hidden_squares,
    )


def _open_sketch(source: BlockSource, weights: Floats, key: int, n_threads: int) -> Problem:
    """Return the rows in the space in which nearness is measured."""
    n_rows, n_columns = source.shape
    near: BlockSource = source
    if source.sparse or n_columns > 2 * NEARNESS_COMPONENTS:
        width = min(NEARNESS_COMPONENTS, n_columns)
        signs = SignProjection(width, random_state=key, n_threads=n_threads or None)
        fit_shape(signs, n_rows, n_columns)
        near = ArrayBlocks(sketch_rows(signs, source))
    return Problem(near, scan_columns(near, n_threads), weights, n_threads)


def _draw(sketch: Problem, n_kept: int, stream: np.random.Generator) -> NDArray[np.int64]:
    """Draw distinct rows: half by weight, half by weighted squared distance from the first half."""
    weights = sketch.weights if sketch.weights is not None else np.ones(sketch.source.shape[0])
    first = _draw_distinct(weights, n_kept // 2, stream)
    labels = np.zeros(len(weights), dtype=np.int32)
    chances = sketch.assign(sketch.source.take(first), labels, keep_ties=False).nearest * weights
    chances[first] = -1.0  # only if nothing else is left
    return np.concatenate([first, _draw_distinct(chances, n_kept - len(first), stream)])


def _draw_distinct(chances: Floats, n_drawn: int, stream: np.random.Generator) -> NDArray[np.int64]:
    """Draw rows without replacement, each in proportion to its chance among the rows left.

    If row i arrives after an exponential time with rate chances[i], the first rows to arrive are
    such draws. Rows of chance 0 follow after all others, rows of negative chance last.
    """
    times = stream.exponential(size=len(chances))
    waits = np.full(len(chances), np.inf)
    np.divide(times, chances, out=waits, where=chances > 0)
    waits[chances == 0] = np.finfo(np.float64).max
    return np.argsort(waits, kind="stable")[:n_drawn].astype(np.int64)


def _average(
    source: BlockSource,
    weights: Floats,
    labels: Labels,
    chosen: NDArray[np.int64],
    n_threads: int,
) -> WeightedRows:
    """Return the means of the clusters that are not empty, and the inertia about them."""
    if source.sparse:
        return _average_sparse(source.select(), weights, labels, len(chosen))
    problem = Problem(source, scan_columns(source, n_threads), weights, n_threads)
    moments = problem.sum(labels, source.take(chosen))
    filled = moments.mass > 0
    rows = moments.means[filled].astype(source.dtype)
    return WeightedRows(rows, moments.mass[filled], moments.inertia, moments.inertia)


def _average_sparse(rows: Any, weights: Floats, labels: Labels, n_clusters: int) -> WeightedRows:
    """Return sparse means, because dense means could take more memory than all sparse rows."""
    n_rows = rows.shape[0]
    mass: Floats = np.bincount(labels, weights, n_clusters).astype(np.float64)
    shares = scipy.sparse.csr_array(
        (weights / mass[labels], (labels, np.arange(n_rows))), shape=(n_clusters, n_rows)
    )
    means = scipy.sparse.csr_array((shares @ rows.astype(np.float64))[np.flatnonzero(mass)])
    mass = mass[mass > 0]
    hidden = max(math.fsum(_squares(rows) * weights) - math.fsum(_squares(means) * mass), 0.0)
    means.sort_indices()
    return WeightedRows(means.astype(rows.dtype), mass, hidden, hidden)


def _to_directions(means: WeightedRows, given: WeightedRows) -> WeightedRows:
    """Return the directions of means of unit rows, weighted by the lengths of the sums.

    About a unit center c, rows of total weight W, sum of squares Q and sum s have the inertia
    Q + W - 2 s c. The direction of s with weight |s| has 2 |s| - 2 s c. The difference,
    Q + W - 2 |s|, is hidden.
    """
    lengths = means.weights * np.sqrt(_squares(means.rows))
    left = np.flatnonzero(lengths)  # a sum is zero if rows cancel or are zero
    mass, squares = math.fsum(given.weights), math.fsum(_squares(given.rows) * given.weights)
    if not len(left):
        return WeightedRows(means.rows[:1] * 0, np.array([mass]), squares, squares)
    total = math.fsum(lengths)
    hidden = max(squares + mass - 2 * total, 0.0)
    return WeightedRows(to_unit_rows(means.rows[left]), lengths[left], hidden, squares - total)


def _squares(rows: Any) -> Floats:
    """Return the squared length of every row."""
    exact = rows.astype(np.float64)
    if not scipy.sparse.issparse(rows):
        return np.asarray(np.einsum("ij,ij->i", exact, exact))
    return np.asarray(exact.multiply(exact).sum(axis=1), dtype=np.float64).reshape(-1)

"""Compare numbers of clusters: reduce the rows once, sweep all numbers, read the curves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.inputs import open_input, skip_holes
from projected_kmeans.blocks.memory_blocks import ArrayBlocks
from projected_kmeans.blocks.unit_length import UnitRows, to_unit_rows
from projected_kmeans.certificates.proof_rows import DenseProofRows
from projected_kmeans.certificates.spectral_bound import SPECTRAL_LIMIT, spectral_bounds
from projected_kmeans.checks import check_count
from projected_kmeans.choosing_k.cluster_counts import ClusterCounts, judge
from projected_kmeans.choosing_k.curves import (
    N_REFERENCES,
    Sweep,
    draw_sample,
    measure_gap,
    sweep_counts,
)
from projected_kmeans.choosing_k.proven_intervals import Intervals, choose_effort, prove_intervals
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.problem import Problem
from projected_kmeans.projections.spectral import EXPECTED_COMPONENTS, SpectralProjection
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.checkpoint import Run
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.recipe import resolve_recipe
from projected_kmeans.search.reduction import reduce_rows
from projected_kmeans.search.settings import Settings, Sizes, check_parameters
from projected_kmeans.search.storage import open_storage
from projected_kmeans.sources.protocol import RowSource

# Up to this number of rows a sweep uses one thread, because several would mostly wait for one
# another.
MAX_SINGLE_THREAD_ROWS = 4096


def choose_n_clusters(
    X: ArrayLike | RowSource,
    counts: Iterable[int] = range(2, 31),
    *,
    n_components: int | str = "auto",
    metric: str = "euclidean",
    sample_weight: ArrayLike | None = None,
    on_missing: str = "error",
    prove: bool = True,
    random_state: RandomState = None,
    n_threads: int | None = None,
    callback: Callable[[FitState], object] | None = None,
) -> ClusterCounts:
    """Compare numbers of clusters, and suggest one if the rows show one.

    The rows are reduced once to their principal directions, and clustered there into every number
    of clusters in turn. Each clustering starts from the one before and a further center, for some
    numbers also from a fresh seeding, and the better one is kept. The gap statistic compares the
    inertia with that of random rows, clustered in the same way. The silhouette measures how much
    nearer rows are to their own center than to the second nearest.

    For few rows in memory, it is also proven for each number between which two values the smallest
    possible inertia of the rows lies.

    Parameters
    ----------
    X : array-like, sparse matrix or row source (n, d)
        Rows. A source is read block by block: once, and a sample of it before. Its sketch stays in
        memory; so do its rows if they have no more columns than the sketch.
    counts : iterable of int, default=range(2, 31)
        The numbers to compare, at least 2.
    n_components : int or "auto", default="auto"
        Dimensions of the sketch, the same for all numbers of clusters. "auto" is 64. If it is d or
        more, the rows are clustered as they are.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" compares directions: every row is scaled to length one. The inertia of a cluster is
        then that of unit rows about their mean.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.
    on_missing : {"error", "skip"}, default="error"
        What to do with rows that have a hole (NaN): name the first, or leave them out.
    prove : bool, default=True
        Whether to prove between which two values the smallest possible inertia lies. Nothing is
        proven for more than 1,000 rows, or if all numbers together would take more than some
        seconds, as sizes predict it.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the run. The result depends on the key and on X alone.
    n_threads : int, optional
        Threads; by default as many as OpenMP allows.
    callback : callable, optional
        Called with a `FitState` after every clustering; what it returns is ignored.

    Returns
    -------
    ClusterCounts
        The curves, and what they suggest.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import choose_n_clusters
    >>> stream = np.random.default_rng(0)
    >>> means = 4 * stream.normal(size=(4, 20))
    >>> X = np.repeat(means, 50, axis=0) + stream.normal(size=(200, 20))
    >>> choose_n_clusters(X, range(2, 9), random_state=0).suggestion
    4
    """
    settings = Settings(
        random_state=random_state, n_threads=n_threads, metric=metric, on_missing=on_missing
    )
    check_parameters(settings)
    # scikit-learn's checks of X need an estimator that remembers the columns.
    model = ProjectedKMeans(on_missing=on_missing)
    opened = skip_holes(open_input(model, X, reset=True), sample_weight, on_missing)
    rows: BlockSource = opened.rows
    wanted = _check_counts(counts, rows.shape[0])
    check_count("n_components", n_components, word="auto")
    width = EXPECTED_COMPONENTS if isinstance(n_components, str) else int(n_components)
    is_reduced = width < rows.shape[1]
    settings = replace(
        settings,
        n_clusters=wanted[-1],
        projection="svd" if is_reduced else None,
        n_components=width if is_reduced else "auto",
    )
    rows, settings = _load_narrow(rows, settings)
    sizes = replace(Sizes.of(rows, settings.n_clusters), distant=False, keeps_rows=False)
    recipe = resolve_recipe(settings, sizes)  # the sketch comes to this process in any case
    monitor = Monitor(callback, verbose=0)
    with open_storage(rows, recipe.memory) as storage:
        sketch = reduce_rows(recipe, storage.rows, opened.weights, Run(monitor)).sketch
    learnt = recipe.projection
    lost = float(learnt.lost_variance_) if isinstance(learnt, SpectralProjection) else 0.0
    unit = settings.metric == "cosine"
    proven = (UnitRows(rows) if unit else rows) if prove and rows.resident else None
    return _compare(sketch, proven, wanted, recipe.key, lost, monitor)


def _load_narrow(rows: BlockSource, settings: Settings) -> tuple[BlockSource, Settings]:
    """Return rows that are not reduced in a form that can be clustered, dense and in memory.

    They have at most as many columns as a sketch. Directions become unit rows here, which are
    clustered about means as a sketch of unit rows is.
    """
    if settings.projection is not None:
        return rows, settings
    stored, unit = not (rows.resident or rows.distant), settings.metric == "cosine"
    if not (rows.sparse or stored or unit):
        return rows, settings
    loaded = rows.select()
    loaded = loaded.toarray() if rows.sparse else loaded
    narrow = ArrayBlocks(to_unit_rows(loaded) if unit else loaded)
    return narrow, replace(settings, metric="euclidean")


def _check_counts(counts: Iterable[int], n_samples: int) -> list[int]:
    """Return the numbers in ascending order, each once; raise if one cannot be used."""
    wanted = list(counts)
    for count in wanted:
        check_count("counts", count, minimum=2)
    if not wanted:
        raise ValueError("counts is empty; give at least one number of clusters")
    if max(wanted) > n_samples:
        raise ValueError(
            f"counts reach {max(wanted)}, above n_samples={n_samples}; use at most {n_samples}"
        )
    return sorted({int(count) for count in wanted})


def _compare(
    sketch: Problem,
    proven: BlockSource | None,
    wanted: list[int],
    key: int,
    lost: float,
    monitor: Monitor,
) -> ClusterCounts:
    """Sweep the rows, a sample of them if they are many, and random rows; judge the curves.

    Intervals are proven for the rows ``proven``, which the sketch is of.
    """
    counts = [1, *wanted]
    sample = draw_sample(sketch, wanted[-1], key)
    done = itertools.count(1)

    def report() -> bool:
        return monitor.report(next(done))

    with monitor.step("choose", (1 + (sample is not sketch)) * 2 * len(counts) + N_REFERENCES):
        sweep = sweep_counts(_limit_threads(sketch), counts, key, 0, report)
        if not sweep.inertia[0] > 0:
            raise ValueError("all rows of X are equal: one cluster; give rows that differ")
        of_sample = sweep
        if sample is not sketch:
            of_sample = sweep_counts(_limit_threads(sample), counts, key, 1, report)
        gap = measure_gap(sample, of_sample, key, report)
    intervals = None if proven is None else _prove(sketch, proven, sweep, monitor)
    return judge(
        ClusterCounts(
            n_clusters=sweep.counts[1:],
            inertia=sweep.inertia[1:],
            normalized_inertia=sweep.inertia[1:] / sweep.inertia[0],
            lower_bound=_bound(sketch, wanted),
            silhouette=sweep.silhouette[1:],
            random_silhouette=gap.silhouette[1:],
            gap=gap.values[1:],
            gap_error=gap.errors[1:],
            n_components=sketch.source.shape[1],
            lost_variance=lost,
            key=key,
            seconds=sum(monitor.seconds.values()),
            proven_bound=None if intervals is None else intervals.bound,
            proven_inertia=None if intervals is None else intervals.inertia,
        )
    )


def _prove(sketch: Problem, rows: BlockSource, sweep: Sweep, monitor: Monitor) -> Intervals | None:
    """Prove intervals for the rows, from the clusterings of their sketch."""
    counts = sweep.counts[1:].tolist()
    effort = choose_effort(rows.shape, counts)
    if effort is None:
        return None
    clusterings = []
    for count, centers in zip(counts, sweep.centers[1:], strict=True):
        labels = np.zeros(rows.shape[0], dtype=np.int32)
        sketch.assign(centers, labels, keep_ties=False)
        clusterings.append((count, labels))
    done = itertools.count(1)
    with monitor.step("certify", len(counts)):
        return prove_intervals(
            rows,
            sketch.weights,
            clusterings,
            effort,
            n_threads=sketch.n_threads,
            on_count=lambda: monitor.report(next(done)),
        )


def _limit_threads(problem: Problem) -> Problem:
    """Return the problem with one thread if its rows are few."""
    is_small = problem.source.shape[0] <= MAX_SINGLE_THREAD_ROWS
    return replace(problem, n_threads=1) if is_small else problem


def _bound(sketch: Problem, counts: Sequence[int]) -> Floats:
    """Return the spectral lower bounds on the sketch, or zeros if it is too large to decompose."""
    if min(sketch.source.shape) > SPECTRAL_LIMIT:
        return np.zeros(len(counts))
    rows, weights = sketch.source.select(), sketch.weights
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0]
    rounded = DenseProofRows(rows, weights)
    bounds = spectral_bounds(rounded, counts)
    return np.array([rounded.to_original(bound) for bound in bounds])

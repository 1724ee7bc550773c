"""The plan of a fit: what it would do with some rows, its memory, and the alternatives.

Measures what each alternative loses on a sample of the rows; it clusters nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.holes import find_holes
from projected_kmeans.blocks.inputs import open_input
from projected_kmeans.blocks.memory_blocks import open_blocks
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.keys import PROBE, open_stream
from projected_kmeans.projections.map_protocol import MapTransformer
from projected_kmeans.projections.maps import MAPS
from projected_kmeans.result_tables import ResultTable
from projected_kmeans.search.approach import Approach, choose_approach
from projected_kmeans.search.memory_plan import MemoryPlan
from projected_kmeans.search.recipe import resolve_recipe
from projected_kmeans.search.settings import Settings, Sizes, check_parameters
from projected_kmeans.sources.protocol import RowSource

# What is compared: principal directions, the paper's signs, a cheaper map, and no map at all.
ALTERNATIVES = ("svd", "sign", "sparse-sign", None)

# The sample has at most 4,096 rows and 16 million entries, and at least 16 rows per cluster: its
# number of clusters is lowered for that.
PROBE_ROWS, PROBE_ENTRIES, ROWS_PER_PROBE_CLUSTER = 4096, 2**24, 16
PROBE_RESTARTS = 3


@dataclass(frozen=True)
class Option:
    """One way to cluster the rows.

    Attributes
    ----------
    approach : Approach
        What would be done.
    memory : MemoryPlan
        What the fit takes beyond its rows (``total_bytes``; with ``memory_limit``, what counts
        against that limit), the size of blocks that are read, and whether the sketch is kept in a
        temporary file.
    inertia_change : float or None
        Inertia on a sample of the rows, divided by the inertia without projection, minus 1. It is
        negative if the inertia was lower. None if it was not measured.
    """

    approach: Approach
    memory: MemoryPlan
    inertia_change: float | None

    @property
    def name(self) -> str:
        """The name of the map, or "none"."""
        return self.approach.projection or "none"

    @property
    def megabytes(self) -> float:
        """Memory beyond the rows, in units of 10**6 bytes, as ``memory_limit`` counts them."""
        return self.memory.total_bytes / 10**6


@dataclass(frozen=True, repr=False)
class Plan:
    """What `ProjectedKMeans.fit` would do, and the alternatives.

    Attributes
    ----------
    sizes : Sizes
        Numbers of rows, columns and clusters, the size of an entry, and where the rows are.
    chosen : Option
        What ``fit`` would do.
    alternatives : tuple of Option
        The other maps, and no map. Those that need more than ``memory_limit`` are left out.
    sample_rows, sample_clusters : int
        Numbers of rows and clusters with which changes of inertia were measured.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import plan_fit
    >>> plan = plan_fit(np.eye(40), 8, probe=False)
    >>> plan.describe().split(";")[0]
    'cluster in 40 dimensions (no projection), as 40 columns are too few for a sketch to save work'
    """

    sizes: Sizes
    chosen: Option
    alternatives: tuple[Option, ...]
    sample_rows: int
    sample_clusters: int

    def describe(self) -> str:
        """Return the plan as a sentence."""
        way = self.chosen.approach
        where = f"in {way.n_components} dimensions ({way.projection or 'no projection'})"
        change = self.chosen.inertia_change
        told = "" if change is None else f", inertia {100 * change:+.2g} %"
        memory = self.chosen.memory
        if self.sizes.stored and not self.sizes.distant:
            told += f"; rows are read in blocks of {memory.block_bytes / 2**20:.3g} MiB"
        if not memory.sketch_in_memory:
            told += "; the sketch lies in a temporary file"
        return (
            f"cluster {where}, as {way.reason}; {self.chosen.megabytes:.3g} MB beyond the data"
            f"{told}"
        )

    def tabulate(self) -> ResultTable:
        """Return the chosen way and the alternatives as a table of texts."""
        sizes = self.sizes
        title = f"{sizes.n_rows:,} x {sizes.n_columns:,}, k = {sizes.n_clusters:,}"
        if self.sample_rows:
            title += (
                f"; inertia against no projection on {self.sample_rows:,} rows in "
                f"{self.sample_clusters:,} clusters"
            )
        heads = ("projection", "t", "restarts", "polish", "MB", "inertia")
        options = (self.chosen, *self.alternatives)
        return ResultTable(title, heads, tuple(map(_list_cells, options)), marked=0)

    def __repr__(self) -> str:
        """Return the plan in a line."""
        return f"<Plan: {self.describe()}>"

    def _repr_html_(self) -> str:
        return self.tabulate().to_html()


def plan_fit(
    X: ArrayLike | RowSource, n_clusters: int = 8, *, probe: bool = True, **parameters: Any
) -> Plan:
    """Return what ``ProjectedKMeans(n_clusters, **parameters).fit(X)`` would do, without doing it.

    Parameters
    ----------
    X : array-like, sparse matrix or row source (n, d)
        Rows. Of a row source only the sample is read.
    n_clusters : int, default=8
        k.
    probe : bool, default=True
        Whether to measure on a sample of up to 4,096 rows what each option loses. If not,
        ``inertia_change`` is None and no entry of X is read.
    **parameters : optional
        Parameters of `ProjectedKMeans`. With ``on_missing="skip"`` rows of the sample that have a
        hole are left out; memory is that of all rows, as holes are only known after all are read.

    Returns
    -------
    Plan
        What ``fit`` would do, and the alternatives.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import plan_fit
    >>> X = np.random.default_rng(0).normal(size=(300, 200))
    >>> plan = plan_fit(X, 5, random_state=0)
    >>> plan.chosen.name, plan.chosen.approach.n_components
    ('svd', 17)
    >>> [option.name for option in plan.alternatives]
    ['sign', 'sparse-sign', 'none']
    """
    model = ProjectedKMeans(n_clusters, **parameters)
    settings = Settings.of(model.get_params(deep=False))
    check_parameters(settings)
    rows = open_input(model, X, reset=True)
    sizes = Sizes.of(rows, model.n_clusters)
    recipe = resolve_recipe(settings, sizes)
    sample: Any = np.empty((0, sizes.n_columns))
    learnt = None
    if probe:
        sample = _draw_sample(rows, sizes, recipe.key)
        if settings.on_missing == "skip":
            sample = sample[find_holes(open_blocks(sample)).complete]
        if isinstance(recipe.projection, MapTransformer) and sample.shape[0]:
            learnt = recipe.projection
            learnt.learn(open_blocks(sample), None)
    chosen = choose_approach(settings, sizes, learnt)
    tried = [(chosen, recipe.memory), *_list_alternatives(settings, sizes, chosen)]
    ways = [approach for approach, _ in tried]
    n_few = min(model.n_clusters, max(1, sample.shape[0] // ROWS_PER_PROBE_CLUSTER))
    changes = _measure_changes(model, sample, n_few, ways) if probe else [None] * len(ways)
    options = [
        Option(approach, memory, change)
        for (approach, memory), change in zip(tried, changes, strict=True)
    ]
    return Plan(sizes, options[0], tuple(options[1:]), sample.shape[0], n_few)


def _list_cells(option: Option) -> tuple[str, ...]:
    way, change = option.approach, option.inertia_change
    return (
        option.name,
        str(way.n_components),
        str(way.n_init),
        str(way.polish_iter),
        f"{option.megabytes:.3g}",
        "" if change is None else f"{100 * change:+.2f} %",
    )


def _list_alternatives(
    settings: Settings, sizes: Sizes, chosen: Approach
) -> list[tuple[Approach, MemoryPlan]]:
    """Return what other maps, with fewer dimensions than columns, would be."""
    alternatives = []
    for name in ALTERNATIVES:
        if name == chosen.projection:
            continue
        other = replace(settings, projection=name, n_components="auto")
        try:
            memory = resolve_recipe(other, sizes).memory
        except ValueError:  # the memory limit is too small for this map
            continue
        approach = choose_approach(other, sizes)
        if name is None or approach.n_components < sizes.n_columns:
            alternatives.append((approach, memory))
    return alternatives


def _draw_sample(rows: BlockSource, sizes: Sizes, key: int) -> Any:
    """Return a uniform sample of the rows, in their order."""
    n_rows, a_row = sizes.n_rows, max(1, sizes.n_entries // sizes.n_rows)
    wanted = min(n_rows, PROBE_ROWS, max(2 * ROWS_PER_PROBE_CLUSTER, PROBE_ENTRIES // a_row))
    if wanted == n_rows:
        return rows.select()
    return rows.select(np.sort(open_stream(key, PROBE).choice(n_rows, wanted, replace=False)))


def _measure_changes(
    model: ProjectedKMeans, sample: Any, n_clusters: int, ways: Sequence[Approach]
) -> list[float | None]:
    """Return the inertia of each way divided by that without projection, minus 1."""

    def fit(way: Approach) -> float:
        known = way.projection in MAPS
        trial = ProjectedKMeans(
            n_clusters,
            projection=way.projection if known or way.projection is None else model.projection,
            n_components=min(way.n_components, sample.shape[1]) if known else "auto",
            n_init=PROBE_RESTARTS,
            solver="lloyd",
            polish_iter=way.polish_iter,
            random_state=model.random_state,
            n_threads=model.n_threads,
        )
        with warnings.catch_warnings():
            # All rows of the sample may be equal.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(trial.fit(sample).inertia_)

    inertias = [fit(way) for way in ways]
    base = next((i for i, way in enumerate(ways) if way.projection is None), None)
    if base is None or inertias[base] == 0:
        return [None] * len(ways)
    return [value / inertias[base] - 1 for value in inertias]

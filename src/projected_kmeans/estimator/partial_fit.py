"""The steps of ``partial_fit``: check what a stream can take, begin it, add rows to it.

Adds rows to a `RowStream`. The estimator clusters the stream, when a result is first asked for.
"""

from __future__ import annotations

import numpy as np

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.checks import check_count
from projected_kmeans.estimator.prediction import read_within
from projected_kmeans.keys import resolve_key
from projected_kmeans.results import Floats
from projected_kmeans.search.own_solvers import check_weighted_solver
from projected_kmeans.search.settings import Settings, limits_sizes
from projected_kmeans.streaming.continued_model import ModelSummary
from projected_kmeans.streaming.row_stream import RowStream

# What a stream takes over from the fit of the rows that it keeps. Inertia is corrected afterwards.
STREAM_ATTRIBUTES = (
    "_center_weights",
    "_planned_bytes",
    "_projection_name",
    "_sum_of_squares",
    "_total_inertia",
    "_total_weight",
    "approach_",
    "certificate_",
    "gamma_",
    "cluster_centers_",
    "explained_variance_ratio_",
    "history_",
    "inertia_",
    "n_components_",
    "n_iter_",
    "normalized_inertia_",
    "projection_",
    "stopped_",
    "timings_",
)


# Attributes that only `fit` sets.
FIT_ATTRIBUTES = ("labels_", "trace_", "trimmed_rows_", "trim_distance_", "missing_rows_")


def check_stream(stream: RowStream | None, settings: Settings) -> None:
    """Raise if the settings do not suit a stream, or not the one that has begun."""
    if not callable(settings.init) and np.ndim(settings.init) == 1:
        raise ValueError("init names rows, which a stream does not keep; give centers or a name")
    if settings.guarantee is not None:
        raise ValueError("a stream keeps no rows to prove a guarantee about; call fit, or use None")
    if not isinstance(settings.solver, str):
        check_weighted_solver(settings.solver)  # because a stream weights the rows that it keeps
    if settings.trim:
        raise ValueError(
            f"trim={settings.trim:g} needs all rows, which a stream does not keep; call fit, or "
            "use trim=0"
        )
    if limits_sizes(settings):
        raise ValueError(
            "min_cluster_size and max_cluster_size need all rows, which a stream does not keep; "
            "call fit, or leave them out"
        )
    if stream is None:
        return
    spherical = settings.metric == "cosine"
    if settings.n_clusters != stream.n_clusters or spherical != stream.spherical:
        raise ValueError(
            f"n_clusters={settings.n_clusters} and metric={settings.metric!r} are not those that "
            "the stream began with; call partial_fit on a clone of the model"
        )


def begin_stream(
    rows: BlockSource, settings: Settings, model: ModelSummary | None = None
) -> RowStream:
    """Return a stream without rows, or with the centers of a model in place of its rows.

    The first block decides how the stream will keep rows.
    """
    if isinstance(settings.projection, str):
        most = "n_features", rows.shape[1]
        check_count("n_components", settings.n_components, most=most, word="auto")
    if model is not None and len(model.centers) != settings.n_clusters:
        raise ValueError(
            f"n_clusters={settings.n_clusters} is not the {len(model.centers)} of the fitted "
            "model; call partial_fit on a clone of it to begin anew"
        )
    stream = RowStream(
        settings.n_clusters,
        rows.shape[1],
        compute_type(rows.dtype),
        sparse=rows.sparse,
        key=resolve_key(settings.random_state),
        spherical=settings.metric == "cosine",
    )
    if model is not None:
        stream.begin_with(model)
    return stream


def extend_stream(
    stream: RowStream, rows: BlockSource, weights: Floats | None, settings: Settings
) -> RowStream:
    """Return a copy of a stream with further rows.

    The given stream stays as it is, so that a bad row leaves the estimator unchanged.
    """
    longer, n_threads = stream.copy(), settings.n_threads or 0
    with read_within(settings.memory_limit, rows, settings.n_clusters) as source:
        for block in source:
            scan = ColumnScan(rows.shape, n_threads)
            scan.task.run(block)
            scan.finish()  # raises if an entry is not finite
            part = None if weights is None else weights[block.span]
            longer.add(block.rows, part, n_threads)
    return longer

"""Fits that go on with every block: the estimator's ``partial_fit`` and what it leaves.

Rows are taken in at once and clustered when somebody asks; how they are kept is for `row_streams`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.column_scan import ColumnScan
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.inputs import check_weights, open_input
from projected_kmeans.checks import check_components
from projected_kmeans.fit.storage import open_storage
from projected_kmeans.keys import resolve_key
from projected_kmeans.passes.scoring import normalize
from projected_kmeans.planning.memory_plan import plan_labels
from projected_kmeans.planning.settings import Settings, check_parameters
from projected_kmeans.streaming.row_stream import RowStream

# What a stream is asked for, as a fit of the rows that stand for all of it leaves it.
LAZY_ATTRIBUTES = (
    "approach_",
    "certificate_",
    "cluster_centers_",
    "forecast_",
    "history_",
    "inertia_",
    "n_components_",
    "n_iter_",
    "normalized_inertia_",
    "projection_",
    "stopped_",
    "timings_",
)


def partial_fit(self: Any, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
    """Go on with further rows; the model is that of all rows so far, in bounded memory.

    The rows are kept as few that stand for all; docs/scale.md tells how many, and how near the
    result is to that of ``fit``. They are clustered when an attribute or a prediction is first
    asked for after a block, so that blocks may be small. The result depends on the rows in their
    order and on ``random_state``, not on how they are cut into blocks. ``inertia_`` is that of a
    partition of all rows so far in which rows that were put together stay together: at least
    ``-score`` of all these rows. There are no ``labels_``, as rows are not kept: ask ``predict``.
    After ``fit`` a stream begins anew: the rows of the fit are no part of it.

    Parameters
    ----------
    X : array-like, sparse matrix or row source (n, d)
        One row or more. Whether rows are kept sparse, and as float32 or float64, is decided by the
        first block.
    y : ignored
        Present by convention.
    sample_weight : array-like (n,), optional
        Weight of every row, not negative.

    Returns
    -------
    ProjectedKMeans
        Itself. While it has seen fewer rows than ``n_clusters``, every row is a center.
    """
    stream: RowStream | None = vars(self).get("_stream")
    _check_model(self, stream)
    rows = open_input(self, X, reset=stream is None)
    if stream is None and isinstance(self.projection, str):
        check_components(self.n_components, rows.shape[1])
    weights = check_weights(sample_weight, rows)
    longer = _open_stream(self, rows) if stream is None else stream.copy()
    plan = plan_labels(self.memory_limit, *rows.shape, self.n_clusters)
    with open_storage(plan) as storage:
        for block in storage.open_rows(rows):
            scan = ColumnScan(rows.shape, self.n_threads or 0)
            scan.task.run(block)
            scan.finish()
            part = None if weights is None else weights[block.span]
            longer.add(block.rows, part, self.n_threads or 0)
    for name in (*LAZY_ATTRIBUTES, "labels_"):  # of a fit before
        vars(self).pop(name, None)
    self._stream, self._streamed = longer, {}
    self.key_, self.n_samples_seen_ = longer.key, longer.n_seen
    return self


def ask_stream(self: Any, name: str) -> Any:
    """Return an attribute of a fit that goes on, for which the rows so far are clustered once."""
    stream: RowStream | None = vars(self).get("_stream")
    if stream is None or name not in LAZY_ATTRIBUTES:
        if stream is not None and name == "labels_":
            raise AttributeError("labels_ of a stream are not kept; ask predict for them")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    if not self._streamed:
        self._streamed.update(_cluster(self, stream))
    return self._streamed[name]


def forget_stream(model: Any) -> None:
    """Let a fit of all rows stand in the place of a stream."""
    for name in ("_stream", "_streamed"):
        vars(model).pop(name, None)


def _check_model(model: Any, stream: RowStream | None) -> None:
    check_parameters(Settings.of(model.get_params(deep=False)))
    if np.ndim(model.init) == 1:
        raise ValueError("init names rows, which a stream does not keep; give centers or a name")
    if stream is None:
        return
    if model.n_clusters != stream.n_clusters or (model.metric == "cosine") != stream.spherical:
        raise ValueError(
            f"n_clusters={model.n_clusters} and metric={model.metric!r} are not those that the "
            "stream began with; call partial_fit on a clone of the model"
        )


def _open_stream(model: Any, rows: BlockSource) -> RowStream:
    return RowStream(
        model.n_clusters,
        rows.shape[1],
        compute_type(rows.dtype),
        sparse=rows.sparse,
        key=resolve_key(model.random_state),
        spherical=model.metric == "cosine",
    )


def _cluster(model: Any, stream: RowStream) -> dict[str, Any]:
    """Return what a fit of the rows that are kept says of all rows."""
    kept = stream.gather()
    trial = clone(model).set_params(random_state=stream.key, certificate=None, memory_limit=None)
    if len(kept) <= model.n_clusters:
        trial.set_params(n_clusters=len(kept), init="k-means++", projection=None)
    trial.fit(kept.rows, sample_weight=kept.weights)
    found = {name: getattr(trial, name) for name in LAZY_ATTRIBUTES}
    found["inertia_"] = trial.inertia_ + kept.hidden
    found["normalized_inertia_"] = normalize(found["inertia_"], kept.sum_of_squares)
    return found

"""Rows given to a fitted estimator: opened within its limit of memory, checked, labelled.

Asks a model for its centers and settings; it fits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks import BlockSource, scan_columns
from projected_kmeans.inputs import open_input
from projected_kmeans.journal import Journal
from projected_kmeans.labelling import LabelledBlock, label_blocks
from projected_kmeans.memory_limits import plan_labels
from projected_kmeans.parameters import check_weights
from projected_kmeans.passes import Problem
from projected_kmeans.pipeline import open_problem
from projected_kmeans.results import FitState, Floats
from projected_kmeans.storage import open_storage
from projected_kmeans.stored_blocks import stored_row_bytes


def label_input(
    model: Any, X: Any, callback: Callable[[FitState], object] | None = None
) -> Iterator[LabelledBlock]:
    """Yield the labels of rows by the nearest centers, block by block, from the first on.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted.
    X : array-like, sparse matrix or row source (n, d)
        Rows.
    callback : callable, optional
        Called with a `FitState` of the step "predict" after every block; its answer is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> [(start, len(labels)) for start, labels in label_input(model, X)]
    [(0, 4)]
    """
    log, spherical = Journal(callback, 0), model.metric == "cosine"
    with _open(model, X) as source:
        blocks = label_blocks(source, centers_of(model), model.n_threads or 0, spherical=spherical)
        with log.step("predict", source.shape[0], unit_bytes=stored_row_bytes(source)):
            for block in blocks:
                log.report(block.start + len(block.labels))
                yield block


@contextmanager
def open_checked(
    model: Any, X: Any, sample_weight: ArrayLike | None = None
) -> Iterator[tuple[Problem, Floats]]:
    """Open rows, look at all of them, and yield them as a problem, with the model's centers."""
    with _open(model, X) as source:
        weights = check_weights(sample_weight, source)
        n_threads, spherical = model.n_threads or 0, model.metric == "cosine"
        ranges = scan_columns(source, n_threads)
        problem = open_problem(source, ranges, weights, n_threads, spherical=spherical)
        yield problem, centers_of(model)


def centers_of(model: Any) -> Floats:
    """Return the centers of a fitted model as passes take them."""
    centers: Floats = model.cluster_centers_.astype(np.float64, copy=False)
    return centers


@contextmanager
def _open(model: Any, X: Any) -> Iterator[BlockSource]:
    check_is_fitted(model)
    rows = open_input(model, X, reset=False)
    plan = plan_labels(model.memory_limit, *rows.shape, len(model.cluster_centers_))
    with open_storage(plan) as storage:
        yield storage.open_rows(rows)

"""A fitted model and its rows -> the `Report` of the fit.

Decides what is shown; measuring, storing and drawing are others' business.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.inputs import check_weights
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.prediction import open_source
from projected_kmeans.estimator.projected_kmeans import read_fitted_model
from projected_kmeans.output_files import write_atomically
from projected_kmeans.reports.clusters import (
    Rows,
    choose_clusters,
    count_sampled,
    describe_clusters,
    describe_members,
)
from projected_kmeans.reports.files import read_value
from projected_kmeans.reports.members import (
    check_image_shape,
    guess_image_shape,
)
from projected_kmeans.reports.rows import (
    MAP_ROWS,
    draw_rows,
    map_rows,
    trace_dimensions,
    walk_clusters,
)
from projected_kmeans.reports.values import (
    ClusterFacts,
    FitFacts,
    PassLine,
    Report,
)
from projected_kmeans.results import FitState


def describe_report(
    model: Any,
    X: Any = None,
    *,
    name: str = "X",
    document: Mapping[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: Sequence[int] | str | None = "auto",
    cluster_names: Sequence[str] | None = None,
    command: str | None = None,
) -> Report:
    """Return what a report of a fit shows.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted in this process: a loaded one has no labels.
    X : array-like, sparse matrix or row source (n, d), optional
        The rows that it was fitted to, walked over once more. Without them the report has no map,
        no distances and no members.
    name : str, default="X"
        What to call the data.
    document : mapping, optional
        What `describe_fit` returned, where it is at hand already.
    sample_weight : array-like (n,), optional
        The weights of the fit.
    feature_names : sequence of str, optional
        What columns are called; by default what the fit knows.
    image_shape : (height, width), (height, width, 3), "auto" or None, default="auto"
        Of rows that are pictures; "auto" looks whether they are square ones, None shows numbers.
    cluster_names : sequence of str, optional
        What clusters are called, beside their numbers.
    command : str, optional
        What was typed to get here.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> [(cluster.rows, cluster.inertia) for cluster in describe_report(model, X).clusters]
    [(2, 0.5), (2, 0.5)]
    """
    check_is_fitted(model)
    if not hasattr(model, "labels_"):
        raise ValueError(
            "a loaded model has no labels to report; use 'projected-kmeans report' on its folder"
        )
    facts = _facts_of(model, X, name, document)
    passes = tell_passes(model.trace_, model.history_, model.approach_.subsample_rows, facts)
    report = Report(
        facts,
        tuple(ClusterFacts(label, rows) for label, rows in enumerate(facts.results.cluster_sizes)),
        passes=passes,
        original_inertia=tuple(s.inertia for s in model.trace_ if s.step in ("lift", "polish")),
        command=command,
    )
    if X is None:
        return report
    with open_source(read_fitted_model(model), X) as source:
        if source.shape[0] != len(model.labels_):
            raise ValueError(
                f"X has {source.shape[0]} rows and the model was fitted to {len(model.labels_)}; "
                "give the rows of the fit"
            )
        names = (
            getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
        )
        rows = _look_at(model, source, sample_weight, names, image_shape)
        return _add_rows(report, model, rows, cluster_names, _fingerprint(X))


def to_html(
    model: Any,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "X",
    sample_weight: ArrayLike | None = None,
    image_shape: Sequence[int] | str | None = "auto",
) -> str:
    """Return the report of the fit as one HTML page, and write it where a path is given.

    The page works offline and holds everything it needs. It takes the extra ``report``.

    Parameters
    ----------
    X : array-like, sparse matrix or row source (n, d), optional
        The rows of the fit. Without them the report has no map, no distances and no members.
    path : str or path, optional
        The file to write.
    name : str, default="X"
        What to call the data.
    sample_weight : array-like (n,), optional
        The weights of the fit.
    image_shape : (height, width), (height, width, 3), "auto" or None, default="auto"
        Of rows that are pictures; "auto" looks whether they are square ones, None shows numbers.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> page = ProjectedKMeans(n_clusters=2, random_state=0).fit(X).to_html(X)
    >>> "2 clusters of 4 rows" in page
    True
    """
    from projected_kmeans.reports.page import render_report  # where the extra is needed

    report = describe_report(
        model, X, name=name, sample_weight=sample_weight, image_shape=image_shape
    )
    page = render_report(report)
    if path is not None:
        write_page(page, path)
    return page


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page whole or not at all, and return its path."""
    write_atomically(path, lambda handle: handle.write(page.encode()))
    return Path(path)


def tell_passes(
    trace: Sequence[FitState], history: Sequence[float], sampled: int, facts: FitFacts
) -> tuple[PassLine, ...]:
    """Return the passes of every restart as lines, the winner's marked.

    A restart that paused goes on with its line; one that starts again, with all rows after a
    subsample on ``sampled`` of them, begins another.
    """
    lines: list[tuple[int, list[int], list[float]]] = []
    open_line: dict[int, int] = {}
    for state in trace:
        if state.step != "cluster" or state.inertia is None:
            continue
        place = open_line.get(state.restart)
        if place is None or lines[place][1][-1] >= state.iteration:
            place = open_line[state.restart] = len(lines)
            lines.append((state.restart, [], []))
        lines[place][1].append(state.iteration)
        lines[place][2].append(state.inertia)
    n_rows = facts.data.shape[0]
    rehearsed = sampled > 0 and len(lines) > 1
    ends = [line[2][-1] for line in lines]
    won = len(lines) - 1
    if not rehearsed and history and history[-1] in ends:
        won = ends.index(history[-1])
    found = []
    for index, (restart, passes, inertia) in enumerate(lines):
        rows = sampled if rehearsed and index < len(lines) - 1 else n_rows
        a_row = tuple(value / rows for value in inertia)
        found.append(PassLine(restart, rows, tuple(passes), a_row, index == won))
    return tuple(found)


def _facts_of(model: Any, X: Any, name: str, document: Mapping[str, Any] | None) -> FitFacts:
    if document is None:
        shape = (len(model.labels_), model.n_features_in_)
        rows = np.broadcast_to(model.cluster_centers_.dtype.type(0), shape)
        document = describe_fit(model, rows if not hasattr(X, "dtype") else X, name=name)
    facts: FitFacts = read_value(FitFacts, json.loads(json.dumps(document)), "the result")
    return facts


def _look_at(
    model: Any,
    source: BlockSource,
    sample_weight: ArrayLike | None,
    names: Sequence[str] | None,
    image_shape: Sequence[int] | str | None,
) -> Rows:
    """Walk over the rows, and draw the sample."""
    weights = check_weights(sample_weight, source)
    shape = None
    if not isinstance(image_shape, str):
        shape = check_image_shape(image_shape, source.shape[1])
    elif image_shape != "auto":
        raise ValueError(
            f"image_shape={image_shape!r} is not known; give 'auto' or (height, width)"
        )
    seen = UnitRows(source) if model.metric == "cosine" else source
    walk = walk_clusters(
        seen, read_fitted_model(model).float64_centers, model.labels_, weights, model.n_threads or 0
    )
    most = count_sampled(source, model.memory_limit)
    sample = draw_rows(model, seen, min(MAP_ROWS, most))
    if image_shape == "auto":
        shape = guess_image_shape(sample.rows, names)
    return Rows(seen, sample, most, walk, names, shape)


def _add_rows(
    report: Report,
    model: Any,
    rows: Rows,
    cluster_names: Sequence[str] | None,
    fingerprint: str,
) -> Report:
    """Return the report with what the rows tell."""
    centers, labels = read_fitted_model(model).float64_centers, model.labels_
    chosen = choose_clusters(rows)
    curve = None
    if model.projection_ is not None:
        curve = trace_dimensions(rows.sample, centers, labels, model.n_threads or 0)
    return Report(
        facts=report.facts,
        clusters=describe_clusters(rows, centers, chosen, cluster_names),
        members=describe_members(rows, centers, chosen),
        row_map=map_rows(rows.sample, labels, model.key_),
        passes=report.passes,
        original_inertia=report.original_inertia,
        curve=curve,
        image_shape=rows.image_shape,
        command=report.command,
        fingerprint=fingerprint,
    )


def _fingerprint(X: Any) -> str:
    from projected_kmeans.sources.array_source import as_row_source

    return as_row_source(X).identity()

"""A fitted model and its rows -> the `Report` of the fit.

Decides what a report holds: `clusters` and `sample` measure it, `files` stores it, `page` shows it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.inputs import is_dask
from projected_kmeans.estimator.cluster_descriptions import (
    check_feature_names,
    check_ids,
    summarize_rows,
)
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.prediction import check_source, index_of, open_source
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.reports.clusters import (
    N_MEMBERS,
    ReportRows,
    Separation,
    choose_clusters,
    describe_clusters,
    describe_members,
    find_majorities,
    find_nearest_clusters,
)
from projected_kmeans.reports.files import list_clusters, read_facts
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.pictures import check_image_shape, guess_image_shape
from projected_kmeans.reports.sample import (
    MAX_MAP_ROWS,
    SampledRows,
    count_sampled_rows,
    map_rows,
    measure_silhouettes,
    sample_rows,
    trace_dimensions,
)
from projected_kmeans.reports.values import (
    FitFacts,
    Member,
    PassLine,
    Report,
    SilhouetteFacts,
)
from projected_kmeans.results import FitState
from projected_kmeans.sources.array_source import ArrayRows, as_row_source
from projected_kmeans.sources.file_rows import FileRows, JoinedRows
from projected_kmeans.sources.isolated_source import IsolatedRows
from projected_kmeans.sources.protocol import is_row_source

# From indices of rows to their ids.
PickIds: TypeAlias = Callable[[Sequence[int]], Mapping[int, Any]]


def to_html(
    model: ProjectedKMeans, X: Any, path: str | os.PathLike[str] | None, **options: Any
) -> str:
    """Return the report of a fit as one HTML page; see `ProjectedKMeans.to_html`."""
    page = render_report(describe_report(model, X, **options))
    if path is not None:
        write_page(page, path)
    return page


def describe_report(
    model: ProjectedKMeans,
    X: Any = None,
    *,
    document: Mapping[str, Any] | None = None,
    command: str | None = None,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    cluster_names: Sequence[str] | None = None,
    ids: Sequence[Any] | PickIds | None = None,
    sample_weight: ArrayLike | None = None,
    true_labels: ArrayLike | None = None,
    image_shape: Sequence[int] | str | None = "auto",
) -> Report:
    """Return the report of a fit; beside the arguments of `ProjectedKMeans.to_html` it takes these.

    ``document`` is what `describe_fit` returned, if the caller has it already, ``command`` the
    command that made the fit. ``cluster_names`` are shown beside the numbers of clusters. ``ids``
    may be a function from some rows to their names.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> [(cluster.rows, cluster.inertia) for cluster in describe_report(model, X).clusters]
    [(2, 0.5), (2, 0.5)]
    """
    fitted = read_fitted_model(model)
    if fitted.labels is None or fitted.seconds is None:
        raise ValueError(
            "a loaded model does not know its fit; use 'projected-kmeans report' on its folder"
        )
    title = name_data(X) if name is None else name
    report = replace(_begin(model, _describe_facts(model, X, title, document)), command=command)
    if X is None:
        return report
    with open_source(fitted, X) as source:
        if source.shape[0] != len(fitted.labels):
            raise ValueError(
                f"X has {source.shape[0]} rows and the model was fitted to {len(fitted.labels)}; "
                "give the rows of the fit"
            )
        names = check_feature_names(fitted, feature_names)
        pick = _open_ids(ids, X, source.shape[0])
        if isinstance(image_shape, str) and is_row_source(X):
            image_shape = X.image_shape or image_shape
        rows, sample = _read_rows(
            fitted, model.projection_, source, sample_weight, names, image_shape
        )
        rows = rows._replace(columnwise=_is_columnwise(X))
        report = _add_rows(report, fitted, rows, sample, cluster_names, true_labels)
        report = _name_rows(report, pick)
    # Dask's rows would all be computed for a fingerprint.
    return report if is_dask(X) else replace(report, fingerprint=as_row_source(X).identity())


def _begin(model: ProjectedKMeans, facts: FitFacts) -> Report:
    """Return what a report has without rows."""
    return Report(
        facts,
        list_clusters(facts),
        passes=collect_passes(model.trace_, model.history_, model.approach_.level_rows),
        original_inertia=tuple(
            state.inertia
            for state in model.trace_
            if state.step in ("lift", "polish") and state.inertia is not None
        ),
    )


def _describe_facts(
    model: ProjectedKMeans, X: Any, name: str, document: Mapping[str, Any] | None
) -> FitFacts:
    if document is None:
        rows = X
        # None, a list, a table, or Dask's rows, whose number may be unknown: the type in which
        # they were clustered.
        if not hasattr(X, "dtype") or is_dask(X):
            shape = (len(model.labels_), model.n_features_in_)
            rows = np.broadcast_to(model.cluster_centers_.dtype.type(0), shape)
        document = describe_fit(model, rows, name=name)
    # Through JSON, so that this report equals the one that is read from its file.
    return read_facts(json.loads(json.dumps(document)))


def collect_passes(
    trace: Sequence[FitState], history: Sequence[float], level_rows: Sequence[int]
) -> tuple[PassLine, ...]:
    """Return the passes on the sketch, one line for each start and level, the last one marked.

    Starts run on the first level. A line whose passes are counted from 1 again is that of the next
    level. ``level_rows`` are the rows of every level, and ``history`` the inertias that were kept.
    """
    lines: list[list[FitState]] = []
    latest: dict[int, list[FitState]] = {}
    for state in trace:
        if state.step != "cluster" or state.inertia is None:
            continue
        line = latest.get(state.restart)
        if line is None or line[-1].iteration >= state.iteration:
            line = latest[state.restart] = []
            lines.append(line)
        line.append(state)
    inertias = [[state.inertia or 0.0 for state in line] for line in lines]
    n_starts = max(1, len(lines) - (len(level_rows) - 1))
    ends = [values[-1] for values in inertias]
    best = ends.index(history[-1]) if history and history[-1] in ends else len(lines) - 1
    passes = []
    for index, (line, values) in enumerate(zip(lines, inertias, strict=True)):
        n_rows = level_rows[min(max(0, index - n_starts + 1), len(level_rows) - 1)]
        numbers = tuple(state.iteration for state in line)
        per_row = tuple(value / n_rows for value in values)
        passes.append(PassLine(line[0].restart, n_rows, numbers, per_row, index == best))
    return tuple(passes)


def _read_rows(
    model: FittedModel,
    projection: Any,
    source: BlockSource,
    sample_weight: ArrayLike | None,
    names: Sequence[str] | None,
    image_shape: Sequence[int] | str | None,
) -> tuple[ReportRows, SampledRows]:
    """Measure all rows that are in a cluster, and draw the sample."""
    shape = None
    if not isinstance(image_shape, str):
        shape = check_image_shape(image_shape, source.shape[1])
    elif image_shape != "auto":
        raise ValueError(
            f"image_shape={image_shape!r} is not known; give 'auto' or (height, width)"
        )
    labels = np.ascontiguousarray(model.labels, dtype=np.int32)
    checked = check_source(model, source, sample_weight, labels)
    measured = summarize_rows(model, checked, n_nearest=N_MEMBERS, n_farthest=N_MEMBERS)
    max_rows = count_sampled_rows(source, model.settings.memory_limit)
    n_drawn = min(MAX_MAP_ROWS, max_rows)
    sample = sample_rows(checked, projection, model.centers, measured.means, n_drawn, model.key)
    if image_shape == "auto":
        shape = guess_image_shape(sample.rows, names)
    return ReportRows(checked, measured, max_rows, names, shape, columnwise=False), sample


def _add_rows(
    report: Report,
    model: FittedModel,
    rows: ReportRows,
    sample: SampledRows,
    cluster_names: Sequence[str] | None,
    true_labels: ArrayLike | None,
) -> Report:
    """Return the report with all that is known from the rows."""
    centers, k = model.float64_centers, len(model.centers)
    chosen = choose_clusters(rows)
    curve = None
    if model.projection_name is not None:
        curve = trace_dimensions(sample, centers, model.n_threads)
    clear = measure_silhouettes(sample, k)
    majorities: list[Any] = [None] * k
    if true_labels is not None:
        majorities = list(find_majorities(np.asarray(model.labels), true_labels, k))
    separation = Separation(
        [None] * k if clear is None else clear.clusters,
        find_nearest_clusters(centers, rows.measured.rows),
        majorities,
    )
    return replace(
        report,
        clusters=describe_clusters(rows, chosen, cluster_names, separation),
        members=describe_members(rows, sorted(chosen)),
        row_map=map_rows(sample, model.key),
        curve=curve,
        image_shape=rows.image_shape,
        silhouette=None if clear is None else SilhouetteFacts(clear.mean, clear.rows),
    )


def name_data(X: Any) -> str:
    """Return what rows are called as a whole: their file or folder, else "X"."""
    if isinstance(X, ArrayRows):
        return name_data(X.origin)
    if not isinstance(X, FileRows | IsolatedRows | JoinedRows):
        return "X"
    return X.files[0].name if len(X.files) == 1 else X.files[0].resolve().parent.name


def _is_columnwise(X: Any) -> bool:
    """Return whether rows that are pictures are stored column by column, as MATLAB does."""
    if isinstance(X, ArrayRows):
        return _is_columnwise(X.origin)
    return isinstance(X, FileRows | IsolatedRows | JoinedRows) and X.format == ".mat"


def _open_ids(ids: Sequence[Any] | PickIds | None, X: Any, n_rows: int) -> PickIds | None:
    """Return what finds the ids of some rows, by default those that X knows; None without ids."""
    if callable(ids):
        return ids
    known = check_ids(index_of(X) if ids is None else ids, n_rows)
    return None if known is None else lambda rows: {row: known[row] for row in rows}


def _name_rows(report: Report, pick: PickIds | None) -> Report:
    """Return the report with the names of the rows that it shows; only these are looked up.

    A table of pandas without an index of its own numbers its rows; such numbers are no names.
    """
    shown = {member.row for group in report.members for member in (*group.typical, *group.outlying)}
    nearest = (cluster.representative for cluster in report.clusters)
    shown |= {row for row in nearest if row is not None}
    shown |= set(() if report.row_map is None else report.row_map.rows)
    names: dict[int | None, str] = {}  # a cluster without rows has no representative, and no name
    if pick is not None:
        names = {row: str(name) for row, name in pick(sorted(shown)).items()}
    if all(name == str(row) for row, name in names.items()):
        return report

    def name(members: Sequence[Member]) -> tuple[Member, ...]:
        return tuple(replace(member, name=names[member.row]) for member in members)

    row_map = report.row_map
    if row_map is not None:
        row_map = replace(row_map, names=tuple(names[row] for row in row_map.rows))
    return replace(
        report,
        clusters=tuple(
            replace(cluster, representative_name=names.get(cluster.representative))
            for cluster in report.clusters
        ),
        members=tuple(
            replace(group, typical=name(group.typical), outlying=name(group.outlying))
            for group in report.members
        ),
        row_map=row_map,
    )

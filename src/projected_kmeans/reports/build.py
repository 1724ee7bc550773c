"""A fitted model and its rows -> the `Report` of the fit.

Decides what a report holds; `rows` and `clusters` measure it, `files` stores it, `page` shows it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.inputs import check_weights, is_dask
from projected_kmeans.blocks.unit_length import UnitRows
from projected_kmeans.estimator.cluster_descriptions import check_feature_names
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.prediction import open_source
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans, read_fitted_model
from projected_kmeans.reports.clusters import (
    ReportRows,
    choose_clusters,
    count_sampled_rows,
    describe_clusters,
    describe_members,
)
from projected_kmeans.reports.files import list_clusters, read_facts
from projected_kmeans.reports.members import check_image_shape, guess_image_shape
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.pass_lines import collect_passes
from projected_kmeans.reports.row_names import (
    PickIds,
    is_columnwise,
    name_data,
    name_rows,
    open_names,
)
from projected_kmeans.reports.rows import (
    MAX_MAP_ROWS,
    find_means,
    map_rows,
    sample_rows,
    trace_dimensions,
    walk_clusters,
)
from projected_kmeans.reports.separation import (
    Separation,
    explain_variance,
    find_majorities,
    find_nearest_clusters,
    measure_silhouettes,
)
from projected_kmeans.reports.values import FitFacts, Report, SilhouetteFacts
from projected_kmeans.sources.array_source import as_row_source
from projected_kmeans.sources.protocol import is_row_source


def describe_report(
    model: ProjectedKMeans,
    X: Any = None,
    *,
    name: str | None = None,
    document: Mapping[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    image_shape: Sequence[int] | str | None = "auto",
    cluster_names: Sequence[str] | None = None,
    command: str | None = None,
    true_labels: ArrayLike | None = None,
    ids: Sequence[Any] | PickIds | None = None,
) -> Report:
    """Return the report of a fit.

    Parameters
    ----------
    model : ProjectedKMeans
        Fitted in this process; a loaded model has no labels.
    X : array-like, sparse matrix or row source (n, d), optional
        The rows of the fit, which are read once more. Without them the report has no map, no
        distances and no members.
    name : str, optional
        The name of the data; by default that of its file or folder, else "X".
    document : mapping, optional
        What `describe_fit` returned, if the caller has it already.
    sample_weight : array-like (n,), optional
        The weights of the fit.
    feature_names : sequence of str, optional
        The names of the columns; by default those that the model knows.
    image_shape : (height, width), (height, width, 3), "auto" or None, default="auto"
        The shape of rows that are pictures. "auto" finds out whether rows are square pictures; None
        shows numbers.
    cluster_names : sequence of str, optional
        Names of the clusters, shown beside their numbers.
    command : str, optional
        The command that made the fit.
    true_labels : array-like (n,), optional
        Labels that are known of the rows: each cluster shows its most frequent one.
    ids : sequence or callable, optional
        The names of the rows, one for each, or a function from some rows to their names; by default
        those that X knows, such as the names of image files.

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
    fitted = replace(fitted, labels=None if fitted.labels is None else np.asarray(fitted.labels))
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
        shape = _known_shape(X) if isinstance(image_shape, str) else image_shape
        pick = open_names(ids, X, source.shape[0])
        rows = _read_rows(
            fitted, model.projection_, source, sample_weight, names, shape or image_shape
        )
        rows = rows._replace(columnwise=is_columnwise(X))
        described = _add_rows(report, fitted, rows, cluster_names, true_labels)
        described = name_rows(described, pick)
    # Dask's rows would all be computed for a fingerprint.
    return described if is_dask(X) else replace(described, fingerprint=_identify(X))


def to_html(
    model: ProjectedKMeans,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    sample_weight: ArrayLike | None = None,
    image_shape: Sequence[int] | str | None = "auto",
    feature_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    true_labels: ArrayLike | None = None,
) -> str:
    """Return the report of a fit as one HTML page, and write it if a path is given.

    Parameters
    ----------
    model : ProjectedKMeans
        A fitted estimator.
    X, path, name, sample_weight, image_shape, feature_names, ids, true_labels
        As in `ProjectedKMeans.to_html`.
    """
    report = describe_report(
        model,
        X,
        name=name,
        sample_weight=sample_weight,
        image_shape=image_shape,
        feature_names=feature_names,
        ids=ids,
        true_labels=true_labels,
    )
    page = render_report(report)
    if path is not None:
        write_page(page, path)
    return page


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


def _read_rows(
    model: FittedModel,
    projection: Any,
    source: BlockSource,
    sample_weight: ArrayLike | None,
    names: Sequence[str] | None,
    image_shape: Sequence[int] | str | None,
) -> ReportRows:
    """Measure all rows in one walk, and draw the sample."""
    if model.skips_holes and sample_weight is not None:  # rows without weight were left out
        sample_weight = np.nan_to_num(np.asarray(sample_weight, dtype=np.float64), nan=0.0)
    weights = check_weights(sample_weight, source)
    shape = None
    if not isinstance(image_shape, str):
        shape = check_image_shape(image_shape, source.shape[1])
    elif image_shape != "auto":
        raise ValueError(
            f"image_shape={image_shape!r} is not known; give 'auto' or (height, width)"
        )
    seen = UnitRows(source) if model.spherical else source
    walk = walk_clusters(seen, model.float64_centers, model.labels, weights, model.n_threads)
    means = find_means(walk, model.float64_centers, spherical=model.spherical)
    max_rows = count_sampled_rows(source, model.settings.memory_limit)
    drawn = min(MAX_MAP_ROWS, max_rows)
    sample = sample_rows(seen, model.centers, projection, drawn, model.key, model.labels, means)
    if image_shape == "auto":
        shape = guess_image_shape(sample.rows, names)
    return ReportRows(seen, sample, max_rows, walk, names, shape, means)


def _known_shape(X: Any) -> tuple[int, ...] | None:
    """Return the shape of rows that are read from image files, else None."""
    return X.image_shape if is_row_source(X) else None


def _identify(X: Any) -> str:
    return as_row_source(X).identity()


def _add_rows(
    report: Report,
    model: FittedModel,
    rows: ReportRows,
    cluster_names: Sequence[str] | None,
    true_labels: ArrayLike | None,
) -> Report:
    """Return the report with all that is known from the rows."""
    centers, labels, k = model.float64_centers, model.labels, len(model.centers)
    assert labels is not None
    chosen = choose_clusters(rows)
    curve = None
    if model.projection_name is not None:
        curve = trace_dimensions(rows.sample, centers, labels, model.n_threads)
    found = measure_silhouettes(rows.sample, labels, k)
    separation = Separation(
        [None] * k if found is None else found.clusters,
        find_nearest_clusters(centers, rows.walk.rows),
        [None] * k if true_labels is None else find_majorities(labels, true_labels, k),
    )
    return replace(
        report,
        clusters=describe_clusters(rows, chosen, cluster_names, separation),
        members=describe_members(rows, sorted(chosen)),
        row_map=map_rows(rows.sample, labels, model.key),
        curve=curve,
        image_shape=rows.image_shape,
        explained_variance=explain_variance(rows.walk, rows.means, spherical=model.spherical),
        silhouette=None if found is None else SilhouetteFacts(found.mean, found.rows),
    )

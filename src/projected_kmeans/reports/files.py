"""Reports as files: ``report.json`` beside the other files of a fit, written and read.

Knows files and formats; `documents` checks the types, and `values` says what a report holds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from projected_kmeans.documents import from_document, read_document, to_document
from projected_kmeans.estimator.fit_document import FORMAT_VERSION, RESULT_FORMAT
from projected_kmeans.estimator.fit_folder import (
    REPORT_FORMAT,
    check_fit_file,
    read_head,
)
from projected_kmeans.output_files import encode_json
from projected_kmeans.output_group import GroupReader, read_group, replace_group
from projected_kmeans.reports.values import ClusterFacts, FitFacts, Report, RowMap


def save_report(report: Report, folder: str | os.PathLike[str]) -> Path:
    """Write ``report.json`` into an existing folder, and return its path.

    Parameters
    ----------
    report : Report
        The report to store.
    folder : str or path
        The folder of the fit's other files; the folder of another fit is refused.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> from projected_kmeans.reports.build import describe_report
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> report = describe_report(ProjectedKMeans(2, random_state=0).fit(X), X)
    >>> file = save_report(report, tempfile.mkdtemp())
    >>> load_report(file) == report
    True
    """
    stamp = {"format": REPORT_FORMAT, "format_version": FORMAT_VERSION}
    content = encode_json({**stamp, **to_document(report)})
    with replace_group(folder) as group:
        head = read_head(GroupReader(group.folder))
        if head is not None and head.fit not in (None, report.facts.fit):
            raise ValueError(
                f"{group.folder} holds another fit by now, so that this report is not written; "
                "use one folder for each fit"
            )
        group.add("report.json", lambda handle: handle.write(content))
    return group.folder / "report.json"


def load_report(path: str | os.PathLike[str]) -> Report:
    """Read the report of a fit, from ``report.json`` if it exists, else from ``result.json``.

    Parameters
    ----------
    path : str or path
        The folder that a fit wrote, or ``report.json`` or ``result.json`` in it.

    Returns
    -------
    Report
        With sizes and scores only, if there is no ``report.json``.

    Examples
    --------
    >>> load_report("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere does not exist; name the folder that a fit wrote, or its result.json
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(
            f"{path} does not exist; name the folder that a fit wrote, or its result.json"
        )
    folder = path if path.is_dir() else path.parent
    with read_group(folder) as group:
        name = path.name
        if path.is_dir() or name == "result.json":
            name = "report.json" if group.find("report.json").is_file() else "result.json"
        check_fit_file(group, name)
        path = group.find(name)
        document = read_document(path, (RESULT_FORMAT, REPORT_FORMAT), FORMAT_VERSION)
    if document["format"] == REPORT_FORMAT:
        report = from_document(Report, document, str(path))
    else:
        facts = read_facts(document, str(path))
        report = Report(facts, list_clusters(facts))
    wrong = find_contradiction(report)
    if wrong is not None:
        raise ValueError(f"{path} is damaged ({wrong}); fit again")
    return report


def read_facts(document: Any, where: str = "the result") -> FitFacts:
    """Return what ``result.json`` holds; raise a ValueError if it is damaged.

    Parameters
    ----------
    document : mapping
        What `describe_fit` returned, or JSON gave.
    where : str, default="the result"
        The name of the document in errors.
    """
    return from_document(FitFacts, document, where)


def list_clusters(facts: FitFacts) -> tuple[ClusterFacts, ...]:
    """Return the clusters with their numbers of rows, which is all that is known without rows."""
    return tuple(
        ClusterFacts(label, rows) for label, rows in enumerate(facts.results.cluster_sizes)
    )


def find_contradiction(report: Report) -> str | None:
    """Return what contradicts itself in a report that was read from a file; None if nothing does.

    Parameters
    ----------
    report : Report
        A report whose fields have the right types and ranges.
    """
    n_clusters, n_rows = len(report.facts.results.cluster_sizes), report.facts.data.shape[0]
    if [one.cluster for one in report.clusters] != list(range(n_clusters)):
        return f"the clusters are not numbered from 0 to {n_clusters - 1}"
    if tuple(one.rows for one in report.clusters) != report.facts.results.cluster_sizes:
        return "the rows of the clusters are not cluster_sizes"
    shown = {one.cluster for one in report.members}
    rows = {row.row for one in report.members for row in (*one.typical, *one.outlying)}
    shown |= {one.nearest for one in report.clusters if one.nearest is not None}
    rows |= {one.representative for one in report.clusters if one.representative is not None}
    if report.row_map is not None:
        shown |= set(report.row_map.clusters)
        rows |= set(report.row_map.rows)
    if max(shown, default=0) >= n_clusters:
        return f"cluster {max(shown)} is shown, and there are {n_clusters} clusters"
    if max(rows, default=0) >= n_rows:
        return f"row {max(rows)} is shown, and there are {n_rows} rows"
    return find_wrong_total(report.facts) or _find_gap(report, report.row_map)


def find_wrong_total(facts: FitFacts) -> str | None:
    """Return what is wrong with the numbers of a result as a whole; None if they agree."""
    total, n_rows = sum(facts.results.cluster_sizes), facts.data.shape[0]
    if total + facts.results.set_aside != n_rows:
        return f"cluster_sizes has {total} rows in all, and the data {n_rows}"
    return f"key {facts.key} is not below 2**64" if facts.key >= 2**64 else None


def _find_gap(report: Report, row_map: RowMap | None) -> str | None:
    """Return what the page shows and the report lacks."""
    if row_map is None:
        return None
    if len(row_map.center_x) != len(report.clusters):
        return "the map has not one center for each cluster"
    if any(one.inertia is None for one in report.clusters):
        return "the report has a map and not the inertia of each cluster"
    return None

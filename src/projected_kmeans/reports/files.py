"""Reports as files: ``report.json`` beside the other files of a fit, written, read and checked.

`documents` checks the types of fields, and `values` says what a report holds.
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
from projected_kmeans.reports.values import ClusterFacts, FitFacts, Report


def save_report(report: Report, folder: str | os.PathLike[str]) -> Path:
    """Write ``report.json`` into the folder of the fit's other files, and return its path.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> from projected_kmeans.reports.build import describe_report
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> report = describe_report(ProjectedKMeans(2, random_state=0).fit(X), X)
    >>> load_report(save_report(report, tempfile.mkdtemp())) == report
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

    The path is that of the folder or of one of these files. Without ``report.json`` the report has
    sizes and scores only.
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
    """Return what ``result.json`` holds; raise a ValueError that names it if it is damaged."""
    return from_document(FitFacts, document, where)


def list_clusters(facts: FitFacts) -> tuple[ClusterFacts, ...]:
    """Return the clusters with their numbers of rows, which is all that is known without rows."""
    return tuple(
        ClusterFacts(label, rows) for label, rows in enumerate(facts.results.cluster_sizes)
    )


def find_contradiction(report: Report) -> str | None:
    """Return what contradicts itself in a report that was read from a file; None if nothing does.

    `documents` checks each field by itself; a page needs more, such as the numbers of its clusters.
    """
    facts, row_map = report.facts, report.row_map
    sizes, n_rows = facts.results.cluster_sizes, facts.data.shape[0]
    clusters, members = report.clusters, report.members
    if [cluster.cluster for cluster in clusters] != list(range(len(sizes))):
        return f"the clusters are not numbered from 0 to {len(sizes) - 1}"
    if tuple(cluster.rows for cluster in clusters) != sizes:
        return "the rows of the clusters are not cluster_sizes"
    shown = {group.cluster for group in members}
    rows = {member.row for group in members for member in (*group.typical, *group.outlying)}
    shown |= {cluster.nearest for cluster in clusters if cluster.nearest is not None}
    rows |= {cluster.representative for cluster in clusters if cluster.representative is not None}
    if row_map is not None:
        shown |= set(row_map.clusters)
        rows |= set(row_map.rows)
    if max(shown, default=0) >= len(sizes):
        return f"cluster {max(shown)} is shown, and there are {len(sizes)} clusters"
    if max(rows, default=0) >= n_rows:
        return f"row {max(rows)} is shown, and there are {n_rows} rows"
    if sum(sizes) + facts.results.set_aside != n_rows:
        return f"cluster_sizes has {sum(sizes)} rows in all, and the data {n_rows}"
    if facts.key >= 2**64:
        return f"key {facts.key} is not below 2**64"
    if row_map is not None and len(row_map.center_x) != len(sizes):
        return "the map has not one center for each cluster"
    if row_map is not None and any(cluster.inertia is None for cluster in clusters):
        return "the report has a map and not the inertia of each cluster"
    return None

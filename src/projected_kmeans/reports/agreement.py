"""Whether the parts of a stored report agree with each other.

`documents` checks each field by itself; a page needs more, such as the numbers of its clusters.
"""

from __future__ import annotations

from projected_kmeans.reports.values import FitFacts, Report, RowMap


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

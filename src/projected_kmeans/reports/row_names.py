"""What the rows of a report are called, each and all: names of files, ids of a table.

Also tells what else their files say about them.
Adds names to a report that is measured already; only the rows that it shows are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from projected_kmeans.estimator.label_series import index_of
from projected_kmeans.estimator.representatives import check_ids
from projected_kmeans.reports.values import Member, Report
from projected_kmeans.sources.array_source import ArrayRows
from projected_kmeans.sources.file_rows import FileRows, JoinedRows
from projected_kmeans.sources.isolated_source import IsolatedRows

# From indices of rows to their ids.
PickIds: TypeAlias = Callable[[Sequence[int]], Mapping[int, Any]]


def open_names(ids: Sequence[Any] | PickIds | None, X: Any, n_rows: int) -> PickIds | None:
    """Return what finds the ids of some rows; None if rows have none.

    Parameters
    ----------
    ids : sequence, callable or None
        One id for each row, or what finds ids; None takes those that X knows.
    X : object
        The rows.
    n_rows : int
        Their number.
    """
    if callable(ids):
        return ids
    known = check_ids(index_of(X) if ids is None else ids, n_rows)
    return None if known is None else lambda rows: {row: known[row] for row in rows}


def name_data(X: Any) -> str:
    """Return what rows are called as a whole: their file or folder, else "X"."""
    if isinstance(X, ArrayRows):
        return name_data(X.origin)
    if not isinstance(X, FileRows | IsolatedRows | JoinedRows):
        return "X"
    return X.files[0].name if len(X.files) == 1 else X.files[0].resolve().parent.name


def is_columnwise(X: Any) -> bool:
    """Return whether rows that are pictures are stored column by column, as MATLAB does."""
    if isinstance(X, ArrayRows):
        return is_columnwise(X.origin)
    return isinstance(X, FileRows | IsolatedRows | JoinedRows) and X.format == ".mat"


def name_rows(report: Report, pick: PickIds | None) -> Report:
    """Return the report with the names of its members and of the rows on its map.

    A table of pandas without an index of its own numbers its rows; such numbers are no names.
    """
    members = [one for group in report.members for one in (*group.typical, *group.outlying)]
    drawn = () if report.row_map is None else report.row_map.rows
    typical = {one.representative for one in report.clusters if one.representative is not None}
    rows = sorted({*drawn, *typical, *(one.row for one in members)})
    found = {} if pick is None else {row: str(name) for row, name in pick(rows).items()}
    if all(name == str(row) for row, name in found.items()):
        return report

    def name(some: Sequence[Member]) -> tuple[Member, ...]:
        return tuple(replace(one, name=found[one.row]) for one in some)

    groups = (
        replace(group, typical=name(group.typical), outlying=name(group.outlying))
        for group in report.members
    )
    clusters = (
        one
        if one.representative is None
        else replace(one, representative_name=found[one.representative])
        for one in report.clusters
    )
    row_map = report.row_map
    if row_map is not None:
        row_map = replace(row_map, names=tuple(found[row] for row in row_map.rows))
    return replace(report, clusters=tuple(clusters), members=tuple(groups), row_map=row_map)

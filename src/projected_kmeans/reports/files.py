"""Reports as documents: ``report.json`` beside a fit's result, written and read with every check.

Knows types and files; what a report means is `report_values.py`'s business.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from projected_kmeans.output_files import write_json
from projected_kmeans.reports.values import ClusterFacts, FitFacts, Report

REPORT_FORMAT = "projected_kmeans report"
RESULT_FORMAT = "projected_kmeans result"
FORMAT_VERSION = 1


def save_report(report: Report, folder: str | os.PathLike[str]) -> Path:
    """Write ``report.json`` into an existing folder, and return its path.

    Parameters
    ----------
    report : Report
        What to keep.
    folder : str or path
        Where a fit's other files are.

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
    path = Path(folder) / "report.json"
    head = {"format": REPORT_FORMAT, "format_version": FORMAT_VERSION}
    write_json(path, {**head, **asdict(report)})
    return path


def load_report(path: str | os.PathLike[str]) -> Report:
    """Read what a fit left: its ``report.json``, or its result alone where there is no other.

    Parameters
    ----------
    path : str or path
        The folder that a fit wrote, or one of ``report.json`` and ``result.json``.

    Returns
    -------
    Report
        With sizes and scores only, where it comes from a result alone.

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
    if path.is_dir() or path.name == "result.json":
        folder = path if path.is_dir() else path.parent
        beside = folder / "report.json"
        path = beside if beside.is_file() else folder / "result.json"
    document = _read_document(path)
    known = (REPORT_FORMAT, RESULT_FORMAT)
    if document.get("format") not in known:
        raise ValueError(f"{path} is not a {known[1]} or report; name the folder that a fit wrote")
    if document.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {document.get('format_version')!r} and this package reads "
            f"{FORMAT_VERSION}; upgrade projected_kmeans or fit again"
        )
    try:
        if document["format"] == RESULT_FORMAT:
            return report_of_result(document)
        found: Report = read_value(Report, document, "the report")
        return found
    except ValueError as error:
        raise ValueError(f"{path} cannot be shown: {error}") from error


def report_of_result(document: Mapping[str, Any]) -> Report:
    """Return the report of what ``result.json`` holds, without what only the rows tell."""
    facts: FitFacts = read_value(FitFacts, document, "the result")
    sizes = facts.results.cluster_sizes
    return Report(facts, tuple(ClusterFacts(label, rows) for label, rows in enumerate(sizes)))


def read_value(kind: Any, value: Any, where: str) -> Any:
    """Return a value of JSON as the type it is to be; raise one sentence where it is another.

    Parameters
    ----------
    kind : type
        A dataclass, tuple[X, ...], dict[str, X], X | None, or int, float, str, bool, Any.
    value : object
        What JSON gave.
    where : str
        What errors call it.

    Examples
    --------
    >>> read_value(tuple[float, ...], [1, 2.5], "heights")
    (1.0, 2.5)
    >>> read_value(int, "1", "the count")
    Traceback (most recent call last):
    ...
    ValueError: the count is '1' where int is due; fit again
    """
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        (some,) = (part for part in parts if part is not type(None))
        return None if value is None else read_value(some, value, where)
    if is_dataclass(kind) and isinstance(value, dict):
        return _read_dataclass(kind, value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(read_value(parts[0], one, where) for one in value)
    if origin is dict and isinstance(value, dict):
        return {name: read_value(parts[1], one, f"{where}, {name}") for name, one in value.items()}
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind in (int, str, bool) and type(value) is kind:
        return value
    due = getattr(kind, "__name__", kind) if origin is None else origin.__name__
    raise ValueError(f"{where} is {_cut(value)} where {due} is due; fit again")


def _read_dataclass(kind: Any, document: dict[str, Any], where: str) -> Any:
    hints, values = get_type_hints(kind), {}
    for one in fields(kind):
        if one.name in document:
            values[one.name] = read_value(hints[one.name], document[one.name], one.name)
        elif one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{where} has no {one.name}; fit again")
    return kind(**values)


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); check its access") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON ({error}); fit again") from error
    if not isinstance(document, dict):
        raise ValueError(f"{path} is not a {RESULT_FORMAT}; name the folder that a fit wrote")
    return document

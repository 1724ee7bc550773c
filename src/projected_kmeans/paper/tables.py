"""A table as Markdown, LaTeX and CSV, and the columns that tables of records are made of.

All cells are text. `tabulate` makes them from records, one column a line, so that a view of an
experiment reads as its table does.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Record: TypeAlias = Mapping[str, Any]
Key = TypeVar("Key")
# The title of a column, and its cell: a format string for the record's fields, or a function.
Column: TypeAlias = tuple[str, str | Callable[[Any], str]]

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)


@dataclass(frozen=True)
class Table:
    """Text in rows and columns; the name is part of that of its CSV file."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tabulate(name: str, title: str, records: Iterable[Any], columns: Sequence[Column]) -> Table:
    """Return a table with a row for each record."""
    rows = tuple(tuple(_fill(cell, record) for _, cell in columns) for record in records)
    return Table(name, title, tuple(title for title, _ in columns), rows)


def _fill(cell: str | Callable[[Any], str], record: Any) -> str:
    return cell.format_map(record) if isinstance(cell, str) else cell(record)


def group_by(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return the records by a key, keys and records in the order in which they come."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def show_verdict(holds: bool | None) -> str:
    """Return the words for a statement that holds, does not hold, or cannot be tested."""
    return "-" if holds is None else "holds" if holds else "does not hold"


# The columns of a table of statements, each of which a rule has judged.
STATEMENT: Column = ("statement", "{statement}")
MEASURED: Column = ("measured", "{measured}")
VERDICT: Column = ("verdict", lambda record: show_verdict(record["holds"]))


def as_sentences(missing: Iterable[str]) -> list[str]:
    """Return what is missing from an experiment as sentences below its tables."""
    return [f"{reason[0].upper()}{reason[1:]}." for reason in missing]


def as_markdown(table: Table) -> str:
    """Return a table in Markdown, its columns padded so that it reads well as text."""
    lines = [[cell.replace("|", "\\|") for cell in cells] for cells in (table.header, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    written = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([f"**{table.title}**", "", written[0], rule, *written[1:]])


def as_latex(table: Table) -> str:
    """Return a table as a LaTeX ``table`` environment that needs no packages."""
    lines = [
        " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"
        for cells in (table.header, *table.rows)
    ]
    columns = "l" * len(table.header)
    return "\n".join(
        [
            r"\begin{table}",
            r"\begin{center}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            r"\end{center}",
            rf"\caption{{{table.title.translate(_LATEX)}}}",
            r"\end{table}",
        ]
    )


def as_csv(table: Table) -> str:
    """Return a table as comma-separated lines, the header first."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *table.rows])
    return text.getvalue()

"""A table as Markdown, LaTeX and CSV.

All cells are text; the views decide what they hold.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

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
    """Text in rows and columns.

    Attributes
    ----------
    name : str
        Part of the name of its CSV file.
    title : str
        One line above the table.
    header : tuple of str
        The titles of the columns.
    rows : tuple of tuple of str
        The cells of each row, one for every column.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def as_markdown(table: Table) -> str:
    """Return a table in Markdown, its columns padded so that it reads well as text.

    Parameters
    ----------
    table : Table
        What to write.

    Examples
    --------
    >>> print(as_markdown(Table("a", "Squares", ("n", "n^2"), (("3", "9"), ("10", "100")))))
    **Squares**
    <BLANKLINE>
    | n  | n^2 |
    |----|-----|
    | 3  | 9   |
    | 10 | 100 |
    """
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
    r"""Return a table as a LaTeX ``table`` environment that needs no packages.

    Parameters
    ----------
    table : Table
        What to write.

    Examples
    --------
    >>> print(as_latex(Table("a", "Squares", ("n", "n^2"), (("3", "9"),))))
    \begin{table}
    \begin{center}
    \begin{tabular}{ll}
    \hline
    n & n\textasciicircum{}2 \\
    \hline
    3 & 9 \\
    \hline
    \end{tabular}
    \end{center}
    \caption{Squares}
    \end{table}
    """
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
    """Return a table as comma-separated lines, the header first.

    Parameters
    ----------
    table : Table
        What to write.

    Examples
    --------
    >>> print(as_csv(Table("a", "Squares", ("n", "n^2"), (("3", "9"),))), end="")
    n,n^2
    3,9
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.header, *table.rows])
    return text.getvalue()


def format_verdict(holds: bool) -> str:
    """Return the words for a statement that holds, or that does not."""
    return "holds" if holds else "does not hold"

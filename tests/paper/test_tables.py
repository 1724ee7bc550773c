"""Tables survive Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io

from projected_kmeans.paper.tables import VERDICT, Table, as_csv, as_latex, as_markdown, tabulate


def test_cells_survive_every_format() -> None:
    """Bars, commas and LaTeX's own characters come out as they went in."""
    table = Table("t", "A & B_1", ("x|y", "a,b"), (("100 %", "f(x) ~ x^2"),))
    assert "x\\|y" in as_markdown(table)
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [["x|y", "a,b"], ["100 %", "f(x) ~ x^2"]]
    latex = as_latex(table)
    assert r"100 \% & f(x) \textasciitilde{} x\textasciicircum{}2 \\" in latex
    assert r"\caption{A \& B\_1}" in latex


def test_latex_needs_no_packages() -> None:
    """A table is an environment of plain LaTeX, with its title as the caption."""
    table = Table("a", "Squares", ("n", "n^2"), (("3", "9"),))
    assert as_latex(table).splitlines() == [
        r"\begin{table}",
        r"\begin{center}",
        r"\begin{tabular}{ll}",
        r"\hline",
        r"n & n\textasciicircum{}2 \\",
        r"\hline",
        r"3 & 9 \\",
        r"\hline",
        r"\end{tabular}",
        r"\end{center}",
        r"\caption{Squares}",
        r"\end{table}",
    ]


def test_columns_are_filled_from_records() -> None:
    """A cell is a format of the record's fields, or what a function makes of the record."""
    records = [{"n": 3, "size": {"rows": 1.25}, "holds": True}, {"n": 10, "size": {"rows": 2}}]
    columns = (("n", "{n}"), ("rows", "{size[rows]:.1f}"), ("odd", lambda one: str(one["n"] % 2)))
    table = tabulate("a", "Numbers", records, columns)
    assert table == Table(
        "a", "Numbers", ("n", "rows", "odd"), (("3", "1.2", "1"), ("10", "2.0", "0"))
    )
    verdicts = tabulate("b", "", [{"holds": value} for value in (True, False, None)], [VERDICT])
    assert verdicts.rows == (("holds",), ("does not hold",), ("-",))

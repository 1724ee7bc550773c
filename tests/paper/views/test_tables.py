"""Tables survive Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io

from projected_kmeans.paper.views.tables import Table, as_csv, as_latex, as_markdown


def test_cells_survive_every_format() -> None:
    """Bars, commas and LaTeX's own characters come out as they went in."""
    table = Table("t", "A & B_1", ("x|y", "a,b"), (("100 %", "f(x) ~ x^2"),))
    assert "x\\|y" in as_markdown(table)
    assert list(csv.reader(io.StringIO(as_csv(table)))) == [["x|y", "a,b"], ["100 %", "f(x) ~ x^2"]]
    latex = as_latex(table)
    assert r"100 \% & f(x) \textasciitilde{} x\textasciicircum{}2 \\" in latex
    assert r"\caption{A \& B\_1}" in latex

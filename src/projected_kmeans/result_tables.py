"""Results as small tables: of texts, for terminals and notebooks alike.

`ResultTable` holds texts; `to_html` shows them in a notebook, and `commands.terminal` on a
terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

# Styles stand in the elements: nbconvert and JupyterLab drop style sheets and scripts of outputs.
TABLE = "border-collapse:collapse;margin:0 0 0.8em"
CELL = "padding:0.15em 0.9em 0.15em 0;border:0;vertical-align:top"


@dataclass(frozen=True)
class ResultTable:
    """A table of texts.

    The first column is aligned to the left, the others to the right.

    Examples
    --------
    >>> table = ResultTable("two ways", ("way", "s"), (("svd", "0.1"), ("none", "2")), marked=0)
    >>> table.to_html().count("<tr>"), table.to_html().count("<b>svd</b>")
    (3, 1)
    """

    title: str  # what the table is about, in one sentence
    heads: tuple[str, ...]  # of the columns; no head row is shown if all are empty
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None  # the index of the row that is the answer

    def to_html(self) -> str:
        """Return the table as HTML that needs no style sheet and no script."""
        head = ""
        if any(self.heads):
            cells = (_cell("th", escape(one), place) for place, one in enumerate(self.heads))
            head = f"<thead><tr>{''.join(cells)}</tr></thead>"
        body = []
        for index, row in enumerate(self.rows):
            texts = [escape(one) for one in row]
            texts = [f"<b>{one}</b>" for one in texts] if index == self.marked else texts
            body.append("".join(_cell("td", one, place) for place, one in enumerate(texts)))
        lines = "".join(f"<tr>{cells}</tr>" for cells in body)
        return (
            f'<p style="margin:0 0 0.4em">{escape(self.title)}</p>'
            f'<table style="{TABLE}">{head}<tbody>{lines}</tbody></table>'
        )


def list_facts(facts: dict[str, str]) -> str:
    """Return names and texts as an HTML table of two columns.

    Examples
    --------
    >>> "&lt;3</td></tr></tbody></table>" in list_facts({"inertia": "<3"})
    True
    """
    lines = "".join(
        f'<tr><th scope="row" style="{CELL};text-align:left;font-weight:600">{escape(name)}</th>'
        f'<td style="{CELL};text-align:left">{escape(text)}</td></tr>'
        for name, text in facts.items()
    )
    return f'<table style="{TABLE}"><tbody>{lines}</tbody></table>'


def _cell(kind: str, text: str, place: int) -> str:
    scope = ' scope="col"' if kind == "th" else ""
    return (
        f'<{kind}{scope} style="{CELL};text-align:{"right" if place else "left"}">{text}</{kind}>'
    )

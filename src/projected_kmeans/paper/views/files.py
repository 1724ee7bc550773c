"""Write the tables and figures of a stored document to a folder.

Tables are written as Markdown, LaTeX and CSV, figures as PNG and SVG.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from projected_kmeans.output_files import write_atomically
from projected_kmeans.paper.views import (
    beyond,
    figure1,
    mailman,
    optimum,
    table1,
    table2,
    theorem,
)
from projected_kmeans.paper.views.charts import save_chart
from projected_kmeans.paper.views.tables import as_csv, as_latex, as_markdown
from projected_kmeans.paper.views.view import Document, View

VIEWS: Mapping[str, View] = MappingProxyType(
    {
        module.VIEW.name: module.VIEW
        for module in (table1, table2, figure1, mailman, theorem, optimum, beyond)
    }
)


def render_text(document: Document) -> str:
    """Return an experiment's tables and closing sentences, for a terminal.

    Parameters
    ----------
    document : mapping
        A document that `run_experiment` stored.
    """
    view = VIEWS[document["experiment"]]
    tables = [as_markdown(table) for table in view.tabulate(document)]
    return "\n\n".join([f"# {view.title}", *tables, "\n".join(view.conclude(document))])


def write_tables(document: Document, folder: Path) -> list[Path]:
    """Write an experiment's tables into a folder and return the files.

    Parameters
    ----------
    document : mapping
        A document that `run_experiment` stored.
    folder : Path
        An existing folder.
    """
    view = VIEWS[document["experiment"]]
    tables = view.tabulate(document)
    texts = {
        f"{view.name}.md": render_text(document) + "\n",
        f"{view.name}.tex": "\n\n".join(map(as_latex, tables)) + "\n",
        **{f"{view.name}_{table.name}.csv": as_csv(table) for table in tables},
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def write_figures(document: Document, folder: Path) -> list[Path]:
    """Draw an experiment's figures into a folder and return the files.

    Parameters
    ----------
    document : mapping
        A document that `run_experiment` stored.
    folder : Path
        An existing folder.
    """
    charts = VIEWS[document["experiment"]].chart(document)
    return [file for chart in charts for file in save_chart(chart, folder)]


def write_text(path: Path, text: str) -> None:
    """Write a text file that appears whole or not at all."""
    write_atomically(path, lambda handle: handle.write(text.encode()))

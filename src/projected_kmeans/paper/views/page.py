"""The page docs/reproduction.md, which shows all experiments from stored documents.

Joins the tables and sentences of the views and draws the figures that it links to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from projected_kmeans.paper.views.charts import save_chart
from projected_kmeans.paper.views.files import VIEWS, write_text
from projected_kmeans.paper.views.origins import describe_origin
from projected_kmeans.paper.views.tables import as_markdown
from projected_kmeans.paper.views.view import Document

FIGURES = "figures"
COMMAND = "projected-kmeans reproduce"

OPENING = f"""# The paper, reproduced

*Random Projections for k-means Clustering* (Boutsidis, Zouzias, Drineas, NIPS 2010): its tables,
its figure, its note on the mailman algorithm and its theorem, measured with this library's own
parts and set beside the paper. This page is generated from stored results. To measure everything
again and write it anew:

```
{COMMAND} all --out out --page docs/reproduction.md
```
"""


def render_page(documents: Mapping[str, Document]) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    documents : mapping
        From the name of an experiment to its stored document; others are left out.
    """
    present = [documents[name] for name in VIEWS if name in documents]
    return "\n".join([OPENING, _render_summary(present), *map(_render_section, present)])


def write_page(documents: Mapping[str, Document], path: Path) -> list[Path]:
    """Write the page, its figures and its documents; return the files.

    Figures go to the folder ``figures`` beside the page, documents to a folder with the name of the
    page. Without matplotlib `NoFigures` is raised, after everything else is written.

    Parameters
    ----------
    documents : mapping
        From the name of an experiment to its stored document.
    path : Path
        The page, ending in ``.md``.
    """
    stored = path.with_suffix("")
    figures = path.parent / FIGURES
    for folder in (stored, figures):
        folder.mkdir(parents=True, exist_ok=True)
    write_text(path, render_page(documents))
    files = [path]
    for name, document in documents.items():
        write_text(stored / f"{name}.json", json.dumps(document, allow_nan=False) + "\n")
        files.append(stored / f"{name}.json")
    for name, document in documents.items():
        for chart in VIEWS[name].chart(document):
            files += save_chart(chart, figures, ("png",))
    return files


def _render_summary(documents: Sequence[Document]) -> str:
    lines = []
    for document in documents:
        view = VIEWS[document["experiment"]]
        lines.append(f"- {view.title}: {view.conclude(document)[-1]}.")
    return "\n".join(["In short:", "", *lines, ""])


def _render_section(document: Document) -> str:
    view = VIEWS[document["experiment"]]
    figures = [f"![{view.title}]({FIGURES}/{chart.name}.png)" for chart in view.chart(document)]
    tables = [as_markdown(table) for table in view.tabulate(document)]
    closing = [sentence.rstrip(".") + "." for sentence in view.conclude(document)]
    parts = [
        f"## {view.title}",
        view.opening,
        *figures,
        *tables,
        " ".join(closing),
        describe_origin(document),
    ]
    return "\n\n".join(parts) + "\n"

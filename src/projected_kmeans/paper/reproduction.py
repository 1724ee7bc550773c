"""The seven exhibits by name, and how a stored document becomes text, files and a page.

`plan_experiment` makes the experiment that a user names. The other functions show what
`run_experiment` stored: tables as Markdown, LaTeX and CSV, figures as PNG and SVG, and the page
docs/reproduction.md. The same document always gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from projected_kmeans.output_files import write_atomically
from projected_kmeans.paper.charts import save_chart
from projected_kmeans.paper.data_sets import Faces
from projected_kmeans.paper.experiment import Document, Exhibit, Experiment
from projected_kmeans.paper.experiments import (
    beyond,
    figure1,
    mailman,
    optimum,
    table1,
    table2,
    theorem,
)
from projected_kmeans.paper.tables import as_csv, as_latex, as_markdown

EXHIBITS: Mapping[str, Exhibit] = MappingProxyType(
    {
        module.EXHIBIT.name: module.EXHIBIT
        for module in (table1, table2, figure1, mailman, theorem, optimum, beyond)
    }
)

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


def plan_experiment(
    name: str, faces: Faces | None, *, key: int = 0, quick: bool = False
) -> Experiment:
    """Return the experiment of a name in `EXHIBITS`.

    Table 2 and Figure 1 need the face images, the mailman experiment ignores them, and the others
    use them if there are any.
    """
    exhibit = EXHIBITS[name]
    return exhibit.plan(faces, key=key, sizes=exhibit.quick if quick else exhibit.full)


def render_text(document: Document) -> str:
    """Return an experiment's tables and closing sentences, for a terminal."""
    exhibit = EXHIBITS[document["experiment"]]
    tables = [as_markdown(table) for table in exhibit.tabulate(document)]
    return "\n\n".join([f"# {exhibit.title}", *tables, "\n".join(exhibit.conclude(document))])


def write_tables(document: Document, folder: Path) -> list[Path]:
    """Write an experiment's tables into an existing folder and return the files."""
    exhibit = EXHIBITS[document["experiment"]]
    tables = exhibit.tabulate(document)
    texts = {
        f"{exhibit.name}.md": render_text(document) + "\n",
        f"{exhibit.name}.tex": "\n\n".join(map(as_latex, tables)) + "\n",
        **{f"{exhibit.name}_{table.name}.csv": as_csv(table) for table in tables},
    }
    for name, text in texts.items():
        _write_text(folder / name, text)
    return [folder / name for name in texts]


def write_figures(document: Document, folder: Path) -> list[Path]:
    """Draw an experiment's figures into an existing folder and return the files."""
    charts = EXHIBITS[document["experiment"]].chart(document)
    return [file for chart in charts for file in save_chart(chart, folder)]


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda handle: handle.write(text.encode()))


def render_page(documents: Mapping[str, Document]) -> str:
    """Return the page in Markdown, from documents by the name of their experiment."""
    present = [documents[name] for name in EXHIBITS if name in documents]
    return "\n".join([OPENING, _render_summary(present), *map(_render_section, present)])


def write_page(documents: Mapping[str, Document], path: Path) -> list[Path]:
    """Write the page (.md), its figures and its documents; return the files.

    Figures go to the folder ``figures`` beside the page, documents to a folder with the name of the
    page. Without matplotlib `NoFigures` is raised, after everything else is written.
    """
    stored = path.with_suffix("")
    figures = path.parent / FIGURES
    for folder in (stored, figures):
        folder.mkdir(parents=True, exist_ok=True)
    _write_text(path, render_page(documents))
    files = [path]
    for name, document in documents.items():
        _write_text(stored / f"{name}.json", json.dumps(document, allow_nan=False) + "\n")
        files.append(stored / f"{name}.json")
    for name, document in documents.items():
        for chart in EXHIBITS[name].chart(document):
            files += save_chart(chart, figures, ("png",))
    return files


def _render_summary(documents: Sequence[Document]) -> str:
    lines = []
    for document in documents:
        exhibit = EXHIBITS[document["experiment"]]
        lines.append(f"- {exhibit.title}: {exhibit.conclude(document)[-1]}.")
    return "\n".join(["In short:", "", *lines, ""])


def _render_section(document: Document) -> str:
    exhibit = EXHIBITS[document["experiment"]]
    charts = exhibit.chart(document)
    closing = [sentence.rstrip(".") + "." for sentence in exhibit.conclude(document)]
    parts = [
        f"## {exhibit.title}",
        exhibit.opening,
        *(f"![{exhibit.title}]({FIGURES}/{chart.name}.png)" for chart in charts),
        *map(as_markdown, exhibit.tabulate(document)),
        " ".join(closing),
        describe_origin(document),
    ]
    return "\n\n".join(parts) + "\n"


def describe_origin(document: Document) -> str:
    """Return date, machine, versions and command of a document, in one sentence.

    Documents of early versions have no date and no command.
    """
    machine, measured = document["machine"], document.get("measured") or {}
    processor = machine.get("processor", machine["architecture"])
    start = measured.get("start")
    command = measured.get("command") or f"{COMMAND} {document['experiment']}"
    when = f"on {start[:10]}" if start else "(date not stored)"
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    return (
        f"*Measured {when} in {document['seconds']:.0f} s on {processor}, "
        f"{machine['processors']} processors, {machine['instruction_set']}, with `{command}`, key "
        f"{document['key']}; version {document['version']}, {versions}.*"
    )

"""The page docs/reference.md: every public name with its parameters and attributes as tables.

Run as a program it writes the page from the docstrings, so that the page reads well on a code
host, in an editor and on the site. A test compares the page with what this module renders.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import projected_kmeans

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"

INTRODUCTION = """\
# Python

Everything that you import comes from `projected_kmeans`. The baselines of the paper's experiments
come from `projected_kmeans.paper`. This page is generated from the docstrings.
"""

# Sections of the page and the public names in each.
SECTIONS = {
    "The estimator": ("ProjectedKMeans",),
    "The paper's algorithm": ("random_projection_kmeans", "Algorithm1Result"),
    "Before a fit": (
        "plan_fit",
        "Plan",
        "choose_n_clusters",
        "ClusterCounts",
        "target_dimension",
    ),
    "During a fit": ("FitState",),
    "After a fit": (
        "Representatives",
        "ClusterDescription",
        "certify",
        "Certificate",
        "kmeans_lower_bound",
        "LowerBound",
        "inertia",
        "normalized_inertia",
        "clustering_accuracy",
        "compare_clusterings",
        "ClusteringComparison",
        "indicator_matrix",
        "save_model",
        "load_model",
    ),
    "Maps to few dimensions": (
        "SignProjection",
        "SparseSignProjection",
        "HadamardProjection",
        "GaussianProjection",
        "SpectralProjection",
        "ColumnSampling",
    ),
    "Files": ("open_rows", "as_row_source", "read_ahead"),
}

# Public names that another entry explains.
EXPLAINED_ELSEWHERE = {"RULES": "target_dimension"}

# Methods of every scikit-learn estimator, which scikit-learn documents.
INHERITED = ("get_params", "set_params", "set_output", "get_metadata_routing")

TABLES = ("Parameters", "Attributes", "Returns", "Raises")
ENTRY = re.compile(r"^(?P<names>[\w*, ]+?)(?: : (?P<kind>.+))?$")


class Entry(NamedTuple):
    """One line of a table: what is described, its type and the text."""

    names: str
    kind: str
    text: str


def render_page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        parts += [render_object(name, getattr(projected_kmeans, name)) for name in names]
    return "\n".join(parts)


def render_object(name: str, thing: Any, level: int = 3) -> str:
    """Return the part of the page on one class or function."""
    sections = split_docstring(inspect.getdoc(thing) or "")
    lines = ["#" * level + f" {name}", "", "```", show_signature(name, thing), "```", ""]
    lines += [to_markdown(sections.pop("")), ""]
    for title in TABLES:
        if title in sections:
            lines += [f"**{title}**", "", *render_table(sections[title]), ""]
    if "Notes" in sections:
        lines += ["**Notes**", "", to_markdown(sections["Notes"]), ""]
    if "Examples" in sections:
        lines += [
            "**Example**",
            "",
            "```python",
            complete_example(sections["Examples"]),
            "",
            "```",
            "",
        ]
    if inspect.isclass(thing):
        for method, function in list_methods(thing):
            lines.append(render_object(f"{name}.{method}", function, level + 1))
    return "\n".join(lines)


def complete_example(text: str) -> str:
    """Return an example with the imports that its module makes for it."""
    names = [name for name in projected_kmeans.__all__ if re.search(rf"\b{name}\b", text)]
    missing = [name for name in names if not re.search(rf"import .*\b{name}\b", text)]
    lines = [f">>> from projected_kmeans import {', '.join(missing)}"] if missing else []
    if "np." in text and "import numpy" not in text:
        lines.insert(0, ">>> import numpy as np")
    return "\n".join([*lines, text.strip()])


def list_methods(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the public methods that this package defines, with their docstrings."""
    for name, value in inspect.getmembers(kind):
        owner = getattr(value, "__module__", None) or ""
        if name.startswith("_") or name in INHERITED or not callable(value):
            continue
        if owner.startswith("projected_kmeans"):
            yield name, value


def show_signature(name: str, thing: Any) -> str:
    """Return a call with all parameters, one a line where one line would be too long."""
    parameters = [
        str(parameter.replace(annotation=parameter.empty))
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name != "self"
    ]
    marks = [p.kind for p in inspect.signature(thing).parameters.values() if p.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in marks and inspect.Parameter.VAR_POSITIONAL not in marks:
        parameters.insert(marks.index(inspect.Parameter.KEYWORD_ONLY), "*")
    line = f"{name}({', '.join(parameters)})"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + ")"


def split_docstring(text: str) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by title; the text before the first under ''."""
    found, title = {"": ""}, ""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", below) and line.strip():
            title = line.strip()
            found[title] = ""
        elif not re.fullmatch(r"-{3,}", line):
            found[title] += line + "\n"
    return {title: body.strip("\n") for title, body in found.items()}


def read_entries(body: str) -> list[Entry]:
    """Return the entries of a section of parameters or attributes."""
    body = body.replace("\\\n", "\n")
    entries: list[list[str]] = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            entries.append([line])
        elif entries:
            continued = len(entries[-1]) == 1 and line.startswith(" " * 8)
            if continued:  # a long type goes on in the next line
                entries[-1][0] += " " + line.strip()
            else:
                entries[-1].append(line)
    found = []
    for head, *rest in entries:
        match = ENTRY.match(head.strip())
        names, kind = (match["names"], match["kind"] or "") if match else ("", head)
        kind = " ".join(kind.split())
        found.append(Entry(names, kind, " ".join(line.strip() for line in rest if line.strip())))
    return found


def render_table(body: str) -> Iterator[str]:
    """Yield the lines of a Markdown table of the entries of a section."""
    yield "| name | type | meaning |"
    yield "| --- | --- | --- |"
    for entry in read_entries(body):
        names = ", ".join(f"`{name.strip()}`" for name in entry.names.split(",") if name.strip())
        cells = (names, to_markdown(entry.kind), to_markdown(entry.text))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def to_markdown(text: str) -> str:
    """Return a text of a docstring with its literals as Markdown writes them."""
    return re.sub(r"``([^`]+)``", r"`\1`", text).strip()


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")

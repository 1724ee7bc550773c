"""The page docs/explanation/reductions.md: when which reduction wins, in words and numbers.

Every number and every verdict comes from the stored document of the experiment "beyond". The
reasons between them are general and hold whatever was measured. Run as a program it writes the
page. A test compares the page with what this module renders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from projected_kmeans.paper.experiments.beyond import (
    list_statements,
    name_chart,
    tabulate_statements,
    total_seconds,
)
from projected_kmeans.paper.reproduction import describe_origin
from projected_kmeans.paper.tables import Table, as_markdown, tabulate

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "explanation" / "reductions.md"
STORED = DOCS / "reproduction" / "beyond.json"


class Section(NamedTuple):
    """A heading, why to expect it, and the names of the statements that test it."""

    title: str
    reason: str
    statements: tuple[str, ...]


OPENING = """# When which reduction wins

The paper compares five ways to cluster face images. Here they are compared on these data:
{names}.
Every reduction keeps t = {dimensions} columns. Then k-means runs on these columns, and the
partition is scored on the original ones. **P** is the share of rows in the right cluster (more is
better), **F~** the inertia over the sum of squares (less is better). All numbers are means over
draws and come from stored results; [the paper reproduced](../reproduction.md) has the full tables.
This page is generated from them by `make docs`.
"""

SECTIONS = (
    Section(
        "Random projections: cheap, and better with more columns",
        """\
A random projection does not look at the data. It is one pass, suits streams and sparse rows, and
has a theorem. But it spreads what matters evenly over all t columns, so that few columns lose much.
Its error falls as 1 / sqrt(t). It is worst where clusters explain little of the variance, as in
texts: there the noise of the projection is larger than the differences between clusters.""",
        ("fastest", "fall", "near", "saving"),
    ),
    Section(
        "Singular vectors: most in few columns",
        """\
Singular vectors are the directions in which the rows vary most, and k-means looks for such
directions. The coordinates should keep their scale (SVD with Sigma). The paper's table has them
without Sigma. Then every direction counts the same, so that the noise in the last ones counts as
much as the first ones, and more columns can make it worse.""",
        ("few", "many", "scale", "sigma"),
    ),
    Section(
        "Scores: they keep columns, not distances",
        """\
The Laplacian score keeps t of the original columns. What the others held is lost. Choose scores if
you need to know *which* columns matter, not for a better clustering.""",
        ("scores",),
    ),
    Section(
        "Embeddings: another question",
        """\
Locally linear embedding keeps neighbourhoods, not distances. Where classes are sheets or curves in
space, it can find them although the inertia gets worse. It computes eigenvectors of an n x n
matrix, so that it is slow and for few rows only.""",
        ("embedding",),
    ),
    Section(
        "What the library does by itself",
        """\
`ProjectedKMeans(n_clusters)` learns singular directions from the rows or a sample of them, clusters
with several starts there, and ends with passes over the original columns.""",
        ("default",),
    ),
)


def render_reductions(document: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    results = document["results"]
    data_sets = results["data"]
    opening = OPENING.format(
        names=", ".join(describe_data(data) for data in data_sets),
        dimensions=", ".join(map(str, results["dimensions"])),
    )
    figures = [
        f"![{data['name']}: F~, P and seconds against t](../figures/{name_chart(data['name'])}.png)"
        for data in data_sets
    ]
    parts = [
        opening.rstrip(),
        describe_origin(document),
        as_markdown(tabulate_winners(data_sets)),
        *(render_section(section, data_sets) for section in SECTIONS),
        "## The figures",
        *figures,
        *list_left_out(data_sets),
    ]
    return "\n\n".join(parts) + "\n"


def describe_data(data: Mapping[str, Any]) -> str:
    """Return the name and the sizes of a data set."""
    sparse = ", sparse" if data["sparse"] else ""
    return f"{data['name']} ({data['n']:,} x {data['d']:,}{sparse}, k = {data['k']})"


def tabulate_winners(data_sets: Sequence[Mapping[str, Any]]) -> Table:
    """Return the best methods on each data set."""
    records = [
        {
            "data": data["name"],
            "F": min(data["points"], key=lambda point: point["F"]),
            "P": max(data["points"], key=lambda point: point["P"]),
            "fastest": min(data["points"], key=total_seconds),
        }
        for data in data_sets
    ]
    columns = (
        ("data", "{data}"),
        ("lowest F~", "{F[method]}, t = {F[t]}: {F[F]:.4f}"),
        ("highest P", "{P[method]}, t = {P[t]}: {P[P]:.4f}"),
        ("fastest, reduction included", show_fastest),
    )
    return tabulate("winners", "Who wins", records, columns)


def show_fastest(record: Mapping[str, Any]) -> str:
    """Return the fastest method of a data set with its seconds."""
    point = record["fastest"]
    return f"{point['method']}, t = {point['t']}: {total_seconds(point):.3f} s"


def render_section(section: Section, data_sets: Sequence[Mapping[str, Any]]) -> str:
    """Return a section: the reason, and the statements that test it."""
    statements = list_statements(section.statements, data_sets)
    verdicts = [record["holds"] for record in statements if record["holds"] is not None]
    title = f"{sum(verdicts)} of {len(verdicts)} hold"
    table = as_markdown(tabulate_statements(title, statements))
    return f"## {section.title}\n\n{section.reason}\n\n{table}"


def list_left_out(data_sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the methods that were left out, if any."""
    lines = [
        f"- {method} on {data['name']}, because {reason}."
        for data in data_sets
        for method, reason in data["left_out"].items()
    ]
    return ["Left out:\n\n" + "\n".join(lines)] if lines else []


if __name__ == "__main__":
    PAGE.write_text(
        render_reductions(json.loads(STORED.read_text(encoding="utf-8"))), encoding="utf-8"
    )

"""The page docs/explanation/reductions.md: when which reduction wins, in words and numbers.

Every number and every verdict comes from the stored document of the experiment "beyond". The
reasons between them are general and hold whatever was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from projected_kmeans.paper.views.beyond import name_chart, show_verdict
from projected_kmeans.paper.views.origins import describe_origin
from projected_kmeans.paper.views.tables import Table, as_markdown
from projected_kmeans.paper.views.view import Document


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


def render_reductions(document: Document) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    document : mapping
        The stored document of the experiment "beyond".
    """
    results = document["results"]
    data_sets = results["data"]
    opening = OPENING.format(
        names=", ".join(_describe(data) for data in data_sets),
        dimensions=", ".join(map(str, results["dimensions"])),
    )
    figures = [
        f"![{data['name']}: F~, P and seconds against t](../figures/{name_chart(data['name'])}.png)"
        for data in data_sets
    ]
    return (
        "\n\n".join(
            [
                opening.rstrip(),
                describe_origin(document),
                as_markdown(_tabulate_winners(data_sets)),
                *(_render_section(section, data_sets) for section in SECTIONS),
                "## The figures",
                *figures,
                *_list_left_out(data_sets),
            ]
        )
        + "\n"
    )


def _describe(data: Mapping[str, Any]) -> str:
    sparse = ", sparse" if data["sparse"] else ""
    return f"{data['name']} ({data['n']:,} x {data['d']:,}{sparse}, k = {data['k']})"


def _tabulate_winners(data_sets: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            data["name"],
            _show_best(data, "F", largest=False),
            _show_best(data, "P", largest=True),
            _show_fastest(data),
        )
        for data in data_sets
    )
    header = ("data", "lowest F~", "highest P", "fastest, reduction included")
    return Table("winners", "Who wins", header, rows)


def _show_best(data: Mapping[str, Any], name: str, *, largest: bool) -> str:
    best = (max if largest else min)(data["points"], key=lambda one: one[name])
    return f"{best['method']}, t = {best['t']}: {best[name]:.4f}"


def _show_fastest(data: Mapping[str, Any]) -> str:
    seconds = {
        (one["method"], one["t"]): one["reduce_seconds"] + one["cluster_seconds"]
        for one in data["points"]
    }
    method, t = min(seconds, key=lambda at: seconds[at])
    return f"{method}, t = {t}: {seconds[method, t]:.3f} s"


def _render_section(section: Section, data_sets: Sequence[Mapping[str, Any]]) -> str:
    rows = tuple(
        (one["statement"], data["name"], one["measured"], show_verdict(one["holds"]))
        for name in section.statements
        for data in data_sets
        for one in data["statements"]
        if one["name"] == name
    )
    judged = [row for row in rows if row[-1] != "-"]
    held = sum(row[-1] == "holds" for row in judged)
    title = f"{held} of {len(judged)} hold"
    table = Table("statements", title, ("statement", "data", "measured", "verdict"), rows)
    return f"## {section.title}\n\n{section.reason}\n\n{as_markdown(table)}"


def _list_left_out(data_sets: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"- {method} on {data['name']}, because {reason}."
        for data in data_sets
        for method, reason in data["left_out"].items()
    ]
    return ["Left out:\n\n" + "\n".join(lines)] if lines else []

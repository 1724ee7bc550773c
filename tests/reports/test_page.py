"""A page is one file, and all its texts stay texts."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.page import MAX_LISTED_CLUSTERS, render_report
from projected_kmeans.reports.values import ClusterFacts, Report
from tests.support.commands import ROWS

EVIL = "<script>alert(1)</script>"


def test_texts_stay_texts() -> None:
    """Names that look like scripts are escaped in the page and in the JSON within it."""
    table = pd.DataFrame(ROWS, columns=[f"{EVIL}{column}" for column in range(12)])
    model = ProjectedKMeans(3, random_state=0).fit(table)
    report = describe_report(
        model, table, name=EVIL, cluster_names=[EVIL] * 3, command=f"fit '{EVIL}'"
    )
    page = render_report(report)
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(1)") >= 5
    assert page.count("</script>") == 3


def test_a_page_needs_nothing_else(report: Report) -> None:
    """The page contains no address to load from, and its policy forbids it to load any."""
    page = render_report(report)
    assert "default-src &#39;none&#39;" in page
    body = page[: page.index('<script type="application/json"')]
    assert not re.search(r"(src|href)=\"(?!#|data:)", body)


def test_all_clusters_are_on_the_page(report: Report) -> None:
    """The largest clusters are rows of the table, and all others are lines of a list."""
    sizes = tuple(range(1, MAX_LISTED_CLUSTERS + 41))
    facts = replace(report.facts, results=replace(report.facts.results, cluster_sizes=sizes))
    clusters = tuple(ClusterFacts(label, rows) for label, rows in enumerate(sizes))
    page = render_report(Report(facts, clusters))
    assert page.count('<td class="text" data-value=') == MAX_LISTED_CLUSTERS
    listed = page[page.index("<pre") : page.index("</pre>")].splitlines()[1:]
    assert listed == [f"{label} {label + 1}" for label in range(40)]


def test_the_page_says_what_a_cluster_is(report: Report) -> None:
    """Summary, nearest row, silhouette, nearest cluster and main label stand in the first table."""
    known = replace(
        report.clusters[0],
        summary="gun, fbi",
        representative_name="post 17",
        silhouette=-0.004,
        nearest=3,
        majority="politics",
        purity=0.75,
    )
    page = render_report(replace(report, clusters=(known, *report.clusters[1:])))
    row = page[page.index("<tbody>") : page.index("</tr>", page.index("<tbody>"))]
    for text in ("gun, fbi", "post 17", ">0.00<", 'fill="#cc79a7"', "politics <small>75%"):
        assert text in row
    assert (
        page.index('id="diagnostics"') < page.index('id="passes"') < page.index('id="dimensions"')
    )


def test_members_are_one_line_each_in_the_order_of_the_table(report: Report) -> None:
    """Each cluster has one folded entry, by its number."""
    page = render_report(report)
    assert re.findall(r'<details class="member" id="m-(\d+)">', page) == [*"01234"]

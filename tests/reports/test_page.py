"""A page is one file, and all its texts stay texts."""

from __future__ import annotations

import re

import pandas as pd

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.values import Report
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

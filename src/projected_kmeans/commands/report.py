"""The command ``report``: what a fit left becomes one HTML page.

Reads, renders and writes by one call each; what the page shows is the library's business.
"""

from __future__ import annotations

from pathlib import Path

import click

from projected_kmeans.reports.build import write_page
from projected_kmeans.reports.files import load_report
from projected_kmeans.reports.page import render_report


@click.command()
@click.argument("result", metavar="RESULT")
@click.option(
    "--out", metavar="FILE", help="The page to write; report.html beside the result if left out."
)
def report(result: str, out: str | None) -> None:
    """Write what a fit found as one HTML page.

    RESULT is the folder that `fit --out` wrote, or a result in JSON. The page shows clusters, a map
    of the rows, typical and outlying members, the way down, time and how to repeat the fit. It
    works offline and needs no other file. What only the rows tell is missing where RESULT is the
    output of `fit --json`.

    \b
    Examples:
      projected-kmeans report model
      projected-kmeans report model --out report.html
    """
    path = Path(result)
    page = render_report(load_report(path))
    folder = path if path.is_dir() else path.parent
    click.echo(f"written to {write_page(page, folder / 'report.html' if out is None else out)}")

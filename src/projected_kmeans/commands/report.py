"""The command ``report``: write the HTML page of a fit that was stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click


@click.command()
@click.argument("result", metavar="RESULT")
@click.option(
    "--out", metavar="FILE", help="Page to write; by default report.html beside the result."
)
@click.option("--name", metavar="TEXT", help="Title of the page; by default the name of the data.")
def report(result: str, out: str | None, name: str | None) -> None:
    """Write the results of a fit as one HTML page.

    RESULT is the folder that `fit --out` wrote, or a file with the output of `fit --json`. The page
    shows the clusters, a map of the rows, typical and outlying rows, the inertia after each
    iteration, the time of each step, and the command that repeats the fit. It works offline and
    needs no other file. The output of `fit --json` holds no rows, so that the map and the typical
    rows are missing in its page.

    \b
    Examples:
      projected-kmeans report model
      projected-kmeans report model --out report.html
    """
    from projected_kmeans.reports.files import load_report
    from projected_kmeans.reports.page import render_report, write_page

    path = Path(result)
    stored = load_report(path)
    if name is not None:
        data = replace(stored.facts.data, name=name)
        stored = replace(stored, facts=replace(stored.facts, data=data))
    page = render_report(stored)
    folder = path if path.is_dir() else path.parent
    click.echo(f"written to {write_page(page, folder / 'report.html' if out is None else out)}")

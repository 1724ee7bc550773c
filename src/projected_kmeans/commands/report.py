"""The command ``report``: write the HTML page of a fit that was stored.

Reads, renders and writes by one call each; `reports` decides what the page shows.
"""

from __future__ import annotations

from typing import Any

import click


@click.command()
@click.argument("result", metavar="RESULT")
@click.option(
    "--out", metavar="FILE", help="Page to write; by default report.html beside the result."
)
@click.option("--name", metavar="TEXT", help="Title of the page; by default the name of the data.")
def report(**options: Any) -> None:
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
    from projected_kmeans.commands.report_job import run_report

    run_report(**options)

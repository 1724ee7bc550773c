"""The command ``serve``: show the report of a fit in a browser on this machine.

Renders the page once and serves it until Ctrl-C; the server is that of `reports`.
"""

from __future__ import annotations

import click

from projected_kmeans.commands.options import port_option
from projected_kmeans.reports.files import load_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.running.interrupts import await_interrupt


@click.command()
@click.argument("result", metavar="RESULT")
@port_option
def serve(result: str, port: int) -> None:
    """Show the report of a fit in a browser, on this machine only.

    RESULT is the folder that `fit --out` wrote, or a file with the output of `fit --json`. The
    printed address holds a secret token, and the server refuses requests without it. Ctrl-C stops
    the server. To watch a fit while it runs, use `fit --serve`.

    \b
    Example:
      projected-kmeans serve model --port 8080
    """
    page = render_report(load_report(result))
    with PageServer(lambda: page, port=port) as server, await_interrupt() as wait:
        click.echo(f"open {server.address} (Ctrl-C ends)")
        wait()

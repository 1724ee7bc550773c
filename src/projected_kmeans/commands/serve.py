"""The command ``serve``: show the report of a fit in a browser on this machine."""

from __future__ import annotations

import click


@click.command()
@click.argument("result", metavar="RESULT")
@click.option("--port", default=0, show_default=True, help="Port to listen on; 0 takes a free one.")
def serve(result: str, port: int) -> None:
    """Show the report of a fit in a browser, on this machine only.

    RESULT is the folder that `fit --out` wrote, or a file with the output of `fit --json`. The
    printed address holds a secret token, and the server refuses requests without it. Ctrl-C stops
    the server. To watch a fit while it runs, use `fit --serve`.

    \b
    Example:
      projected-kmeans serve model --port 8080
    """
    from projected_kmeans.reports.files import load_report
    from projected_kmeans.reports.page import render_report
    from projected_kmeans.reports.page_server import PageServer
    from projected_kmeans.running.interrupts import await_interrupt

    page = render_report(load_report(result))
    with PageServer(lambda: page, port=port) as server, await_interrupt() as wait:
        click.echo(f"open {server.address} (Ctrl-C ends)")
        wait()

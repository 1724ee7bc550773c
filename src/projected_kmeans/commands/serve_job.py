"""What ``serve`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import click

from projected_kmeans.reports.files import load_report
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.running.interrupts import await_interrupt


def run_serve(result: str, port: int) -> None:
    """Show the report of a fit in a browser, on this machine only."""
    page = render_report(load_report(result))
    with PageServer(lambda: page, port=port) as server, await_interrupt() as wait:
        click.echo(f"open {server.address} (Ctrl-C ends)")
        wait()

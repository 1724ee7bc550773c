"""The command ``serve``: show the report of a fit in a browser on this machine.

Renders the page once and serves it until Ctrl-C; the server is that of `reports`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.options import port_option


@click.command()
@click.argument("result", metavar="RESULT")
@port_option
def serve(**options: Any) -> None:
    """Show the report of a fit in a browser, on this machine only.

    RESULT is the folder that `fit --out` wrote, or a file with the output of `fit --json`. The
    printed address holds a secret token, and the server refuses requests without it. Ctrl-C stops
    the server. To watch a fit while it runs, use `fit --serve`.

    \b
    Example:
      projected-kmeans serve model --port 8080
    """
    from projected_kmeans.commands.serve_job import run_serve

    run_serve(**options)

"""What ``report`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from projected_kmeans.reports.files import load_report
from projected_kmeans.reports.page import render_report, write_page


def run_report(result: str, out: str | None, name: str | None) -> None:
    """Write the results of a fit as one HTML page."""
    path = Path(result)
    found = load_report(path)
    if name is not None:
        data = replace(found.facts.data, name=name)
        found = replace(found, facts=replace(found.facts, data=data))
    page = render_report(found)
    folder = path if path.is_dir() else path.parent
    click.echo(f"written to {write_page(page, folder / 'report.html' if out is None else out)}")

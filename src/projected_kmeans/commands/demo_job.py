"""What ``demo`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import click
from rich.console import Console

from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import compare_runs, describe_speed, list_files
from projected_kmeans.demo.comparison import run_demo as compare_systems
from projected_kmeans.demo.comparison import write_demo
from projected_kmeans.optional_packages import install_command
from projected_kmeans.output_files import open_output_folder


def run_demo(n_samples: int, seed: int, out: str, quiet: bool) -> None:
    """Compare with scikit-learn's k-means on built-in data."""
    with open_output_folder(out) as folder:
        with show_progress(quiet=quiet) as callback:
            result = compare_systems(n_samples, seed=seed, callback=callback)
        files = write_demo(result, folder)
    if quiet:
        return
    Console().print(compare_runs(result))
    click.echo(describe_speed(result))
    click.echo(list_files(files))
    page = files[-1]
    click.echo(
        f"report: {page}"
        if page.suffix == ".html"
        else f"report: none, because bokeh is missing; {install_command('report')}"
    )

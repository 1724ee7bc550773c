"""The command ``demo``: cluster built-in data twice and compare the two runs.

Prints the comparison; the package `demo` draws the data, runs and measures.
"""

from __future__ import annotations

import click
from rich.console import Console

from projected_kmeans.commands.command_table import PROGRAM
from projected_kmeans.commands.options import quiet_option, seed_option
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import compare_runs, describe_speed, list_files
from projected_kmeans.demo.comparison import run_demo, write_demo
from projected_kmeans.optional_packages import install_command
from projected_kmeans.output_files import open_output_folder


@click.command()
@click.option("--n-samples", default=10000, show_default=True, help="Number of images to draw.")
@seed_option()
@click.option(
    "--out",
    default=f"{PROGRAM}-demo",
    show_default=True,
    metavar="DIR",
    type=click.Path(),
    help="Folder to write the files to.",
)
@quiet_option
def demo(n_samples: int, seed: int, out: str, quiet: bool) -> None:
    """Compare with scikit-learn's k-means on built-in data.

    The data is drawn by the program: images of 40 characters, 64 x 64 pixels each. They are
    clustered twice, by scikit-learn's KMeans in all 4096 dimensions and by ProjectedKMeans. A table
    shows the seconds of each step, the normalized inertia F~ (smaller is better) and the accuracy P
    (the share of images that are in the cluster of their character). Labels, centers, model,
    result, a picture of the centers and a report to open in a browser are written to a folder.

    \b
    Example, in a few seconds:
      projected-kmeans demo --n-samples 2000 --out demo
    """
    with open_output_folder(out) as folder:
        with show_progress(quiet=quiet) as callback:
            result = run_demo(n_samples, seed=seed, callback=callback)
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

"""The command ``demo``: cluster built-in data twice and compare the two runs.

Prints the comparison; the package `demo` draws the data, runs and measures.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.command_table import PROGRAM
from projected_kmeans.commands.options import quiet_option, seed_option


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
def demo(**options: Any) -> None:
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
    from projected_kmeans.commands.demo_job import run_demo

    run_demo(**options)

"""The command ``compare``: how much two files of labels agree.

Reads both files and prints the comparison, which is that of `passes.scoring`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.options import json_option, quiet_option


@click.command()
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@click.option(
    "--moved",
    metavar="FILE",
    type=click.Path(),
    help="Write the numbers of the rows that moved, from 0, to this .csv file.",
)
@quiet_option
@json_option
def compare(**options: Any) -> None:
    """Compare two clusterings of the same rows.

    A and B are files with the cluster of every row, such as labels.npy of fit --out. Clusters are
    matched one to one, so that their numbers need not mean the same. Printed are the share of rows
    in matched clusters (overlap), the adjusted Rand index, the normalized mutual information, how
    many rows moved, and which cluster became which. Rows with the label -1 are in no cluster.

    \b
    Examples:
      projected-kmeans compare monday/labels.npy tuesday/labels.npy
      projected-kmeans compare old.csv new.csv --moved moved.csv
    """
    from projected_kmeans.commands.compare_job import run_compare

    run_compare(**options)

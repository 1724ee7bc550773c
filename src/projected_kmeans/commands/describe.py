"""The command ``describe``: what each cluster of a stored model is, for the rows of a file.

Prints a table, JSON, or writes a file; the descriptions are those of `estimator`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    memory_option,
    quiet_option,
)
from projected_kmeans.commands.row_options import feature_names_option, side_options


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@data_argument
@feature_names_option
@click.option(
    "--top",
    "n_columns",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Number of columns to list for each cluster, at most.",
)
@click.option(
    "--n-representatives",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of nearest rows to list for each cluster.",
)
@data_options
@side_options
@memory_option
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(),
    help="Write the descriptions to this file, .csv or .json.",
)
@quiet_option
@json_option
def describe(**options: Any) -> None:
    """Tell what each cluster of MODEL is, for the rows of DATA.

    MODEL is the folder that fit --out wrote. For each cluster the table shows its rows, their share
    and spread (the root of the mean squared distance to the center), the columns in which it stands
    out, and the row nearest to its center. A column stands out if it correlates with membership in
    the cluster; of sparse rows, such as texts, only columns above their mean count.

    \b
    Examples:
      projected-kmeans describe model table.csv --id-column name
      projected-kmeans describe model texts.npz --feature-names vocabulary.txt --top 10
      projected-kmeans describe model rows.npy --out clusters.csv
    """
    from projected_kmeans.commands.describe_job import run_describe

    run_describe(**options)

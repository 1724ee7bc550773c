"""The command ``certify``: prove how good the labels of a file are.

Reads rows and labels and prints the certificate; the bounds are those of `certificates`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.choices import PROOF_METHODS
from projected_kmeans.commands.metric_option import metric_option
from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    quiet_option,
    seed_option,
)
from projected_kmeans.commands.row_options import leave_out_option


@click.command()
@data_argument
@click.argument("labels", metavar="LABELS", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(PROOF_METHODS),
    default="auto",
    show_default=True,
    help="Which lower bounds to try; full tries several. semidefinite is often within a percent of "
    "the minimum, in about a second for every 1,000 rows.",
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Stop after this time and keep the best bound so far.",
)
@click.option(
    "--delta",
    default=0.01,
    show_default=True,
    help="Probability, in (0, 1), that a bound from a sample of the rows may be wrong.",
)
@metric_option
@seed_option()
@data_options
@leave_out_option
@click.option(
    "--better-labels",
    metavar="FILE",
    type=click.Path(),
    help="Write a better clustering to this file, if the proof finds one: .npy, .csv or .parquet.",
)
@quiet_option
@json_option
def certify(**options: Any) -> None:
    """Prove how far the clustering LABELS of DATA can be from the best one.

    LABELS is a file with the cluster of every row, such as labels.npy of fit --out. The lower bound
    holds for every clustering into the same number of clusters: none has a smaller inertia. The
    ratio of the inertia of LABELS to this bound says how much could still be gained at most.

    Rows of the cluster -1, which fit has set aside, take no part. Nor do rows with a hole, if
    --on-missing is skip, as it was for the fit.

    All rows are loaded into memory. If they do not fit, give a sample of the rows with its labels.

    \b
    Examples:
      projected-kmeans certify rows.npy model/labels.npy
      projected-kmeans certify faces.mat labels.npy --variable fea --method full
      projected-kmeans certify rows.npy labels.npy --method full --better-labels better.npy
    """
    from projected_kmeans.commands.certify_job import run_certify

    run_certify(**options)

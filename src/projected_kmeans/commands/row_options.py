"""Options about rows and columns: ids, true labels, rows with holes, names, representatives.

Declares flags, and imports nothing that computes, so that help does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from projected_kmeans.choices import ON_MISSING

ids_option = click.option(
    "--ids",
    metavar="FILE",
    type=click.Path(),
    help="Ids of the rows, for data without a column of them: a text file with one id per line, "
    "which may have a header, or a .npy file.",
)

missing_option = click.option(
    "--on-missing",
    type=click.Choice(ON_MISSING),
    help="What to do with rows that have a hole, such as an empty cell: name the first and stop "
    "(error, the default of fit), or label them -1 and leave them out (skip).",
)

# For commands that label no rows.
leave_out_option = click.option(
    "--on-missing",
    type=click.Choice(ON_MISSING),
    default="error",
    show_default=True,
    help="What to do with rows that have a hole, such as an empty cell: name the first and stop, "
    "or leave them out (skip).",
)

feature_names_option = click.option(
    "--feature-names",
    metavar="FILE",
    type=click.Path(),
    help="Names of the columns, such as words: a text file with one name per line, or a .npy or "
    ".npz file of text. Without it, names come from MODEL or DATA.",
)


def side_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name columns of DATA which are not features."""
    for option in (
        click.option(
            "--label-column",
            metavar="NAME",
            help="Column that holds the true labels, to measure the accuracy. It is not clustered.",
        ),
        click.option(
            "--id-column",
            metavar="NAME",
            help="Column that identifies the rows. It is written beside the labels and not "
            "clustered.",
        ),
        ids_option,
        click.option(
            "--folder-labels",
            is_flag=True,
            help="Take the folders inside DATA, in which images lie, as true labels.",
        ),
    ):
        command = option(command)
    return command


def representative_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask for the rows nearest to each center."""
    for option in (
        click.option(
            "--n-representatives",
            metavar="N",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of rows for each center in the file of --representatives.",
        ),
        click.option(
            "--representatives",
            metavar="FILE",
            type=click.Path(),
            help="Write the rows nearest to each center to this .csv file: cluster, rank, row, "
            "distance, and the id if rows have one.",
        ),
    ):
        command = option(command)
    return command

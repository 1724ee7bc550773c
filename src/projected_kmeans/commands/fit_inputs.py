"""Options of ``fit`` beside the rows: weights, first centers, names of columns, rows with holes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from projected_kmeans.commands.feature_name_files import feature_names_option
from projected_kmeans.one_line import first_line
from projected_kmeans.planning.settings import ON_MISSING
from projected_kmeans.solvers.seeding import SEEDINGS
from projected_kmeans.sources.open_rows import read_matrix


def read_init(context: click.Context, parameter: click.Parameter, text: str) -> Any:
    """Return the name of a seeding, or the first centers that a file or a model holds."""
    path = Path(text)
    if text in SEEDINGS:
        return text
    if path.is_dir():
        path = path / "centers.npy"
    if not path.is_file():
        raise click.BadParameter(
            f"{text!r} is neither a file nor one of {', '.join(SEEDINGS)}; give one of them"
        )
    if path.suffix != ".npy":
        return read_matrix(path).rows
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # NumPy's parser raises nearly anything
        raise click.BadParameter(
            f"{path} cannot be read ({first_line(error)}); give an array of centers"
        ) from error


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


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of ``fit`` that say more of its input than how rows are read."""
    for option in (
        missing_option,
        feature_names_option,
        click.option(
            "--init",
            metavar="NAME|FILE",
            default="k-means++",
            show_default=True,
            callback=read_init,
            help=f"First centers: {', '.join(SEEDINGS)}; a file with a center in each row, or a "
            ".npy file with the numbers of rows; or the folder of a model.",
        ),
        click.option(
            "--weight-column",
            metavar="NAME",
            help="Column that holds the weight of each row. It is not clustered.",
        ),
    ):
        command = option(command)
    return command

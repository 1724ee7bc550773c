"""Options of ``fit`` beside the rows: weights, first centers, names of columns, rows with holes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from projected_kmeans.choices import SEEDING_NAMES
from projected_kmeans.commands.row_options import feature_names_option, missing_option
from projected_kmeans.messages import first_line


def read_init(context: click.Context, parameter: click.Parameter, text: str) -> Any:
    """Return the name of a seeding, or the first centers that a file or a model holds."""
    path = Path(text)
    if text in SEEDING_NAMES:
        return text
    if path.is_dir():
        path = path / "centers.npy"
    if not path.is_file():
        raise click.BadParameter(
            f"{text!r} is neither a file nor one of {', '.join(SEEDING_NAMES)}; give one of them"
        )
    if path.suffix != ".npy":
        from projected_kmeans.sources.open_rows import read_matrix

        return read_matrix(path).rows
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:  # NumPy's parser raises nearly anything
        raise click.BadParameter(
            f"{path} cannot be read ({first_line(error)}); give an array of centers"
        ) from error


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
            help=f"First centers: {', '.join(SEEDING_NAMES)}; a file with a center in each row, or "
            "a .npy file with the numbers of rows; or the folder of a model.",
        ),
        click.option(
            "--weight-column",
            metavar="NAME",
            help="Column that holds the weight of each row. It is not clustered.",
        ),
    ):
        command = option(command)
    return command

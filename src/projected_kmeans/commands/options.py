"""Options that several commands take or that ``fit`` groups, and the parsing of their values.

Imports nothing that computes, so that help does not wait for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from projected_kmeans.choices import (
    CERTIFICATES,
    FORMAT_NAMES,
    METRICS,
    ON_MISSING,
    SEEDING_NAMES,
)
from projected_kmeans.messages import first_line

# A decorator that adds an option, or several, to a command.
Options = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Options) -> Options:
    """Return one decorator for several options, which help lists in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def count_or_auto(text: str) -> int | str:
    """Return a whole number, or "auto" unchanged."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a whole number; give one of them"
        ) from None


def size_or_equal(text: str) -> float | str:
    """Return a size of clusters, or the word "equal" unchanged."""
    try:
        return text if text == "equal" else float(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'equal' nor a number; give one of them"
        ) from None


def ratio_or_percent(text: str) -> float:
    """Return a ratio of at least 1, given as such ("1.01") or as what exceeds 1 ("1 %")."""
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    ratio = 1 + value / 100 if is_percent else value
    if not 1 <= ratio < math.inf:
        raise click.BadParameter(
            f"{text!r} is no guarantee; give a percentage, such as '1 %', or a ratio of at least 1"
        )
    return ratio


def none_as_none(context: click.Context, parameter: click.Parameter, name: str) -> str | None:
    """Return the choice, and None for the word "none"."""
    return None if name == "none" else name


def split_words(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> list[str] | None:
    """Return the words between commas of all texts, or None if the option was not given."""
    return [word.strip() for text in texts for word in text.split(",")] or None


def width_and_height(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Return the two numbers of "64x48", or None if the option was not given."""
    if text is None:
        return None
    size = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    if size is None or not int(size[1]) or not int(size[2]):
        raise click.BadParameter(f"{text!r} is not a size; give width x height, such as 64x64")
    return int(size[1]), int(size[2])


def picture_shape(
    context: click.Context, parameter: click.Parameter, text: str
) -> tuple[int, ...] | str | None:
    """Return the numbers of "64x48" or "64x48x3", None for "none", and "auto" unchanged."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    parts = text.strip().lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) for part in parts):
        raise click.BadParameter(
            f"{text!r} is not a shape; give height x width, such as 64x64, or 64x64x3 in colour"
        )
    return tuple(int(part) for part in parts)


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


# Rows: where they are, and how they are read and compared.

data_argument = click.argument("data", metavar="DATA", type=click.Path())
model_argument = click.argument("model", metavar="MODEL", type=click.Path())
# The parameters of `open_rows` that `data_options` adds to a command.
DATA_CHOICES = ("variable", "format", "columns", "drop", "image_size", "n_features")
data_options = together(
    click.option(
        "--variable", metavar="NAME", help="Which array to read from a file that holds several."
    ),
    click.option(
        "--format",
        type=click.Choice(FORMAT_NAMES),
        help="Format of DATA, if its extension does not say.",
    ),
    click.option(
        "--columns",
        metavar="A,B",
        multiple=True,
        callback=split_words,
        help="Columns of text, Parquet or Arrow to use, by name and in this order; by default all.",
    ),
    click.option(
        "--drop",
        metavar="A,B",
        multiple=True,
        callback=split_words,
        help="Columns to leave out, by name.",
    ),
    click.option(
        "--image-size",
        metavar="WxH",
        callback=width_and_height,
        help="Width and height to which images are resized, such as 64x64.",
    ),
    click.option("--n-features", type=int, metavar="N", help="Number of columns of svmlight rows."),
)
side_options = together(
    click.option(
        "--folder-labels",
        is_flag=True,
        help="Take the folders inside DATA, in which images lie, as true labels.",
    ),
    click.option(
        "--ids",
        metavar="FILE",
        type=click.Path(),
        help="Ids of the rows, for data without a column of them: a text file with one id per "
        "line, which may have a header, or a .npy file.",
    ),
    click.option(
        "--id-column",
        metavar="NAME",
        help="Column that identifies the rows. It is written beside the labels and not clustered.",
    ),
    click.option(
        "--label-column",
        metavar="NAME",
        help="Column that holds the true labels, to measure the accuracy. It is not clustered.",
    ),
)
feature_names_option = click.option(
    "--feature-names",
    metavar="FILE",
    type=click.Path(),
    help="Names of the columns, such as words: a text file with one name per line, or a .npy or "
    ".npz file of text. Without it, names come from MODEL or DATA.",
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
metric_option = click.option(
    "--metric",
    type=click.Choice(METRICS),
    default="euclidean",
    show_default=True,
    help="Compare rows by distance (euclidean), or by direction only (cosine).",
)
memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Maximum memory to allocate, such as 500MB or 2GiB. Data is then read in smaller blocks, "
    "and a large sketch is kept in a temporary file.",
)

# What is computed from them.

AUTO_COUNT: Any = {"type": count_or_auto, "default": "auto", "show_default": True}
clusters_option = click.option(
    "-k", "--clusters", "n_clusters", type=int, required=True, help="Number of clusters."
)
threads_option = click.option(
    "--threads", "n_threads", type=int, help="Number of threads; by default all processors."
)


def seed_option(parameter: str = "seed") -> Options:
    """Return the option ``--seed``, whose value goes to the parameter of this name."""
    return click.option(
        "--seed",
        parameter,
        default=0,
        show_default=True,
        help="Seed of the random numbers; the same seed repeats the result.",
    )


# What is written and printed.

quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print no progress and no summary, only the output that was asked for, and errors.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def label_file_option(name: str) -> Options:
    """Return an option of this name that takes a file to write labels to."""
    return click.option(
        name,
        metavar="FILE",
        type=click.Path(),
        help="Write the labels to this file: .npy, .csv or .parquet. The last two hold the ids "
        "of the rows, too: of --id-column, --ids or image files. A .csv file has the numbers of "
        "rows without ids.",
    )


representative_options = together(
    click.option(
        "--representatives",
        metavar="FILE",
        type=click.Path(),
        help="Write the rows nearest to each center to this .csv file: cluster, rank, row, "
        "distance, and the id if rows have one.",
    ),
    click.option(
        "--n-representatives",
        metavar="N",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of rows for each center in the file of --representatives.",
    ),
    click.option(
        "--spreadsheet-safe",
        is_flag=True,
        help="Put an apostrophe before ids that a spreadsheet takes for a formula, and quote all "
        "ids. By default ids are written as they are.",
    ),
)

# What only ``fit`` takes, beside the parameters that its module declares.

limit_options = together(
    click.option(
        "--min-cluster-size",
        type=float,
        metavar="N",
        help="Smallest number of rows of a cluster; smallest weight if rows have weights.",
    ),
    click.option(
        "--max-cluster-size",
        type=size_or_equal,
        metavar="N|equal",
        help="Largest number of rows of a cluster; largest weight if rows have weights. equal "
        "makes clusters whose numbers of rows differ by at most one.",
    ),
)
proof_options = together(
    click.option(
        "--certificate",
        type=click.Choice(["none", *CERTIFICATES]),
        default="none",
        show_default=True,
        callback=none_as_none,
        help="Prove how far the inertia can be above the minimum. auto takes about 1 ms a row, "
        "full about 15 ms. spectral and semidefinite try one bound only.",
    ),
    click.option(
        "--guarantee",
        metavar="PERCENT|RATIO",
        type=ratio_or_percent,
        help="Prove that no clustering is better by more than this, such as '1 %' (or 1.01): "
        "cluster and prove in turn until it is so, the time is over or nothing gains any more.",
    ),
)
weight_option = click.option(
    "--weight-column",
    metavar="NAME",
    help="Column that holds the weight of each row. It is not clustered.",
)
input_options = together(
    weight_option,
    click.option(
        "--init",
        metavar="NAME|FILE",
        default="k-means++",
        show_default=True,
        callback=read_init,
        help=f"First centers: {', '.join(SEEDING_NAMES)}; a file with a center in each row, or "
        "a .npy file with the numbers of rows; or the folder of a model.",
    ),
    feature_names_option,
    missing_option,
)
# The parameters of `open_client`.
cluster_options = together(
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Compute on the workers of this Dask scheduler. They must be able to read DATA.",
    ),
    click.option(
        "--dask-workers",
        "n_workers",
        type=int,
        metavar="N",
        help="Start this many Dask workers on this machine and compute on them.",
    ),
    click.option(
        "--tls-ca",
        metavar="FILE",
        help="Certificate authority that the scheduler and the workers must be signed by.",
    ),
    click.option(
        "--tls-cert",
        metavar="FILE",
        help="Certificate that this program shows to a scheduler at a tls:// address.",
    ),
    click.option(
        "--tls-key",
        metavar="FILE",
        help="Key of the certificate in --tls-cert, if it is in a file of its own.",
    ),
)
report_options = together(
    click.option(
        "--name", metavar="TEXT", help="Title of the report; by default the name of DATA."
    ),
    click.option("--report", metavar="FILE", help="Write the report of the fit as one HTML page."),
    click.option(
        "--serve",
        type=int,
        metavar="[PORT]",
        is_flag=False,
        flag_value=0,
        help="Show the fit live in a browser on this machine, then its report until Ctrl-C. "
        "Takes a free port if none is named.",
    ),
    click.option(
        "--image-shape",
        metavar="HxW[x3]|auto|none",
        default="auto",
        show_default=True,
        callback=picture_shape,
        help="Height and width of rows that are images, to show them in the report.",
    ),
)

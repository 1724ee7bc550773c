"""Options that several commands take, and the parsing of their values.

Declares flags; what a command does with their values is its own business.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from projected_kmeans.choices import FORMAT_NAMES


def count_or_auto(text: str) -> int | str:
    """Return a whole number, or "auto" unchanged."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a whole number; give one of them"
        ) from None


def share_or_auto(text: str) -> float | str:
    """Return a number, or "auto" unchanged."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a number; give one of them"
        ) from None


def count_or_all(text: str) -> int | str | None:
    """Return a whole number, "auto" unchanged, or None for "all"."""
    return None if text == "all" else count_or_auto(text)


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
    found = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    if found is None or not int(found[1]) or not int(found[2]):
        raise click.BadParameter(f"{text!r} is not a size; give width x height, such as 64x64")
    return int(found[1]), int(found[2])


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


data_argument = click.argument("data", metavar="DATA", type=click.Path())
AUTO_COUNT: Any = {"type": count_or_auto, "default": "auto", "show_default": True}
clusters_option = click.option(
    "-k", "--clusters", "n_clusters", type=int, required=True, help="Number of clusters."
)
threads_option = click.option(
    "--threads", "n_threads", type=int, help="Number of threads; by default all processors."
)
variable_option = click.option(
    "--variable", metavar="NAME", help="Which array to read from a file that holds several."
)
format_option = click.option(
    "--format",
    type=click.Choice(FORMAT_NAMES),
    help="Format of DATA, if its extension does not say.",
)
columns_option = click.option(
    "--columns",
    metavar="A,B",
    multiple=True,
    callback=split_words,
    help="Columns of text, Parquet or Arrow to use, by name and in this order; by default all.",
)
drop_option = click.option(
    "--drop",
    metavar="A,B",
    multiple=True,
    callback=split_words,
    help="Columns to leave out, by name.",
)
image_size_option = click.option(
    "--image-size",
    metavar="WxH",
    callback=width_and_height,
    help="Width and height to which images are resized, such as 64x64.",
)
features_option = click.option(
    "--n-features", type=int, metavar="N", help="Number of columns of svmlight rows."
)


def seed_option(parameter: str = "seed") -> Callable[..., Any]:
    """Return the option ``--seed``, whose value goes to the parameter of this name."""
    return click.option(
        "--seed",
        parameter,
        default=0,
        show_default=True,
        help="Seed of the random numbers; the same seed repeats the result.",
    )


def label_file_option(name: str) -> Callable[..., Any]:
    """Return an option of this name that takes a file to write labels to."""
    return click.option(
        name,
        metavar="FILE",
        type=click.Path(),
        help="Write the labels to this file: .npy, .csv or .parquet. The last two hold the ids "
        "of the rows, too: of --id-column, --ids or image files. A .csv file has the numbers of "
        "rows without ids.",
    )


spreadsheet_option = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="Put an apostrophe before ids that a spreadsheet takes for a formula, and quote all ids. "
    "By default ids are written as they are.",
)

# The parameters of `open_rows` that `data_options` adds to a command.
DATA_CHOICES = ("variable", "format", "columns", "drop", "image_size", "n_features")


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how DATA is read: the parameters of `open_rows`."""
    for option in (
        features_option,
        image_size_option,
        drop_option,
        columns_option,
        format_option,
        variable_option,
    ):
        command = option(command)
    return command


memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Maximum memory to allocate, such as 500MB or 2GiB. Data is then read in smaller blocks, "
    "and a large sketch is kept in a temporary file.",
)
quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print no progress and no summary, only the output that was asked for, and errors.",
)
checkpoint_option = click.option(
    "--checkpoint",
    metavar="DIR",
    help="Save the state of the fit in this folder. If the fit is killed, the same command "
    "continues from there.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Compute on the workers of this Dask scheduler. They must be able to read DATA.",
)
workers_option = click.option(
    "--dask-workers",
    "n_workers",
    type=int,
    metavar="N",
    help="Start this many Dask workers on this machine and compute on them.",
)


tls_options = (
    click.option(
        "--tls-key",
        metavar="FILE",
        help="Key of the certificate in --tls-cert, if it is in a file of its own.",
    ),
    click.option(
        "--tls-cert",
        metavar="FILE",
        help="Certificate that this program shows to a scheduler at a tls:// address.",
    ),
    click.option(
        "--tls-ca",
        metavar="FILE",
        help="Certificate authority that the scheduler and the workers must be signed by.",
    ),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose Dask workers: the parameters of `open_client`."""
    for option in (*tls_options, workers_option, scheduler_option):
        command = option(command)
    return command


port_option = click.option(
    "--port", default=0, show_default=True, help="Port to listen on; 0 takes a free one."
)


name_option = click.option(
    "--name", metavar="TEXT", help="Title of the report; by default the name of DATA."
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the live page and the report of a fit."""
    for option in (
        click.option(
            "--image-shape",
            metavar="HxW[x3]|auto|none",
            default="auto",
            show_default=True,
            callback=picture_shape,
            help="Height and width of rows that are images, to show them in the report.",
        ),
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
            "--report", metavar="FILE", help="Write the report of the fit as one HTML page."
        ),
        name_option,
    ):
        command = option(command)
    return command

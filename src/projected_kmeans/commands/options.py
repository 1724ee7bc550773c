"""Options that several commands share, and how their words are read.

Knows flags; it does not know what any command does with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from projected_kmeans.sources.format_table import FORMATS
from projected_kmeans.sources.side_columns import SideColumn, leave_out, open_side_column


def count_or_auto(text: str) -> int | str:
    """Return a whole number, or "auto" itself."""
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a whole number; give one of them"
        ) from None


def share_or_auto(text: str) -> float | str:
    """Return a number, or "auto" itself."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a number; give one of them"
        ) from None


def count_or_all(text: str) -> int | str | None:
    """Return a whole number, "auto" itself, or None for "all"."""
    return None if text == "all" else count_or_auto(text)


def none_as_none(context: click.Context, parameter: click.Parameter, name: str) -> str | None:
    """Return the choice, and None for the word "none"."""
    return None if name == "none" else name


def words(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    """Return the words between commas; None where nothing was given."""
    return None if text is None else [word.strip() for word in text.split(",")]


def width_and_height(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Return the numbers of "64x48"; None where nothing was given."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)x(\d+)", text.strip().lower())
    if found is None or not int(found[1]) or not int(found[2]):
        raise click.BadParameter(f"{text!r} is not a size; give width x height, such as 64x64")
    return int(found[1]), int(found[2])


def picture_shape(
    context: click.Context, parameter: click.Parameter, text: str
) -> tuple[int, ...] | str | None:
    """Return height, width and, if any, 3 of "64x48x3"; None for "none", "auto" itself."""
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
variable_option = click.option(
    "--variable", metavar="NAME", help="Which array of a file that holds several."
)
format_option = click.option(
    "--format",
    type=click.Choice([extension[1:] for extension in FORMATS]),
    help="The format of DATA, where its extension does not tell.",
)
columns_option = click.option(
    "--columns",
    metavar="A,B",
    callback=words,
    help="Which named columns of text, Parquet or Arrow, in this order; else all.",
)
drop_option = click.option(
    "--drop", metavar="A,B", callback=words, help="Which named columns to leave out."
)
image_size_option = click.option(
    "--image-size",
    metavar="WxH",
    callback=width_and_height,
    help="Width and height to which images are resized, such as 64x64.",
)
features_option = click.option(
    "--n-features", type=int, metavar="N", help="How many columns svmlight rows have."
)


# What `open_rows` is told, by the names of its parameters.
DATA_CHOICES = ("variable", "format", "columns", "drop", "image_size", "n_features")


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what tells how DATA is read: the choices of `open_rows`."""
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


def side_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what names the columns of DATA that are no features."""
    for option in (
        click.option(
            "--label-column",
            metavar="NAME",
            help="Which named column has the true labels, for the accuracy; it is no feature.",
        ),
        click.option(
            "--id-column",
            metavar="NAME",
            help="Which named column tells rows apart; written beside the labels, no feature.",
        ),
    ):
        command = option(command)
    return command


def take_choices(
    data: str, options: dict[str, Any]
) -> tuple[dict[str, Any], SideColumn | None, SideColumn | None]:
    """Take from the options what tells how DATA is read.

    Returns
    -------
    choice : dict
        For `open_rows`; columns of ids and labels are left out of the features.
    ids, labels : SideColumn or None
        Where they stand.
    """
    choice = {name: options.pop(name) for name in DATA_CHOICES}
    names = [options.pop("id_column"), options.pop("label_column")]
    ids, labels = (
        None if name is None else open_side_column(data, name, choice["format"]) for name in names
    )
    return leave_out(choice, [name for name in names if name is not None]), ids, labels


memory_option = click.option(
    "--memory-limit",
    metavar="SIZE",
    help="Allocate no more than this, such as 500MB or 2GiB: smaller blocks, a sketch in a file.",
)
quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="No progress and no summary: print only what is asked for, and errors.",
)
checkpoint_option = click.option(
    "--checkpoint",
    metavar="DIR",
    help="Store there where the fit stands; the same command goes on from there if it was killed.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler read DATA, which they must see, and work on it.",
)
workers_option = click.option(
    "--dask-workers",
    "n_workers",
    type=int,
    metavar="N",
    help="Start so many Dask workers on this machine for the time of the fit.",
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what tells who works on DATA: the parameters of `open_client`."""
    return scheduler_option(workers_option(command))


port_option = click.option(
    "--port", default=0, show_default=True, help="Where to listen; 0 takes a port that is free."
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what shows a fit: its page while it runs, its report, and how rows look there."""
    for option in (
        click.option(
            "--image-shape",
            metavar="HxW[x3]|auto|none",
            default="auto",
            show_default=True,
            callback=picture_shape,
            help="Height and width of rows that are pictures, for the report.",
        ),
        click.option(
            "--serve",
            type=int,
            metavar="[PORT]",
            is_flag=False,
            flag_value=0,
            help="Show the fit live in a browser, on this machine only, then its report till "
            "Ctrl-C; a free port if none is named.",
        ),
        click.option(
            "--report", metavar="FILE", help="Write the report of the fit, one HTML page."
        ),
    ):
        command = option(command)
    return command

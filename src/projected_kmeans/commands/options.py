"""Options that several commands share, and how their words are read.

Knows flags; it does not know what any command does with them.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.files import FORMATS


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


AUTO_COUNT: Any = {"type": count_or_auto, "default": "auto", "show_default": True}
variable_option = click.option(
    "--variable", metavar="NAME", help="Which array of a .npz or .mat file."
)
format_option = click.option(
    "--format",
    type=click.Choice([extension[1:] for extension in FORMATS]),
    help="The format of DATA, where its extension does not tell.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")

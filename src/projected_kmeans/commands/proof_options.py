"""Options of ``fit`` that ask for a proof, and the parsing of their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

from projected_kmeans.choices import CERTIFICATES
from projected_kmeans.commands.options import none_as_none


def proof_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask for a certificate or a guarantee."""
    for option in (
        click.option(
            "--guarantee",
            metavar="PERCENT|RATIO",
            type=ratio_or_percent,
            help="Prove that no clustering is better by more than this, such as '1 %' (or 1.01): "
            "cluster and prove in turn until it is so, the time is over or nothing gains any more.",
        ),
        click.option(
            "--certificate-time",
            type=float,
            metavar="SECONDS",
            help="Maximum time for the certificate; the best bound by then is kept.",
        ),
        click.option(
            "--certificate",
            type=click.Choice(["none", *CERTIFICATES]),
            default="none",
            show_default=True,
            callback=none_as_none,
            help="Prove how far the inertia can be above the minimum. auto takes about 1 ms a row, "
            "full about 15 ms. spectral and semidefinite try one bound only.",
        ),
    ):
        command = option(command)
    return command


def ratio_or_percent(text: str) -> float:
    """Return a ratio of at least 1, given as such ("1.01") or as what exceeds 1 ("1 %").

    Examples
    --------
    >>> ratio_or_percent("1.05"), ratio_or_percent("5%"), ratio_or_percent("0 %")
    (1.05, 1.05, 1.0)
    """
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

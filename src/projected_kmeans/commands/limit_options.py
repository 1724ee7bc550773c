"""Options of ``fit`` that limit the sizes of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how small and how large clusters may be."""
    for option in (
        click.option(
            "--balanced",
            is_flag=True,
            help="Make clusters of equal size: their numbers of rows differ by at most one.",
        ),
        click.option(
            "--max-cluster-size",
            type=float,
            metavar="N",
            help="Largest number of rows of a cluster; largest weight if rows have weights.",
        ),
        click.option(
            "--min-cluster-size",
            type=float,
            metavar="N",
            help="Smallest number of rows of a cluster; smallest weight if rows have weights.",
        ),
    ):
        command = option(command)
    return command

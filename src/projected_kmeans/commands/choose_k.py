"""The command ``choose-k``: compare numbers of clusters, as a table, as JSON or in a file.

Reads a range and shows the scores; clustering and judging are those of `choosing_k`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.metric_option import metric_option
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    data_argument,
    data_options,
    json_option,
    quiet_option,
    seed_option,
    threads_option,
)
from projected_kmeans.commands.row_options import leave_out_option


def read_range(text: str) -> range:
    """Return the range that "LO:HI" or "LO:HI:STEP" names, both ends included."""
    try:
        low, high, step = [*map(int, text.split(":")), 1][:3]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a range; give LO:HI or LO:HI:STEP") from None
    if text.count(":") > 2 or not 2 <= low <= high or step < 1:
        raise click.BadParameter(
            f"{text!r} holds no numbers of clusters; give LO:HI or LO:HI:STEP with 2 <= LO <= HI"
        )
    return range(low, high + 1, step)


@click.command()
@data_argument
@click.option(
    "--range",
    "counts",
    metavar="LO:HI[:STEP]",
    type=read_range,
    default="2:30",
    show_default=True,
    help="Numbers of clusters to compare, both ends included.",
)
@click.option(
    "--components",
    "n_components",
    metavar="T|auto",
    **AUTO_COUNT,
    help="Number of principal directions to reduce the rows to; auto is 64.",
)
@click.option(
    "--prove/--no-prove",
    default=True,
    show_default=True,
    help="Prove between which values the best possible inertia lies, if this takes seconds.",
)
@metric_option
@seed_option()
@threads_option
@data_options
@leave_out_option
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(),
    help="Write the scores to this file, .json or .csv.",
)
@click.option("--all", "show_all", is_flag=True, help="List all numbers, not only ten.")
@quiet_option
@json_option
def choose_k(**options: Any) -> None:
    """Compare numbers of clusters for the rows of DATA.

    The rows are reduced once, to a sketch, and clustered there into every number of clusters of the
    range. A sentence says which number is suggested and how clear that is, or that no number stands
    out. The table below it lists ten numbers around that one (--all lists all): the inertia in the
    sketch; its share of the inertia of a single cluster; a lower bound on the inertia of any
    clustering; the silhouette; and the gap statistic, which compares with random rows, with its
    error.

    For up to 1,000 rows, fewer if the range is long, the best possible inertia of the rows
    themselves is proven to lie in an interval, which the table shows instead of the lower bound.
    --no-prove leaves this out, which saves some seconds.

    Data that is large for the memory is read block by block. The sketch stays in memory: 256 bytes
    for each row of float32.

    \b
    Examples:
      projected-kmeans choose-k rows.npy
      projected-kmeans choose-k rows.npy --range 10:100:5 --out curves.csv
    """
    from projected_kmeans.commands.choose_k_job import run_choose_k

    run_choose_k(**options)

"""The command ``choose-k``: compare numbers of clusters, as a table, as JSON or in a file.

Reads a range and shows the scores; clustering and judging are those of `choosing_k`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from projected_kmeans.choosing_k.choose_n_clusters import choose_n_clusters
from projected_kmeans.choosing_k.cluster_counts import SHOWN_COUNTS
from projected_kmeans.commands.data import open_data, unwrap
from projected_kmeans.commands.fit_inputs import leave_out_option
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
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import draw_table, print_table
from projected_kmeans.output_files import open_output_folder, write_atomically, write_json


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
def choose_k(
    data: str,
    counts: range,
    n_components: int | str,
    prove: bool,
    metric: str,
    seed: int,
    n_threads: int | None,
    on_missing: str,
    out: str | None,
    show_all: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
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
    with nullcontext() if out is None else open_output_folder(_check_file(out).parent):
        options["on_missing"] = on_missing
        with open_data(data, **options) as rows, show_progress(quiet=quiet) as callback:
            choice = choose_n_clusters(
                unwrap(rows),
                counts,
                n_components=n_components,
                prove=prove,
                metric=metric,
                on_missing=on_missing,
                random_state=seed,
                n_threads=n_threads,
                callback=callback,
            )
        document = {"data": Path(data).name, **choice.to_document()}
        if out is not None:
            _write_scores(Path(out), document)
    if as_json:
        click.echo(json.dumps(document))
    elif not (quiet and out is not None):  # without a file, the table is the requested output
        click.echo(choice.describe())
        if choice.describe_proof():
            click.echo(choice.describe_proof())
        print_table(draw_table(choice.tabulate(None if show_all else SHOWN_COUNTS), "<-"))
        if not show_all and len(choice.n_clusters) > SHOWN_COUNTS:
            click.echo(f"--all lists all {len(choice.n_clusters)} numbers")
        if out is not None:
            click.echo(f"written to {out}")


def _check_file(out: str) -> Path:
    path = Path(out)
    if path.suffix not in (".json", ".csv"):
        raise ValueError(f"{out} has the unknown format {path.suffix!r}; use .json or .csv")
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def _write_scores(path: Path, document: Mapping[str, Any]) -> None:
    if path.suffix == ".json":
        write_json(path, document)
        return
    curves = {name: values for name, values in document.items() if isinstance(values, list)}
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(curves)
    table.writerows(zip(*curves.values(), strict=True))
    write_atomically(path, lambda handle: handle.write(text.getvalue().encode()))

"""The command ``choose-k``: compare numbers of clusters, as a table, as JSON or in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.commands.options import (
    AUTO_COUNT,
    data_argument,
    data_options,
    json_option,
    leave_out_option,
    metric_option,
    quiet_option,
    seed_option,
    threads_option,
)

if TYPE_CHECKING:
    from projected_kmeans.choosing_k.cluster_counts import ClusterCounts


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
    **choice: Any,
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
    from projected_kmeans.choosing_k.choose_n_clusters import choose_n_clusters
    from projected_kmeans.commands.data import open_data, unwrap
    from projected_kmeans.commands.terminal import show_progress
    from projected_kmeans.commands.written_files import open_file_folder

    with open_file_folder(out, (".json", ".csv")):
        with (
            open_data(data, on_missing=on_missing, **choice) as rows,
            show_progress(quiet=quiet) as callback,
        ):
            chosen = choose_n_clusters(
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
        document = {"data": Path(data).name, **chosen.to_document()}
        if out is not None:
            _write_scores(Path(out), document)
    if as_json:
        click.echo(json.dumps(document))
    elif not (quiet and out is not None):  # without a file, the table is the requested output
        _print(chosen, show_all)
        if out is not None:
            click.echo(f"written to {out}")


def _print(chosen: ClusterCounts, show_all: bool) -> None:
    """Print the answer, then the table of the numbers near it or of all."""
    from projected_kmeans.choosing_k.cluster_counts import SHOWN_COUNTS
    from projected_kmeans.commands.terminal import print_results

    click.echo(chosen.describe())
    if chosen.describe_proof():
        click.echo(chosen.describe_proof())
    print_results(chosen.tabulate(None if show_all else SHOWN_COUNTS), "<-")
    if not show_all and len(chosen.n_clusters) > SHOWN_COUNTS:
        click.echo(f"--all lists all {len(chosen.n_clusters)} numbers")


def _write_scores(path: Path, document: dict[str, Any]) -> None:
    from projected_kmeans.commands.written_files import write_csv
    from projected_kmeans.output_files import write_json

    if path.suffix == ".json":
        write_json(path, document)
        return
    curves = {name: values for name, values in document.items() if isinstance(values, list)}
    write_csv(path, [curves, *zip(*curves.values(), strict=True)])

"""The command ``choose-k``: numbers of clusters compared, as a table, JSON or a file of curves.

It does not cluster or judge; it reads a range and shows what the library found.
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
from rich.console import Console

from projected_kmeans.choosing_k.choose_n_clusters import choose_n_clusters
from projected_kmeans.commands.data import open_data, unwrap
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    data_argument,
    data_options,
    json_option,
    quiet_option,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import compare_counts
from projected_kmeans.output_files import open_output_folder, write_atomically, write_json


def read_range(text: str) -> range:
    """Return the numbers of LO:HI or LO:HI:STEP, both ends included."""
    try:
        low, high, step = [*map(int, text.split(":")), 1][:3]
    except ValueError:
        raise click.BadParameter(f"{text!r} is no range; give LO:HI or LO:HI:STEP") from None
    if text.count(":") > 2 or not 2 <= low <= high or step < 1:
        raise click.BadParameter(
            f"{text!r} has no numbers of clusters; give LO:HI or LO:HI:STEP with 2 <= LO <= HI"
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
    help="Which numbers of clusters to compare, both ends included.",
)
@click.option(
    "--components",
    "n_components",
    metavar="T|auto",
    **AUTO_COUNT,
    help="How many principal directions to keep; auto is 64.",
)
@click.option("--seed", default=0, show_default=True, help="Where all randomness starts from.")
@click.option(
    "--threads", "n_threads", type=int, help="How many threads; all processors if left out."
)
@data_options
@click.option(
    "--out", metavar="FILE", type=click.Path(), help="Write the curves there: .json or .csv."
)
@quiet_option
@json_option
def choose_k(
    data: str,
    counts: range,
    n_components: int | str,
    seed: int,
    n_threads: int | None,
    out: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare numbers of clusters for the rows of DATA.

    The rows are reduced once and clustered into every number of clusters of the range. The table
    shows the inertia in the sketch, its share of the inertia of one cluster, a lower bound that no
    clustering can be below, the silhouette, and the gap statistic, which compares with random rows.
    A sentence says which number is suggested and how clear that is, or that there is none.

    What is large is read block by block; the sketch, 256 bytes a row of float32, stays in memory.

    \b
    Examples:
      projected-kmeans choose-k rows.npy
      projected-kmeans choose-k rows.npy --range 10:100:5 --out curves.csv
    """
    with nullcontext() if out is None else open_output_folder(_check_file(out).parent):
        with open_data(data, **options) as rows, show_progress(quiet=quiet) as callback:
            choice = choose_n_clusters(
                unwrap(rows),
                counts,
                n_components=n_components,
                random_state=seed,
                n_threads=n_threads,
                callback=callback,
            )
        document = {"data": Path(data).name, **choice.to_document()}
        if out is not None:
            _write(Path(out), document)
    if as_json:
        click.echo(json.dumps(document))
    elif not (quiet and out is not None):  # without a file, the table is what was asked for
        Console().print(compare_counts(choice))
        click.echo(choice.describe())
        if out is not None:
            click.echo(f"written to {out}")


def _check_file(out: str) -> Path:
    path = Path(out)
    if path.suffix not in (".json", ".csv"):
        raise ValueError(f"{out} has the unknown format {path.suffix!r}; use .json or .csv")
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def _write(path: Path, document: Mapping[str, Any]) -> None:
    if path.suffix == ".json":
        write_json(path, document)
        return
    curves = {name: values for name, values in document.items() if isinstance(values, list)}
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(curves)
    table.writerows(zip(*curves.values(), strict=True))
    write_atomically(path, lambda handle: handle.write(text.getvalue().encode()))

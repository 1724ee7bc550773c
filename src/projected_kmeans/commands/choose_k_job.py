"""What ``choose-k`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from projected_kmeans.choosing_k.choose_n_clusters import choose_n_clusters
from projected_kmeans.choosing_k.cluster_counts import SHOWN_COUNTS
from projected_kmeans.commands.data import open_data, unwrap
from projected_kmeans.commands.named_files import open_file_folder
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import draw_table, print_table
from projected_kmeans.output_files import write_atomically, write_json


def run_choose_k(
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
    """Compare numbers of clusters for the rows of DATA."""
    with open_file_folder(out, (".json", ".csv")):
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

"""The command ``describe``: what each cluster of a stored model is, for the rows of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    feature_names_option,
    json_option,
    memory_option,
    model_argument,
    quiet_option,
    side_options,
    weight_option,
)

if TYPE_CHECKING:
    from rich.table import Table

    from projected_kmeans.estimator.cluster_descriptions import ClusterDescription


@click.command()
@model_argument
@data_argument
@feature_names_option
@click.option(
    "--top",
    "n_columns",
    type=click.IntRange(min=1),
    default=6,
    show_default=True,
    help="Number of columns to list for each cluster, at most.",
)
@click.option(
    "--n-representatives",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of nearest rows to list for each cluster.",
)
@click.option(
    "--clusters",
    metavar="FILE",
    type=click.Path(),
    help="The cluster of each row, such as labels.npy of fit --out, if rows are not to go to their "
    "nearest centers. Rows of the cluster -1 take no part.",
)
@data_options
@side_options
@weight_option
@memory_option
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(),
    help="Write the descriptions to this file, .csv or .json.",
)
@quiet_option
@json_option
def describe(
    model: str,
    data: str,
    feature_names: str | None,
    clusters: str | None,
    memory_limit: str | None,
    out: str | None,
    quiet: bool,
    as_json: bool,
    n_columns: int,
    n_representatives: int,
    **options: Any,
) -> None:
    """Tell what each cluster of MODEL is, for the rows of DATA.

    MODEL is the folder that fit --out wrote. For each cluster the table shows its rows, their share
    and spread (the root of the mean squared distance to the center), the columns in which it stands
    out, and the row nearest to its center. A column stands out if it correlates with membership in
    the cluster; of sparse rows, such as texts, only columns above their mean count.

    The share is that of the weight of all rows in clusters; without --weight-column every row
    counts once. With the data, --weight-column and labels.npy of a fit, the numbers are those of
    its report.

    \b
    Examples:
      projected-kmeans describe model table.csv --id-column name
      projected-kmeans describe model texts.npz --feature-names vocabulary.txt --top 10
      projected-kmeans describe model rows.npy --out clusters.csv
      projected-kmeans describe model table.csv --weight-column visits --clusters model/labels.npy
    """
    from rich.console import Console

    from projected_kmeans.commands import data as inputs
    from projected_kmeans.commands.written_files import open_file_folder
    from projected_kmeans.estimator.cluster_descriptions import describe_model
    from projected_kmeans.estimator.model_files import load_model
    from projected_kmeans.estimator.projected_kmeans import read_fitted_model

    with open_file_folder(out, (".csv", ".json")):
        fitted = read_fitted_model(load_model(model).set_params(memory_limit=memory_limit))
        choices = inputs.take_model_choices(fitted, data, options, quiet=quiet)
        names: Sequence[str] | None = fitted.feature_names
        if feature_names is not None:
            names = inputs.read_feature_names(feature_names, fitted.centers.shape[1])
        with inputs.open_data(data, memory_limit=memory_limit, **choices.rows) as rows:
            ids = choices.find_ids(rows)
            described = describe_model(
                fitted,
                rows,
                feature_names=rows.feature_names if names is None else names,
                ids=None if ids is None else ids.take_ids().take(rows.shape[0]),
                sample_weight=choices.read_weights(),
                labels=clusters and inputs.read_label_file(clusters, rows.shape[0]),
                n_columns=n_columns,
                n_representatives=n_representatives,
            )
        document = {"data": Path(data).name, "clusters": list(map(asdict, described))}
        if out is not None:
            _write(Path(out), document)
    if as_json:
        click.echo(json.dumps(document, default=str))
    elif not quiet:
        Console().print(_tabulate(described))
        if out is not None:
            click.echo(f"{len(described)} clusters written to {out}")


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write descriptions; cells of .csv with several entries are joined by "; "."""
    from projected_kmeans.commands.written_files import write_csv
    from projected_kmeans.output_files import write_json

    if path.suffix == ".json":
        write_json(path, json.loads(json.dumps(document, default=str)))
        return
    lines = [
        ["; ".join(map(str, cell)) if isinstance(cell, tuple) else cell for cell in cells.values()]
        for cells in document["clusters"]
    ]
    write_csv(path, [document["clusters"][0], *lines])


def _tabulate(described: Sequence[ClusterDescription]) -> Table:
    """Return a table of what each cluster is, the largest first."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{len(described)} clusters", show_lines=True)
    for name in ("cluster", "rows", "share", "spread"):
        table.add_column(name, justify="right")
    table.add_column("stands out in (correlation)", overflow="fold")
    table.add_column("nearest rows", overflow="fold")
    for cluster in sorted(described, key=lambda cluster: -cluster.rows):
        pairs = zip(cluster.columns, cluster.correlations, strict=True)
        told = ", ".join(f"{name} {score:+.2f}" for name, score in pairs)
        table.add_row(
            str(cluster.cluster),
            str(cluster.rows),
            f"{cluster.share:.1%}",
            f"{cluster.spread:.4g}",
            escape(told),
            escape("\n".join(map(str, cluster.representatives))),
        )
    return table

"""The command ``plan``: what a fit would do, as a table with its alternatives."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from projected_kmeans.commands.options import (
    DATA_CHOICES,
    clusters_option,
    data_argument,
    data_options,
    json_option,
    leave_out_option,
    memory_option,
    metric_option,
    threads_option,
)


@click.command()
@data_argument
@clusters_option
@click.option(
    "--eps",
    type=float,
    help="Plan for as many dimensions as a theorem needs for this error, in (0, 1).",
)
@metric_option
@threads_option
@click.option(
    "--seed", default=0, show_default=True, help="Seed that fixes which rows are sampled."
)
@click.option(
    "--probe/--no-probe",
    default=True,
    show_default=True,
    help="Whether to measure on a sample how much inertia each alternative loses.",
)
@data_options
@leave_out_option
@memory_option
@json_option
def plan(
    data: str, n_clusters: int, seed: int, probe: bool, as_json: bool, **parameters: Any
) -> None:
    """Show what fit would do with DATA, and its cost in memory.

    The table shows the approach that fit would take, then the alternatives. For each it has the
    memory beyond the data, and how far the inertia is above that without projection, measured on a
    sample of up to 4096 rows.

    Of a large file, and of any file with --memory-limit, only the sample is read. With
    --memory-limit, the memory shown is what counts against the limit.

    \b
    Examples:
      projected-kmeans plan rows.npy -k 40
      projected-kmeans plan rows.npy -k 40 --no-probe --json
      projected-kmeans plan lake.parquet -k 1000 --memory-limit 4GB
    """
    from projected_kmeans.commands.data import open_data, unwrap
    from projected_kmeans.commands.terminal import print_results
    from projected_kmeans.estimator.plan_fit import plan_fit

    choice = {name: parameters.pop(name) for name in DATA_CHOICES}
    choice["on_missing"] = parameters["on_missing"]  # a parameter of the fit, too
    with open_data(data, memory_limit=parameters["memory_limit"], **choice) as rows:
        planned = plan_fit(unwrap(rows), n_clusters, probe=probe, random_state=seed, **parameters)
    if as_json:
        click.echo(json.dumps({"data": Path(data).name, **asdict(planned)}))
    else:
        click.echo(planned.describe())
        print_results(planned.tabulate(), "(chosen)")

"""The command ``plan``: what a fit would do, as a table with its alternatives.

It does not fit, beyond a sample of the rows.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from projected_kmeans.commands.data import open_data, unwrap
from projected_kmeans.commands.options import (
    DATA_CHOICES,
    data_argument,
    data_options,
    json_option,
    memory_option,
)
from projected_kmeans.commands.summaries import compare_options
from projected_kmeans.estimator.plan_fit import plan_fit


@click.command()
@data_argument
@click.option("-k", "--clusters", "n_clusters", type=int, required=True, help="How many clusters.")
@click.option(
    "--eps", type=float, help="Plan for the dimensions that a theorem asks for this error."
)
@click.option(
    "--threads", "n_threads", type=int, help="How many threads; all processors if left out."
)
@click.option("--seed", default=0, show_default=True, help="What fixes the sample.")
@click.option(
    "--probe/--no-probe",
    default=True,
    show_default=True,
    help="Whether to measure on a sample how much inertia each way loses.",
)
@data_options
@memory_option
@json_option
def plan(
    data: str,
    n_clusters: int,
    seed: int,
    probe: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Tell what fit would do with DATA, and what it would cost.

    The table has the way that fit would take first, then the alternatives: seconds on this machine,
    memory beyond the data, and the gap, by how much the inertia was above that without projection
    on a sample of up to 4096 rows. Of a file that is large, or with a limit of memory, only the
    sample is read; with a limit, memory is what counts against it.

    \b
    Examples:
      projected-kmeans plan rows.npy -k 40
      projected-kmeans plan rows.npy -k 40 --no-probe --json
      projected-kmeans plan lake.parquet -k 1000 --memory-limit 4GB
    """
    choice = {name: parameters.pop(name) for name in DATA_CHOICES}
    with open_data(data, memory_limit=parameters["memory_limit"], **choice) as rows:
        found = plan_fit(unwrap(rows), n_clusters, probe=probe, random_state=seed, **parameters)
    if as_json:
        click.echo(json.dumps({"data": Path(data).name, **asdict(found)}))
    else:
        click.echo(found.describe())
        Console().print(compare_options(found))

"""What ``plan`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from projected_kmeans.commands.data import open_data, unwrap
from projected_kmeans.commands.options import DATA_CHOICES
from projected_kmeans.commands.summaries import draw_table, print_table
from projected_kmeans.estimator.plan_fit import plan_fit


def run_plan(
    data: str,
    n_clusters: int,
    seed: int,
    probe: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Show what fit would do with DATA, and its cost in time and memory."""
    choice = {name: parameters.pop(name) for name in DATA_CHOICES}
    choice["on_missing"] = parameters["on_missing"]  # a parameter of the fit, too
    with open_data(data, memory_limit=parameters["memory_limit"], **choice) as rows:
        found = plan_fit(unwrap(rows), n_clusters, probe=probe, random_state=seed, **parameters)
    if as_json:
        click.echo(json.dumps({"data": Path(data).name, **asdict(found)}))
    else:
        click.echo(found.describe())
        print_table(draw_table(found.tabulate(), "(chosen)"))

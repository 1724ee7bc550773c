"""What ``describe`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from projected_kmeans.commands.data import open_data
from projected_kmeans.commands.data_choices import take_choices
from projected_kmeans.commands.feature_name_files import read_feature_names
from projected_kmeans.commands.model_columns import choose_model_columns
from projected_kmeans.commands.named_files import open_file_folder
from projected_kmeans.commands.summaries import list_descriptions
from projected_kmeans.estimator.cluster_descriptions import ClusterDescription, describe_model
from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.estimator.projected_kmeans import read_fitted_model
from projected_kmeans.output_files import write_atomically, write_json


def run_describe(
    model: str,
    data: str,
    feature_names: str | None,
    memory_limit: str | None,
    out: str | None,
    quiet: bool,
    as_json: bool,
    n_columns: int,
    n_representatives: int,
    **options: Any,
) -> None:
    """Tell what each cluster of MODEL is, for the rows of DATA."""
    with open_file_folder(out, (".csv", ".json")):
        fitted = read_fitted_model(load_model(model).set_params(memory_limit=memory_limit))
        choose_model_columns(fitted, data, options, quiet=quiet)
        chosen = take_choices(data, options)
        names: Sequence[str] | None = fitted.feature_names
        if feature_names is not None:
            names = read_feature_names(feature_names, fitted.centers.shape[1])
        chosen.rows["on_missing"] = fitted.settings.on_missing
        with open_data(data, memory_limit=memory_limit, **chosen.rows) as rows:
            ids = chosen.ids.resolve(rows)
            described = describe_model(
                fitted,
                rows,
                feature_names=rows.feature_names if names is None else names,
                ids=None if ids is None else ids.take_ids().take(rows.shape[0]),
                n_columns=n_columns,
                n_representatives=n_representatives,
            )
        document = {"data": Path(data).name, "clusters": [asdict(one) for one in described]}
        if out is not None:
            _write(Path(out), document, described)
    if as_json:
        click.echo(json.dumps(document, default=str))
    elif not quiet:
        Console().print(list_descriptions(described))
        if out is not None:
            click.echo(f"{len(described)} clusters written to {out}")


def _write(path: Path, document: dict[str, Any], described: Sequence[ClusterDescription]) -> None:
    """Write descriptions; cells of .csv with several entries are joined by "; "."""
    if path.suffix == ".json":
        write_json(path, json.loads(json.dumps(document, default=str)))
        return
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(asdict(described[0]))
    for one in described:
        cells = asdict(one).values()
        table.writerow(
            ["; ".join(map(str, cell)) if isinstance(cell, tuple) else cell for cell in cells]
        )
    write_atomically(path, lambda handle: handle.write(text.getvalue().encode()))

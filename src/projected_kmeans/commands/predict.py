"""The command ``predict``: a stored model labels the rows of a file.

It does not load models or write label files by itself.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import click

from projected_kmeans.commands.options import format_option, json_option, variable_option
from projected_kmeans.files import read_matrix
from projected_kmeans.label_files import check_label_file, join_labels, match_names, write_labels
from projected_kmeans.model_files import load_model
from projected_kmeans.output_files import open_output_folder


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="DATA")
@click.option(
    "--out", metavar="FILE", help="Write the labels there: .npy, or .csv with one a line."
)
@variable_option
@format_option
@json_option
def predict(
    model: str,
    data: str,
    out: str | None,
    variable: str | None,
    format: str | None,
    as_json: bool,
) -> None:
    """Label the rows of DATA by the nearest center of MODEL.

    MODEL is the folder that fit wrote with --out. Without --out the labels are printed, one a line.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
    """  # noqa: D301
    with nullcontext() if out is None else open_output_folder(check_label_file(out).parent):
        estimator = load_model(model)
        matrix = read_matrix(data, format=format, variable=variable)
        match_names(estimator, matrix, data)
        labels = estimator.predict(matrix.rows)
        if out is not None:
            write_labels(Path(out), labels)
    if as_json:
        found = {"labels": labels.tolist()} if out is None else {"out": Path(out).name}
        click.echo(json.dumps({"data": Path(data).name, "n_samples": len(labels)} | found))
    else:
        click.echo(join_labels(labels) if out is None else f"{len(labels)} labels written to {out}")

"""The command ``predict``: a stored model labels the rows of a file.

It does not load models or write label files by itself.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from projected_kmeans.commands.options import (
    DATA_CHOICES,
    data_options,
    json_option,
    memory_option,
)
from projected_kmeans.fitted_models import label_input
from projected_kmeans.label_files import check_label_file, join_labels, write_labels
from projected_kmeans.loaded_rows import open_data
from projected_kmeans.model_files import load_model
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.progress import show_progress


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="DATA")
@click.option(
    "--out",
    metavar="FILE",
    help="Write the labels there: .npy, .csv with one a line, or .parquet.",
)
@data_options
@memory_option
@json_option
def predict(
    model: str,
    data: str,
    out: str | None,
    memory_limit: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Label the rows of DATA by the nearest center of MODEL.

    MODEL is the folder that fit wrote with --out. Without --out the labels are printed, one a line.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. What is
    large is read block by block.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
      projected-kmeans predict model lake/ --format parquet --out labels.parquet
    """
    choice = {name: options[name] for name in DATA_CHOICES}
    prints = out is None and not as_json  # labels as they come, between which no display fits
    with nullcontext() if out is None else open_output_folder(check_label_file(out).parent):
        estimator = load_model(model).set_params(memory_limit=memory_limit)
        with (
            open_data(data, memory_limit=memory_limit, **choice) as rows,
            nullcontext() if prints else show_progress() as callback,
        ):
            n_rows, blocks = rows.shape[0], label_input(estimator, rows, callback)
            labels: list[int] = []
            if out is not None:
                write_labels(Path(out), n_rows, blocks)
            elif as_json:
                labels = [label for block in blocks for label in block.labels.tolist()]
            else:
                for block in blocks:
                    click.echo(join_labels(block.labels))
    if as_json:
        found = {"labels": labels} if out is None else {"out": Path(out).name}
        click.echo(json.dumps({"data": Path(data).name, "n_samples": n_rows} | found))
    elif out is not None:
        click.echo(f"{n_rows} labels written to {out}")

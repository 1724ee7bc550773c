"""The command ``predict``: label the rows of a file with a stored model.

Labels are computed, printed and written block by block, so that all rows need not fit in memory.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from projected_kmeans.commands.data import open_data
from projected_kmeans.commands.label_files import format_labels, open_label_folder, write_labels
from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    label_file_option,
    memory_option,
    quiet_option,
    side_options,
    spreadsheet_option,
    take_choices,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.estimator.prediction import label_input
from projected_kmeans.estimator.projected_kmeans import read_fitted_model
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.passes.scoring import clustering_accuracy
from projected_kmeans.sources.side_columns import Ids


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@data_argument
@label_file_option("--out")
@spreadsheet_option
@data_options
@side_options
@memory_option
@quiet_option
@json_option
def predict(
    model: str,
    data: str,
    out: str | None,
    spreadsheet_safe: bool,
    memory_limit: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Label each row of DATA by the nearest center of MODEL.

    MODEL is the folder that fit --out wrote. Without --out the labels are printed, one per line.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. Data
    that is large for the memory is read block by block.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
      projected-kmeans predict model lake/ --format parquet --out labels.parquet
      projected-kmeans predict model table.csv --id-column name --out clusters.csv
    """
    with_ids = options["id_column"] is not None
    with open_label_folder(out, with_ids=with_ids, spreadsheet_safe=spreadsheet_safe):
        choice, id_column, truths = take_choices(data, options)
        ids = None if id_column is None else id_column.take_ids()
        truth = None if truths is None else truths.read_labels()
        estimator = load_model(model).set_params(memory_limit=memory_limit)
        prints = out is None and not as_json  # a live display would mix with the printed labels
        with (
            open_data(data, memory_limit=memory_limit, **choice) as rows,
            show_progress(quiet=quiet or prints) as callback,
        ):
            n_rows, kept = rows.shape[0], list[NDArray[Any]]()
            blocks: Iterable[LabelledBlock] = label_input(
                read_fitted_model(estimator), rows, callback
            )
            if as_json or truth is not None:
                blocks = _keep(blocks, kept)
            if out is not None:
                write_labels(Path(out), n_rows, blocks, ids, spreadsheet_safe=spreadsheet_safe)
            elif as_json:
                deque(blocks, maxlen=0)  # compute all blocks; `_keep` holds their labels
            else:
                for text in format_labels(blocks, ids, spreadsheet_safe=spreadsheet_safe):
                    click.echo(text, nl=False)
    labels = np.concatenate(kept) if kept else None
    accuracy = None if truth is None or labels is None else clustering_accuracy(truth, labels)
    if as_json:
        found: dict[str, Any] = {"data": Path(data).name, "n_samples": n_rows}
        found |= {} if accuracy is None else {"accuracy": accuracy}
        found |= _as_document(labels, ids) if out is None else {"out": Path(out).name}
        click.echo(json.dumps(found, default=str))
    elif not quiet:
        if out is not None:
            click.echo(f"{n_rows} labels written to {out}")
        if accuracy is not None:
            click.echo(f"accuracy P {accuracy:.4f}", err=out is None)


def _keep(blocks: Iterable[LabelledBlock], kept: list[NDArray[Any]]) -> Iterator[LabelledBlock]:
    """Yield the blocks and append the labels of each to a list."""
    for block in blocks:
        kept.append(block.labels)
        yield block


def _as_document(labels: Any, ids: Ids | None) -> dict[str, Any]:
    """Return the labels, and the ids of their rows if there are any, as JSON holds them."""
    found = {"labels": labels.tolist()}
    return found if ids is None else found | {"ids": ids.take(len(labels))}

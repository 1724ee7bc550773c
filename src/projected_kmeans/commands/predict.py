"""The command ``predict``: label the rows of a file with a stored model.

Labels are computed, printed and written block by block, so that all rows need not fit in memory.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    label_file_option,
    memory_option,
    missing_option,
    model_argument,
    quiet_option,
    representative_options,
    side_options,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from projected_kmeans.estimator.fitted_model import FittedModel
    from projected_kmeans.passes.labelling import LabelledBlock
    from projected_kmeans.sources.side_columns import Ids


@click.command()
@model_argument
@data_argument
@label_file_option("--out")
@click.option(
    "--distances",
    is_flag=True,
    help="Write or print the distance of each row to its center beside its label.",
)
@representative_options
@data_options
@side_options
@missing_option
@memory_option
@quiet_option
@json_option
def predict(
    model: str,
    data: str,
    out: str | None,
    distances: bool,
    representatives: str | None,
    n_representatives: int,
    spreadsheet_safe: bool,
    memory_limit: str | None,
    on_missing: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Label each row of DATA by the nearest center of MODEL.

    MODEL is the folder that fit --out wrote. Without --out the labels are printed, one per line,
    after the ids of the rows if they have any, such as the names of image files.
    Columns of DATA with names are found by the names that the model was fitted to, in any order.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. Data
    that is large for the memory is read block by block.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
      projected-kmeans predict model lake/ --format parquet --out labels.parquet
      projected-kmeans predict model table.csv --id-column name --out clusters.csv
      projected-kmeans predict model table.csv --distances --out clusters.csv
      projected-kmeans predict model more.npy --out labels.npy --representatives nearest.csv
      projected-kmeans predict model photos/ --image-size 64x64 --out names.csv
    """
    from projected_kmeans.commands import data as inputs
    from projected_kmeans.commands import written_files as files
    from projected_kmeans.commands.terminal import show_progress
    from projected_kmeans.estimator.cluster_descriptions import Representatives
    from projected_kmeans.estimator.prediction import label_input
    from projected_kmeans.passes.cluster_summaries import no_rows

    style = {"spreadsheet_safe": spreadsheet_safe, "measured": distances}
    with (
        files.open_label_folder(out, with_ids=inputs.has_ids(options), **style),
        files.open_file_folder(representatives, [".csv"]),
    ):
        fitted = _open_model(model, memory_limit, on_missing)
        choices = inputs.take_model_choices(fitted, data, options, quiet=quiet)
        prints = out is None and not as_json  # a live display would mix with the printed labels
        nearest = no_rows(len(fitted.centers), n_representatives)
        with (
            inputs.open_data(data, memory_limit=memory_limit, **choices.rows) as rows,
            show_progress(quiet=quiet or prints) as callback,
        ):
            row_ids, truth = choices.find_ids(rows), choices.read_truth(rows)
            ids = None if row_ids is None else row_ids.take_ids()
            kept, keeps, ranks = list[Any](), as_json or truth is not None, bool(representatives)
            blocks = label_input(fitted, rows, callback, measured=distances or ranks)
            blocks = _keep(blocks, kept if keeps else None, nearest if ranks else None)
            _deliver(blocks, out, rows.shape[0], ids, as_json=as_json, **style)
        if representatives is not None:
            ranked = Representatives.of(nearest)
            files.write_representatives(representatives, ranked, row_ids, spreadsheet_safe)
    document: dict[str, Any] = {"data": Path(data).name, "n_samples": rows.shape[0]}
    document |= {} if truth is None else _measure(kept, truth)
    if as_json:
        document |= {"out": Path(out).name} if out is not None else _list(kept, ids, distances)
        click.echo(json.dumps(document, default=str))
    elif not quiet:
        _print_files(document, out, representatives)


def _open_model(path: str, memory_limit: str | None, on_missing: str | None) -> FittedModel:
    """Return a stored model, which treats holes as it was fitted unless the caller says so."""
    from projected_kmeans.estimator.model_files import load_model
    from projected_kmeans.estimator.projected_kmeans import read_fitted_model

    loaded = load_model(path).set_params(memory_limit=memory_limit)
    return read_fitted_model(loaded.set_params(on_missing=on_missing or loaded.on_missing))


def _keep(
    blocks: Iterable[LabelledBlock], kept: list[LabelledBlock] | None, lists: NDArray[Any] | None
) -> Iterator[LabelledBlock]:
    """Yield the blocks; append each to a list, and rank its rows, if asked for."""
    from projected_kmeans.estimator.cluster_descriptions import rank_block

    for block in blocks:
        if kept is not None:
            kept.append(block)
        if lists is not None:
            rank_block(lists, block)
        yield block


def _deliver(
    blocks: Iterable[LabelledBlock],
    out: str | None,
    n_rows: int,
    ids: Ids | None,
    *,
    as_json: bool,
    **style: bool,
) -> None:
    """Write the labels to a file or print them, block by block; for JSON only compute them."""
    from projected_kmeans.commands.written_files import format_labels, write_labels

    if out is not None:
        write_labels(Path(out), n_rows, blocks, ids, **style)
    elif as_json:
        deque(blocks, maxlen=0)  # `_keep` holds the labels
    else:
        for text in format_labels(blocks, ids, **style):
            click.echo(text, nl=False)


def _measure(kept: list[LabelledBlock], truth: NDArray[Any]) -> dict[str, Any]:
    import numpy as np

    from projected_kmeans.passes.scoring import clustering_accuracy

    labels = np.concatenate([block.labels for block in kept])
    return {"accuracy": clustering_accuracy(truth, labels)}


def _list(kept: list[LabelledBlock], ids: Ids | None, measured: bool) -> dict[str, Any]:
    """Return labels, and distances and ids of rows if there are any, as JSON holds them."""
    labels = [label for block in kept for label in block.labels.tolist()]
    listed: dict[str, Any] = {"labels": labels}
    if measured:
        parts = (block.distances for block in kept if block.distances is not None)
        listed["distances"] = [distance for part in parts for distance in part.tolist()]
    return listed if ids is None else listed | {"ids": ids.take(len(labels))}


def _print_files(document: dict[str, Any], out: str | None, representatives: str | None) -> None:
    """Print where files are, and the accuracy; not among labels that are printed."""
    if out is not None:
        click.echo(f"{document['n_samples']} labels written to {out}")
    if representatives is not None:
        click.echo(f"representatives written to {representatives}", err=out is None)
    if "accuracy" in document:
        click.echo(f"accuracy P {document['accuracy']:.4f}", err=out is None)

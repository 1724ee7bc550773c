"""What ``predict`` does. Loaded when the command runs, so that its help need not wait."""

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
from projected_kmeans.commands.data_choices import has_ids, take_choices
from projected_kmeans.commands.label_files import format_labels, open_label_folder, write_labels
from projected_kmeans.commands.model_columns import choose_model_columns
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.representative_files import (
    open_representative_folder,
    write_representatives,
)
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.model_files import load_model
from projected_kmeans.estimator.prediction import label_input
from projected_kmeans.estimator.projected_kmeans import read_fitted_model
from projected_kmeans.estimator.representatives import Representatives, rank_block
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.passes.ranked_rows import no_rows
from projected_kmeans.passes.scoring import clustering_accuracy
from projected_kmeans.sources.side_columns import Ids


def run_predict(
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
    """Label each row of DATA by the nearest center of MODEL."""
    with (
        open_label_folder(
            out, with_ids=has_ids(options), spreadsheet_safe=spreadsheet_safe, measured=distances
        ),
        open_representative_folder(representatives),
    ):
        fitted = _open_model(model, memory_limit, on_missing)
        choose_model_columns(fitted, data, options, quiet=quiet)
        chosen = take_choices(data, options)
        chosen.rows["on_missing"] = fitted.settings.on_missing
        prints = out is None and not as_json  # a live display would mix with the printed labels
        nearest = no_rows(len(fitted.centers), n_representatives)
        with (
            open_data(data, memory_limit=memory_limit, **chosen.rows) as rows,
            show_progress(quiet=quiet or prints) as callback,
        ):
            row_ids, truth = chosen.ids.resolve(rows), chosen.read_truth(rows)
            ids = None if row_ids is None else row_ids.take_ids()
            n_rows, kept = rows.shape[0], list[LabelledBlock]()
            measured, keeps = distances or representatives is not None, as_json or truth is not None
            blocks = label_input(fitted, rows, callback, measured=measured)
            blocks = _keep(blocks, kept if keeps else None, nearest if measured else None)
            style = {"spreadsheet_safe": spreadsheet_safe, "measured": distances}
            _deliver(blocks, out, n_rows, ids, as_json=as_json, **style)
        if representatives is not None:
            safe, found = spreadsheet_safe, Representatives.of(nearest)
            write_representatives(representatives, found, row_ids, spreadsheet_safe=safe)
    document: dict[str, Any] = {"data": Path(data).name, "n_samples": n_rows}
    document |= {} if truth is None else _measure(truth, kept)
    if as_json:
        document |= {"out": Path(out).name} if out is not None else _list(kept, ids, distances)
        click.echo(json.dumps(document, default=str))
    elif not quiet:
        _print_files(document, out, representatives)


def _open_model(path: str, memory_limit: str | None, on_missing: str | None) -> FittedModel:
    """Return a stored model, which treats holes as it was fitted unless the caller says so."""
    loaded = load_model(path).set_params(memory_limit=memory_limit)
    return read_fitted_model(loaded.set_params(on_missing=on_missing or loaded.on_missing))


def _measure(truth: NDArray[Any], kept: list[LabelledBlock]) -> dict[str, float]:
    return {"accuracy": clustering_accuracy(truth, _join_labels(kept))}


def _join_labels(kept: list[LabelledBlock]) -> NDArray[Any]:
    return np.concatenate([block.labels for block in kept])


def _print_files(document: dict[str, Any], out: str | None, representatives: str | None) -> None:
    """Print where files are, and the accuracy; not among labels that are printed."""
    if out is not None:
        click.echo(f"{document['n_samples']} labels written to {out}")
    if representatives is not None:
        click.echo(f"representatives written to {representatives}", err=out is None)
    if "accuracy" in document:
        click.echo(f"accuracy P {document['accuracy']:.4f}", err=out is None)


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
    if out is not None:
        write_labels(Path(out), n_rows, blocks, ids, **style)
    elif as_json:
        deque(blocks, maxlen=0)  # `_keep` holds the labels
    else:
        for text in format_labels(blocks, ids, **style):
            click.echo(text, nl=False)


def _keep(
    blocks: Iterable[LabelledBlock], kept: list[LabelledBlock] | None, lists: NDArray[Any] | None
) -> Iterator[LabelledBlock]:
    """Yield the blocks; append each to a list, and rank its rows, if asked for."""
    for block in blocks:
        if kept is not None:
            kept.append(block)
        if lists is not None:
            rank_block(lists, block)
        yield block


def _list(kept: list[LabelledBlock], ids: Ids | None, measured: bool) -> dict[str, Any]:
    """Return labels, and distances and ids of rows if there are any, as JSON holds them."""
    found = {"labels": _join_labels(kept).tolist()}
    if measured:
        parts = [block.distances for block in kept if block.distances is not None]
        found["distances"] = np.concatenate(parts).tolist()
    return found if ids is None else found | {"ids": ids.take(len(found["labels"]))}

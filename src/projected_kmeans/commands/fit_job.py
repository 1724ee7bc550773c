"""What ``fit`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from projected_kmeans.blocks.dask.clusters import TlsFiles, open_client
from projected_kmeans.commands.as_in_paper import (
    describe_theorem,
    set_dimensions,
    take_paper,
)
from projected_kmeans.commands.command_table import INTERRUPTED
from projected_kmeans.commands.data import open_data
from projected_kmeans.commands.data_choices import (
    check_truths,
    has_ids,
    take_choices,
)
from projected_kmeans.commands.fit_delivery import Delivery, Wanted
from projected_kmeans.commands.fit_outputs import open_outputs, resolve_image_shape
from projected_kmeans.commands.label_files import find_truth
from projected_kmeans.commands.model_columns import note_columns
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.passes.scoring import clustering_accuracy


def run_fit(
    data: str,
    labels: str | None,
    scheduler: str | None,
    n_workers: int | None,
    out: str | None,
    report: str | None,
    serve: int | None,
    image_shape: tuple[int, ...] | str | None,
    name: str | None,
    as_in_paper: bool,
    **parameters: Any,
) -> int:
    """Cluster the rows of DATA."""
    check_truths(labels, parameters)
    take_paper(parameters, as_in_paper)
    tls, wanted = TlsFiles.take(parameters), Wanted.take(parameters)
    with wanted.open_folders(has_ids=has_ids(parameters)):
        choices = take_choices(data, parameters)
        parameters["on_missing"] = choices.rows["on_missing"]
        name, model = name or Path(data).resolve().name, ProjectedKMeans(**parameters)
        # Dask workers read DATA themselves, so that it is not loaded here.
        load = scheduler is None and n_workers is None
        with open_outputs(name, model, out, report, serve) as outputs, ExitStack() as ending:
            with (
                open_data(
                    data, memory_limit=parameters["memory_limit"], load=load, **choices.rows
                ) as rows,
                open_client(scheduler, n_workers, tls) as client,
            ):
                truth = find_truth(labels, choices.labels, rows)
                ids, weights = choices.ids.resolve(rows), choices.read_weights()
                shape = resolve_image_shape(image_shape, rows)
                chosen = set_dimensions(model, rows.shape[1]) if as_in_paper else None
                with show_progress(quiet=wanted.quiet) as callback:
                    model.set_params(callback=outputs.listen(callback)).fit(
                        rows, sample_weight=weights, client=client
                    )
                model.set_params(callback=None, checkpoint=None)
                accuracy = None if truth is None else clustering_accuracy(truth, model.labels_)
                document = describe_fit(model, rows, name=name, accuracy=accuracy)
                document |= describe_theorem(model, chosen)
                document["data"] |= note_columns(model, data, choices.rows)
                delivery = Delivery(outputs, document, wanted)
                written = delivery.write(rows, ids, weights, shape, truth)
                wait = ending.enter_context(outputs.keep_open())
                delivery.print_summary(written, report)
            if model.stopped_ == "interrupted":
                return INTERRUPTED
            wait()
    return 0

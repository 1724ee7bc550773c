"""The command ``fit``: cluster the rows of a file; print, write and show the result.

The clustering is the estimator's; what a result file holds is decided in `estimator`.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from projected_kmeans.blocks.dask.clusters import open_client
from projected_kmeans.commands.command_table import INTERRUPTED
from projected_kmeans.commands.data import open_data
from projected_kmeans.commands.data_choices import (
    check_truths,
    has_ids,
    side_options,
    take_choices,
)
from projected_kmeans.commands.fit_delivery import Delivery, Wanted
from projected_kmeans.commands.fit_inputs import input_options
from projected_kmeans.commands.fit_outputs import open_outputs, resolve_image_shape
from projected_kmeans.commands.label_files import find_truth
from projected_kmeans.commands.limit_options import limit_options
from projected_kmeans.commands.metric_option import metric_option
from projected_kmeans.commands.model_columns import note_columns
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    checkpoint_option,
    cluster_options,
    clusters_option,
    count_or_all,
    data_argument,
    data_options,
    json_option,
    label_file_option,
    memory_option,
    none_as_none,
    quiet_option,
    report_options,
    seed_option,
    share_or_auto,
    spreadsheet_option,
    threads_option,
)
from projected_kmeans.commands.paper_option import (
    describe_theorem,
    paper_option,
    set_dimensions,
    take_paper,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.proof_options import proof_options
from projected_kmeans.commands.representative_files import representative_options
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.passes.scoring import clustering_accuracy
from projected_kmeans.planning.settings import SKETCH_SOLVERS, SOLVERS
from projected_kmeans.projections.named_maps import MAPS


@click.command()
@data_argument
@clusters_option
@click.option(
    "--components",
    "n_components",
    metavar="T|auto",
    **AUTO_COUNT,
    help="Number of dimensions to reduce the rows to.",
)
@click.option(
    "--eps",
    type=float,
    help="Reduce to as many dimensions as a theorem needs for this error, in (0, 1). By default "
    "fewer are taken.",
)
@click.option(
    "--projection",
    type=click.Choice(["auto", *MAPS, "none"]),
    default="auto",
    show_default=True,
    callback=none_as_none,
    help="How to reduce the columns: principal directions (svd), columns sampled by leverage "
    "(columns), or a random map (all others). none clusters in the original columns.",
)
@metric_option
@paper_option
@click.option(
    "--solver",
    type=click.Choice(["auto", *SOLVERS, *SKETCH_SOLVERS, "sdp"]),
    default="auto",
    show_default=True,
    help="How to improve the clusters: Lloyd's iterations alone (lloyd), followed by moves of "
    "single rows (hartigan), or followed by adding and removing centers (breathing). cells is for "
    "hundreds of clusters and more. orss06, kss04 (up to 4 clusters) and exact are the methods of "
    "the literature that the paper builds on. sdp improves what auto finds, and proves how good it "
    "is; for up to 2,000 rows.",
)
@click.option(
    "--n-init", metavar="N|auto", **AUTO_COUNT, help="Number of restarts; the best one is kept."
)
@click.option(
    "--max-iter",
    default=300,
    show_default=True,
    help="Maximum number of iterations on the reduced rows.",
)
@click.option(
    "--inertia-tol",
    metavar="SHARE|auto",
    type=share_or_auto,
    default="auto",
    show_default=True,
    help="Stop when an iteration lowers the inertia by less than this share of it.",
)
@click.option(
    "--time-budget",
    type=float,
    metavar="SECONDS",
    help="Stop after this time and keep the best result so far.",
)
@seed_option("random_state")
@click.option(
    "--polish",
    "polish_iter",
    metavar="N|auto",
    **AUTO_COUNT,
    help="Number of final iterations in the original columns; the paper's algorithm has 0.",
)
@click.option(
    "--polish-candidates",
    metavar="N|auto|all",
    type=count_or_all,
    default="auto",
    show_default=True,
    help="Number of nearest centers that a final iteration compares each row with.",
)
@click.option(
    "--trim",
    metavar="SHARE",
    type=float,
    default=0.0,
    show_default=True,
    help="Set this share of the rows aside, those farthest from all centers: label -1.",
)
@limit_options
@proof_options
@threads_option
@click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(),
    help="True labels, to measure the accuracy; by default those found in DATA.",
)
@data_options
@side_options
@input_options
@memory_option
@cluster_options
@checkpoint_option
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    help="Write labels, centers, model and result to this folder.",
)
@label_file_option("--out-labels")
@representative_options
@spreadsheet_option
@report_options
@quiet_option
@json_option
def fit(
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
    """Cluster the rows of DATA.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. Data
    that is large for the memory is read block by block.

    Ctrl-C stops after the current iteration and keeps the best result so far: it is printed and
    written as usual, and the exit code is 130. A second Ctrl-C, or one before there is a result,
    exits at once and writes nothing.

    With --checkpoint DIR, the same command continues a fit that was killed or stopped, and gives
    exactly the result of a fit without interruption. If the fit was finished, the command prints
    its result at once.

    \b
    Examples:
      projected-kmeans fit rows.npy -k 40
      projected-kmeans fit faces.mat -k 40 --variable fea --components 80 --out model
      projected-kmeans fit table.csv -k 5 --labels truth.csv --json
      projected-kmeans fit table.csv -k 5 --id-column name --out-labels clusters.csv
      projected-kmeans fit embeddings.parquet -k 1000 --memory-limit 4GB --out model
      projected-kmeans fit lake/ --format parquet -k 1000 --scheduler tcp://scheduler:8786
      projected-kmeans fit images.npy -k 40 --report report.html
      projected-kmeans fit embeddings.parquet -k 1000 --checkpoint steps --out model
      projected-kmeans fit digits.npy -k 10 --guarantee "1 %"
      projected-kmeans fit faces.mat -k 40 --as-in-paper --eps 0.3
      projected-kmeans fit table.csv -k 5 --trim 0.01 --out-labels clusters.csv
      projected-kmeans fit table.csv -k 5 --balanced --out-labels clusters.csv
      projected-kmeans fit table.csv -k 5 --id-column name --representatives nearest.csv
      projected-kmeans fit photos/ -k 5 --image-size 64x64 --folder-labels --out-labels names.csv
      projected-kmeans fit texts.npz -k 20 --metric cosine --feature-names words.txt --out model
      projected-kmeans fit customers.csv -k 5 --weight-column visits --on-missing skip
    """
    check_truths(labels, parameters)
    take_paper(parameters, as_in_paper)
    wanted = Wanted.take(parameters)
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
                open_client(scheduler, n_workers) as client,
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

"""The command ``fit``: flags become one fit, its result becomes a summary, JSON or a folder.

It does not cluster, nor decide what a result file holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from projected_kmeans.blocks.dask.clusters import open_client
from projected_kmeans.commands import INTERRUPTED
from projected_kmeans.commands.data import open_data
from projected_kmeans.commands.fit_outputs import open_display, resolve_image_shape
from projected_kmeans.commands.label_files import open_label_folder, read_labels_of, write_labels
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    checkpoint_option,
    cluster_options,
    count_or_all,
    data_argument,
    data_options,
    json_option,
    memory_option,
    none_as_none,
    quiet_option,
    report_options,
    share_or_auto,
    side_options,
    take_choices,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import summarize_fit
from projected_kmeans.estimator.fit_document import describe_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.passes.scoring import clustering_accuracy
from projected_kmeans.planning.settings import METRICS
from projected_kmeans.projections.named_maps import MAPS
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import SideColumn


@click.command()
@data_argument
@click.option("-k", "--clusters", "n_clusters", type=int, required=True, help="How many clusters.")
@click.option(
    "--components",
    "n_components",
    metavar="T|auto",
    **AUTO_COUNT,
    help="How many dimensions to keep.",
)
@click.option(
    "--eps",
    type=float,
    help="Take the dimensions that a theorem asks for this error, in (0, 1); else fewer do.",
)
@click.option(
    "--projection",
    type=click.Choice(["auto", *MAPS, "none"]),
    default="auto",
    show_default=True,
    callback=none_as_none,
    help="How to reduce the columns: random maps, principal directions (svd) or columns drawn by "
    "leverage; none clusters all of them.",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    default="euclidean",
    show_default=True,
    help="Whether rows count by position or by direction.",
)
@click.option(
    "--solver",
    type=click.Choice(["auto", "lloyd", "hartigan", "breathing"]),
    default="auto",
    show_default=True,
    help="How to improve the clusters.",
)
@click.option(
    "--n-init", metavar="N|auto", **AUTO_COUNT, help="How many restarts; the best one counts."
)
@click.option("--max-iter", default=300, show_default=True, help="At most so many iterations.")
@click.option(
    "--inertia-tol",
    metavar="SHARE|auto",
    type=share_or_auto,
    default="auto",
    show_default=True,
    help="Stop when an iteration lowers the inertia by less than this share.",
)
@click.option(
    "--time-budget",
    type=float,
    metavar="SECONDS",
    help="Stop after so long and keep the best result so far.",
)
@click.option(
    "--seed",
    "random_state",
    default=0,
    show_default=True,
    help="Where all randomness starts from.",
)
@click.option(
    "--polish",
    "polish_iter",
    metavar="N|auto",
    **AUTO_COUNT,
    help="Iterations in the original space at the end; 0 is the pure algorithm.",
)
@click.option(
    "--polish-candidates",
    metavar="N|auto|all",
    type=count_or_all,
    default="auto",
    show_default=True,
    help="How many of the nearest centers such an iteration looks at for each row.",
)
@click.option(
    "--certificate",
    type=click.Choice(["none", "auto", "spectral", "full"]),
    default="none",
    show_default=True,
    callback=none_as_none,
    help="How hard to try to prove that the inertia is near the least possible.",
)
@click.option(
    "--certificate-time",
    type=float,
    metavar="SECONDS",
    help="How long the certificate may take; what is proven until then counts.",
)
@click.option(
    "--threads", "n_threads", type=int, help="How many threads; all processors if left out."
)
@click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(),
    help="True labels, for the accuracy; else those found in DATA.",
)
@data_options
@side_options
@memory_option
@cluster_options
@checkpoint_option
@click.option(
    "--out", metavar="DIR", type=click.Path(), help="Write labels, centers, model and result there."
)
@click.option(
    "--out-labels",
    metavar="FILE",
    type=click.Path(),
    help="Write the labels there: .npy, or .csv or .parquet, with the ids if there are any.",
)
@report_options
@quiet_option
@json_option
def fit(
    data: str,
    labels: str | None,
    scheduler: str | None,
    n_workers: int | None,
    out: str | None,
    out_labels: str | None,
    report: str | None,
    serve: int | None,
    image_shape: tuple[int, ...] | str | None,
    quiet: bool,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Cluster the rows of DATA, of any size and many formats.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. What is
    large is read block by block.

    Ctrl-C stops after the iteration under way and keeps the best result so far: it is printed and
    written as always, and the exit code is 130. A second Ctrl-C, or one before there is a result,
    leaves at once and writes nothing.

    With --checkpoint DIR the same command goes on where it was killed or stopped, to the bits that
    it would have had; once it is finished it answers at once.

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
    """
    if labels is not None and parameters["label_column"] is not None:
        raise ValueError("--labels and --label-column both give true labels; give one of them")
    with open_label_folder(out_labels, with_ids=parameters["id_column"] is not None):
        choice, ids, truths = take_choices(data, parameters)
        name, model = Path(data).name, ProjectedKMeans(**parameters)
        limit, stays = parameters["memory_limit"], scheduler is not None or n_workers is not None
        with open_display(name, model, out, report, serve) as display:
            with (
                open_data(data, memory_limit=limit, stays=stays, **choice) as rows,
                open_client(scheduler, n_workers) as client,
            ):
                truth = _find_truth(labels, truths, rows)
                look = resolve_image_shape(image_shape, choice["image_size"], rows.shape[1])
                with show_progress(quiet=quiet) as callback:
                    model.set_params(callback=display.listen(callback)).fit(rows, client=client)
                model.set_params(callback=None, checkpoint=None)
                accuracy = None if truth is None else clustering_accuracy(truth, model.labels_)
                document = describe_fit(model, rows, name=name, accuracy=accuracy)
                files = display.keep(document, rows, look)
            if out_labels is not None:
                labelled = [LabelledBlock(0, model.labels_)]
                given = None if ids is None else ids.take_ids()
                write_labels(Path(out_labels), len(model.labels_), labelled, given)
            if as_json:
                click.echo(json.dumps(document))
            elif not quiet:
                click.echo(summarize_fit(document, files, report))
                if out_labels is not None:
                    click.echo(f"{rows.shape[0]} labels written to {out_labels}")
            if model.stopped_ == "interrupted":
                return INTERRUPTED
            display.stay()
    return 0


def _find_truth(
    file: str | None, column: SideColumn | None, rows: RowSource
) -> NDArray[Any] | None:
    """Return the true labels from a file, a column, or beside the rows, if they are anywhere."""
    if column is not None:
        return column.read_labels()
    return rows.labels if file is None else read_labels_of(file, rows.shape[0])

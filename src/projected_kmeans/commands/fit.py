"""The command ``fit``: flags become one fit, its result becomes a summary, JSON or a folder.

It does not cluster, nor decide what a result file holds.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from projected_kmeans.commands import INTERRUPTED
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    DATA_CHOICES,
    checkpoint_option,
    cluster_options,
    count_or_all,
    data_options,
    json_option,
    memory_option,
    none_as_none,
    share_or_auto,
)
from projected_kmeans.dask_clusters import open_client
from projected_kmeans.estimator import ProjectedKMeans
from projected_kmeans.label_files import read_labels_of
from projected_kmeans.loaded_rows import open_data
from projected_kmeans.model_files import describe_fit, save_fit
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.progress import show_progress
from projected_kmeans.recipe import MAPS, METRICS
from projected_kmeans.scoring import clustering_accuracy
from projected_kmeans.summaries import summarize_fit


@click.command()
@click.argument("data", metavar="DATA")
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
    "--labels", metavar="FILE", help="True labels, for the accuracy; else those found in DATA."
)
@data_options
@memory_option
@cluster_options
@checkpoint_option
@click.option("--out", metavar="DIR", help="Write labels, centers, model and result there.")
@json_option
def fit(
    data: str,
    labels: str | None,
    scheduler: str | None,
    n_workers: int | None,
    out: str | None,
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
      projected-kmeans fit embeddings.parquet -k 1000 --memory-limit 4GB --out model
      projected-kmeans fit lake/ --format parquet -k 1000 --scheduler tcp://10.0.0.1:8786
      projected-kmeans fit embeddings.parquet -k 1000 --checkpoint steps --out model
    """
    with nullcontext() if out is None else open_output_folder(out) as folder:
        choice = {name: parameters.pop(name) for name in DATA_CHOICES}
        limit, stays = parameters["memory_limit"], scheduler is not None or n_workers is not None
        with (
            open_data(data, memory_limit=limit, stays=stays, **choice) as rows,
            open_client(scheduler, n_workers) as client,
        ):
            truth = rows.labels if labels is None else read_labels_of(labels, rows.shape[0])
            with show_progress() as callback:
                model = ProjectedKMeans(**parameters, callback=callback).fit(rows, client=client)
        model.set_params(callback=None, checkpoint=None)
        accuracy = None if truth is None else clustering_accuracy(truth, model.labels_)
        document = describe_fit(model, rows, name=Path(data).name, accuracy=accuracy)
        files = () if folder is None else save_fit(model, document, folder, rows.feature_names)
    click.echo(json.dumps(document) if as_json else summarize_fit(document, files))
    return INTERRUPTED if model.stopped_ == "interrupted" else 0

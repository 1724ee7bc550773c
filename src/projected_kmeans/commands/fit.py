"""The command ``fit``: cluster the rows of a file; print, write and show the result."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.choices import MAP_NAMES, SKETCH_SOLVERS, SOLVERS
from projected_kmeans.commands.main import INTERRUPTED
from projected_kmeans.commands.options import (
    AUTO_COUNT,
    cluster_options,
    clusters_option,
    data_argument,
    data_options,
    input_options,
    json_option,
    label_file_option,
    limit_options,
    memory_option,
    metric_option,
    none_as_none,
    proof_options,
    quiet_option,
    report_options,
    representative_options,
    seed_option,
    side_options,
    threads_option,
)

if TYPE_CHECKING:
    from projected_kmeans.commands.fit_outputs import FitOutputs
    from projected_kmeans.estimator.algorithm1 import Dimensions
    from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
    from projected_kmeans.sources.protocol import RowSource

# The options that --as-in-paper decides, and the parameters that they set.
DECIDED = {
    "--projection": "projection",
    "--components": "n_components",
    "--polish": "polish_iter",
    "--n-init": "n_init",
}


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
    type=click.Choice(["auto", *MAP_NAMES, "none"]),
    default="auto",
    show_default=True,
    callback=none_as_none,
    help="How to reduce the columns: principal directions (svd), columns sampled by leverage "
    "(columns), or a random map (all others). none clusters in the original columns.",
)
@metric_option
@click.option(
    "--as-in-paper",
    is_flag=True,
    help="Run Algorithm 1 of the paper: t = k / eps^2 random signs, one run of the solver, no "
    "final iterations. Needs --eps below 1/3; prints t and what Theorem 1 says about the inertia.",
)
@click.option(
    "--solver",
    type=click.Choice(["auto", *SOLVERS, *SKETCH_SOLVERS, "sdp"]),
    default="auto",
    show_default=True,
    help="How to find the clusters: Lloyd's iterations with swaps of centers (auto), alone "
    "(lloyd), or followed by moves of single rows (hartigan). orss06, kss04 (up to 4 clusters) "
    "and exact are the methods of the literature that the paper builds on. sdp improves what auto "
    "finds, and proves how good it is; for up to 2,000 rows.",
)
@click.option(
    "--n-init", metavar="N|auto", **AUTO_COUNT, help="Number of starts; the best one is kept."
)
@click.option(
    "--max-iter",
    default=300,
    show_default=True,
    help="Maximum number of iterations on the reduced rows.",
)
@click.option(
    "--tol",
    metavar="SHIFT",
    default=1e-4,
    show_default=True,
    help="Stop when an iteration moves the centers by less than this, relative to the variance; 0 "
    "iterates until nothing changes.",
)
@click.option(
    "--time-budget",
    type=float,
    metavar="SECONDS",
    help="Stop after this time, a certificate included, and keep the best result so far.",
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
@click.option(
    "--checkpoint",
    metavar="DIR",
    help="Save the state of the fit in this folder. If the fit is killed, the same command "
    "continues from there.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(),
    help="Write labels, centers, model and result to this folder.",
)
@label_file_option("--out-labels")
@representative_options
@report_options
@quiet_option
@json_option
def fit(
    data: str,
    labels: str | None,
    scheduler: str | None,
    n_workers: int | None,
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
      projected-kmeans fit table.csv -k 5 --max-cluster-size equal --out-labels clusters.csv
      projected-kmeans fit table.csv -k 5 --id-column name --representatives nearest.csv
      projected-kmeans fit photos/ -k 5 --image-size 64x64 --folder-labels --out-labels names.csv
      projected-kmeans fit texts.npz -k 20 --metric cosine --feature-names words.txt --out model
      projected-kmeans fit customers.csv -k 5 --weight-column visits --on-missing skip
    """
    from projected_kmeans.blocks.dask.clusters import TlsFiles, open_client
    from projected_kmeans.commands import data as inputs
    from projected_kmeans.commands.fit_outputs import FitOutputs, resolve_image_shape
    from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans

    inputs.check_truths(labels, parameters)
    if as_in_paper:
        _take_paper(parameters)
    tls, asked = TlsFiles.take(parameters), FitOutputs.take(parameters)
    with_ids = inputs.has_ids(parameters)
    choices = inputs.take_choices(data, parameters)
    parameters["on_missing"] = choices.rows["on_missing"]
    name, model = name or Path(data).resolve().name, ProjectedKMeans(**parameters)
    with asked.open_places(name, model.n_clusters, with_ids) as outputs, ExitStack() as ending:
        # Dask workers read DATA themselves, so that it is not loaded here.
        load = scheduler is None and n_workers is None
        with (
            inputs.open_data(
                data, memory_limit=parameters["memory_limit"], load=load, **choices.rows
            ) as rows,
            open_client(scheduler, n_workers, tls) as client,
        ):
            truth, ids = choices.find_truth(labels, rows), choices.find_ids(rows)
            weights = choices.read_weights()
            shape = resolve_image_shape(image_shape, rows)
            dimensions = _set_dimensions(model, rows.shape[1]) if as_in_paper else None
            _fit_rows(model, rows, outputs, weights, client)
            document = _describe(model, rows, name, truth, dimensions)
            document["data"] |= inputs.note_columns(model, data, choices.rows)
            written = outputs.write(model, document, rows, ids, weights, truth, shape)
            wait = ending.enter_context(outputs.keep_open())
            outputs.print_summary(document, written)
        if model.stopped_ == "interrupted":
            return INTERRUPTED
        wait()
    return 0


def _take_paper(parameters: dict[str, Any]) -> None:
    """Set the parameters of Algorithm 1; raise if an option contradicts it."""
    from projected_kmeans.estimator.algorithm1 import AS_IN_PAPER

    for option, name in DECIDED.items():
        if parameters[name] not in ("auto", AS_IN_PAPER.get(name, "auto")):
            raise ValueError(
                f"{option} and --as-in-paper, which decides it, are both given; give one of them"
            )
    if parameters["metric"] != "euclidean":
        raise ValueError("--as-in-paper has no metric but euclidean; leave out --metric")
    if parameters["eps"] is None:
        raise ValueError("--as-in-paper needs an error parameter; give --eps, such as --eps 0.3")
    parameters.update(AS_IN_PAPER)


def _set_dimensions(model: ProjectedKMeans, n_features: int) -> Dimensions:
    """Set the t of the paper, and warn if it is limited by the number of columns."""
    from projected_kmeans.estimator.algorithm1 import choose_dimensions, warn_of_dimensions

    assert model.eps is not None  # as _take_paper has checked
    chosen = choose_dimensions(model.n_clusters, model.eps, n_features=n_features)
    warn_of_dimensions(chosen)
    model.set_params(n_components=chosen.t)
    return chosen


def _fit_rows(
    model: ProjectedKMeans, rows: RowSource, outputs: FitOutputs, weights: Any, client: Any
) -> None:
    """Fit a model while its progress is shown."""
    from projected_kmeans.commands.terminal import show_progress

    with show_progress(quiet=outputs.quiet) as callback:
        model.set_params(callback=outputs.listen(callback))
        model.fit(rows, sample_weight=weights, client=client)
    model.set_params(callback=None, checkpoint=None)


def _describe(
    model: ProjectedKMeans, rows: RowSource, name: str, truth: Any, dimensions: Dimensions | None
) -> dict[str, Any]:
    """Return the document of a fit, with what Theorem 1 says if t is the paper's."""
    from projected_kmeans.estimator.algorithm1 import Theorem1
    from projected_kmeans.estimator.fit_document import describe_fit
    from projected_kmeans.passes.scoring import clustering_accuracy

    accuracy = None if truth is None else clustering_accuracy(truth, model.labels_)
    document = describe_fit(model, rows, name=name, accuracy=accuracy)
    if dimensions is not None:
        theorem = Theorem1.of(dimensions, model.approach_.solver, model.gamma_)
        document["theorem1"] = theorem.to_document()
    return document

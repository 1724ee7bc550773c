"""The command ``fit``: cluster the rows of a file; print, write and show the result.

The clustering is the estimator's; what a result file holds is decided in `estimator`.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.choices import MAP_NAMES, SKETCH_SOLVERS, SOLVERS
from projected_kmeans.commands.fit_inputs import input_options
from projected_kmeans.commands.limit_options import limit_options
from projected_kmeans.commands.metric_option import metric_option
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
from projected_kmeans.commands.proof_options import proof_options
from projected_kmeans.commands.row_options import representative_options, side_options


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
def fit(**options: Any) -> int:
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
    from projected_kmeans.commands.fit_job import run_fit

    return run_fit(**options)

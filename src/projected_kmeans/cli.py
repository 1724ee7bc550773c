"""The command line: flags become one library call, its result becomes text, JSON or files.

It does not compute, and it does not show tracebacks: an error is one sentence and exit code 2.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from projected_kmeans.certificate import certify as certify_labels
from projected_kmeans.demo import run_demo, write_demo
from projected_kmeans.estimator import ProjectedKMeans
from projected_kmeans.files import FORMATS, read_matrix
from projected_kmeans.label_files import (
    check_label_file,
    join_labels,
    match_names,
    read_labels_of,
    write_labels,
)
from projected_kmeans.lower_bounds import EFFORTS
from projected_kmeans.model_files import describe_fit, load_model, save_fit
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.paper.command import reproduce
from projected_kmeans.progress import show_progress
from projected_kmeans.recipe import MAPS
from projected_kmeans.scoring import clustering_accuracy
from projected_kmeans.summaries import (
    compare_runs,
    list_files,
    summarize_certificate,
    summarize_fit,
    tell_speed,
)

PROGRAM = "projected-kmeans"
INTERRUPTED = 130  # what shells call a program that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Parameters
    ----------
    arguments : sequence of str or None
        The words after the program's name; None takes those of the process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = commands.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except click.ClickException as error:
        sentence = error.format_message()
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{PROGRAM}: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has left, as in "| head": nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        sentence = f"the memory is too small ({error or 'no more of it'}); give fewer rows"
    except (ValueError, TypeError, OSError) as error:
        sentence = " ".join(str(error).split())
    click.echo(f"{PROGRAM}: error: {sentence}", err=True)
    return 2


def _show_warning(message: Warning | str, *place: object, **options: object) -> None:
    click.echo(f"{PROGRAM}: warning: {' '.join(str(message).split())}", err=True)


def _count_or_auto(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither 'auto' nor a whole number; give one of them"
        ) from None


def _count_or_all(text: str) -> int | str | None:
    return None if text == "all" else _count_or_auto(text)


_auto: Any = {"type": _count_or_auto, "default": "auto", "show_default": True}
_variable = click.option("--variable", metavar="NAME", help="Which array of a .npz or .mat file.")
_format = click.option(
    "--format",
    type=click.Choice([extension[1:] for extension in FORMATS]),
    help="The format of DATA, where its extension does not tell.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="projected_kmeans", prog_name=PROGRAM)
@click.pass_context
def commands(context: click.Context) -> None:
    """Cluster rows of numbers by k-means on random projections.

    Data with many columns is first reduced to a few dozen random combinations of them, clustered
    there, and brought back: centers and scores are those of the original columns.

    \b
    Try it on embedded data, then on your own:
      projected-kmeans demo
      projected-kmeans fit rows.npy -k 40 --out model
      projected-kmeans predict model more.npy --out labels.npy
    """  # noqa: D301
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command()
@click.option("--n-samples", default=10000, show_default=True, help="How many images to draw.")
@click.option("--seed", default=0, show_default=True, help="Where all randomness starts from.")
@click.option(
    "--out",
    default=f"{PROGRAM}-demo",
    show_default=True,
    metavar="DIR",
    help="The folder to write into.",
)
def demo(n_samples: int, seed: int, out: str) -> None:
    """Compare with k-means in the original space, on embedded data.

    Images of 40 characters, 64 x 64 pixels each, are drawn on the spot and clustered twice: by
    scikit-learn's KMeans in all 4096 dimensions, and by ProjectedKMeans. A table shows the seconds
    of each step, the normalized inertia F~ (smaller is better) and the accuracy P (the share of
    images in the cluster of their character). Labels, centers, model, result and a picture of the
    centers go to a folder.

    \b
    Example, in a few seconds:
      projected-kmeans demo --n-samples 2000 --out demo
    """  # noqa: D301
    with open_output_folder(out) as folder:
        with show_progress() as callback:
            result = run_demo(n_samples, seed=seed, callback=callback)
        files = write_demo(result, folder)
    Console().print(compare_runs(result))
    click.echo(tell_speed(result))
    click.echo(list_files(files))


@commands.command()
@click.argument("data", metavar="DATA")
@click.option("-k", "--clusters", "n_clusters", type=int, required=True, help="How many clusters.")
@click.option(
    "--components", "n_components", metavar="T|auto", **_auto, help="How many dimensions to keep."
)
@click.option(
    "--eps",
    default=0.3,
    show_default=True,
    help="The error that auto components aim at, in (0, 1).",
)
@click.option(
    "--projection",
    type=click.Choice(["auto", *MAPS, "none"]),
    default="auto",
    show_default=True,
    callback=lambda context, parameter, name: None if name == "none" else name,
    help="How to reduce the columns: random maps, principal directions (svd) or columns drawn by "
    "leverage; none clusters all of them.",
)
@click.option(
    "--solver",
    type=click.Choice(["lloyd", "hartigan", "breathing"]),
    default="lloyd",
    show_default=True,
    help="How to improve the clusters.",
)
@click.option("--n-init", metavar="N|auto", **_auto, help="How many restarts; the best one counts.")
@click.option("--max-iter", default=300, show_default=True, help="At most so many iterations.")
@click.option(
    "--inertia-tol",
    default=0.0,
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
    **_auto,
    help="Iterations in the original space at the end; 0 is the pure algorithm.",
)
@click.option(
    "--polish-candidates",
    metavar="N|auto|all",
    type=_count_or_all,
    default="auto",
    show_default=True,
    help="How many of the nearest centers such an iteration looks at for each row.",
)
@click.option(
    "--threads", "n_threads", type=int, help="How many threads; all processors if left out."
)
@click.option(
    "--labels", metavar="FILE", help="True labels, for the accuracy; else those found in DATA."
)
@_variable
@_format
@click.option("--out", metavar="DIR", help="Write labels, centers, model and result there.")
@_json
def fit(
    data: str,
    labels: str | None,
    variable: str | None,
    format: str | None,
    out: str | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Cluster the rows of DATA (.npy, .npz, .mat, .csv, .tsv).

    Ctrl-C stops after the iteration under way and keeps the best result so far: it is printed and
    written as always, and the exit code is 130. A second Ctrl-C, or one before there is a result,
    leaves at once and writes nothing.

    \b
    Examples:
      projected-kmeans fit rows.npy -k 40
      projected-kmeans fit faces.mat -k 40 --variable fea --components 80 --out model
      projected-kmeans fit table.csv -k 5 --labels truth.csv --json
    """  # noqa: D301
    with nullcontext() if out is None else open_output_folder(out) as folder:
        matrix = read_matrix(data, format=format, variable=variable)
        truth = matrix.labels if labels is None else read_labels_of(labels, len(matrix.rows))
        with show_progress() as callback:
            model = ProjectedKMeans(**parameters, callback=callback).fit(matrix.rows)
        model.set_params(callback=None)
        accuracy = None if truth is None else clustering_accuracy(truth, model.labels_)
        document = describe_fit(model, matrix.rows, name=Path(data).name, accuracy=accuracy)
        files = () if folder is None else save_fit(model, document, folder, matrix.feature_names)
    click.echo(json.dumps(document) if as_json else summarize_fit(document, files))
    return INTERRUPTED if model.stopped_ == "interrupted" else 0


@commands.command()
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="DATA")
@click.option(
    "--out", metavar="FILE", help="Write the labels there: .npy, or .csv with one a line."
)
@_variable
@_format
@_json
def predict(
    model: str,
    data: str,
    out: str | None,
    variable: str | None,
    format: str | None,
    as_json: bool,
) -> None:
    """Label the rows of DATA by the nearest center of MODEL.

    MODEL is the folder that fit wrote with --out. Without --out the labels are printed, one a line.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
    """  # noqa: D301
    with nullcontext() if out is None else open_output_folder(check_label_file(out).parent):
        estimator = load_model(model)
        matrix = read_matrix(data, format=format, variable=variable)
        match_names(estimator, matrix, data)
        labels = estimator.predict(matrix.rows)
        if out is not None:
            write_labels(Path(out), labels)
    if as_json:
        found = {"labels": labels.tolist()} if out is None else {"out": Path(out).name}
        click.echo(json.dumps({"data": Path(data).name, "n_samples": len(labels)} | found))
    else:
        click.echo(join_labels(labels) if out is None else f"{len(labels)} labels written to {out}")


@commands.command()
@click.argument("data", metavar="DATA")
@click.argument("labels", metavar="LABELS")
@click.option(
    "--method",
    type=click.Choice(list(EFFORTS)),
    default="auto",
    show_default=True,
    help="Which bounds to try; full tries longest.",
)
@click.option(
    "--time-limit", type=float, metavar="SECONDS", help="Begin nothing new after so long."
)
@click.option(
    "--delta",
    default=0.01,
    show_default=True,
    help="How probably a bound from a part of the rows may be wrong, in (0, 1).",
)
@click.option("--seed", default=0, show_default=True, help="Where all randomness starts from.")
@_variable
@_format
@_json
def certify(
    data: str,
    labels: str,
    method: str,
    time_limit: float | None,
    delta: float,
    seed: int,
    variable: str | None,
    format: str | None,
    as_json: bool,
) -> None:
    """Prove how far the clustering LABELS of DATA can be from the best one.

    LABELS has the cluster of every row, as fit writes it. No clustering into as many clusters has
    an inertia below the lower bound, so that the inertia over this bound is how much could be
    gained at most.

    \b
    Examples:
      projected-kmeans certify rows.npy model/labels.npy
      projected-kmeans certify faces.mat labels.npy --variable fea --method full
    """  # noqa: D301
    if not 0 < delta < 1:
        raise ValueError(f"--delta {delta:g} is no such probability; give one in (0, 1)")
    matrix = read_matrix(data, format=format, variable=variable)
    clusters = read_labels_of(labels, len(matrix.rows))
    with show_progress() as callback:
        certificate = certify_labels(
            matrix.rows,
            clusters,
            method=method,
            time_limit=time_limit,
            confidence=1 - delta,
            random_state=seed,
            callback=callback,
        )
    if as_json:
        ratio = certificate.ratio if math.isfinite(certificate.ratio) else None
        click.echo(json.dumps({"data": Path(data).name, **asdict(certificate), "ratio": ratio}))
    else:
        click.echo(summarize_certificate(certificate))


commands.add_command(reproduce)

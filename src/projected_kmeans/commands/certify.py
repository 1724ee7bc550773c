"""The command ``certify``: prove how good the labels of a file are.

Reads rows and labels and prints the certificate; the bounds are those of `certificates`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from projected_kmeans.certificates.certify_labels import certify as certify_labels
from projected_kmeans.certificates.efforts import EFFORTS
from projected_kmeans.commands.data import load_data
from projected_kmeans.commands.fit_inputs import leave_out_option
from projected_kmeans.commands.label_files import open_label_folder, read_label_file, write_labels
from projected_kmeans.commands.metric_option import metric_option
from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    quiet_option,
    seed_option,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import summarize_certificate
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.passes.scoring import SET_ASIDE, inertia


@click.command()
@data_argument
@click.argument("labels", metavar="LABELS", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(list(EFFORTS)),
    default="auto",
    show_default=True,
    help="Which lower bounds to try; full tries several. semidefinite is often within a percent of "
    "the minimum, in about a second for every 1,000 rows.",
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Stop after this time and keep the best bound so far.",
)
@click.option(
    "--delta",
    default=0.01,
    show_default=True,
    help="Probability, in (0, 1), that a bound from a sample of the rows may be wrong.",
)
@metric_option
@seed_option()
@data_options
@leave_out_option
@click.option(
    "--better-labels",
    metavar="FILE",
    type=click.Path(),
    help="Write a better clustering to this file, if the proof finds one: .npy, .csv or .parquet.",
)
@quiet_option
@json_option
def certify(
    data: str,
    labels: str,
    better_labels: str | None,
    method: str,
    metric: str,
    time_limit: float | None,
    delta: float,
    on_missing: str,
    seed: int,
    quiet: bool,
    as_json: bool,
    **choice: Any,
) -> None:
    """Prove how far the clustering LABELS of DATA can be from the best one.

    LABELS is a file with the cluster of every row, such as labels.npy of fit --out. The lower bound
    holds for every clustering into the same number of clusters: none has a smaller inertia. The
    ratio of the inertia of LABELS to this bound says how much could still be gained at most.

    Rows of the cluster -1, which fit has set aside, take no part. Nor do rows with a hole, if
    --on-missing is skip, as it was for the fit.

    All rows are loaded into memory. If they do not fit, give a sample of the rows with its labels.

    \b
    Examples:
      projected-kmeans certify rows.npy model/labels.npy
      projected-kmeans certify faces.mat labels.npy --variable fea --method full
      projected-kmeans certify rows.npy labels.npy --method full --better-labels better.npy
    """
    if not 0 < delta < 1:
        raise ValueError(f"--delta {delta:g} is not a probability in (0, 1); use for example 0.01")
    with open_label_folder(better_labels, with_ids=False, spreadsheet_safe=False):
        rows = load_data(data, on_missing=on_missing, **choice).array
        clusters = read_label_file(labels, rows.shape[0])
        with show_progress(quiet=quiet) as callback:
            certificate = certify_labels(
                rows,
                clusters,
                method=method,
                metric=metric,
                on_missing=on_missing,
                time_limit=time_limit,
                confidence=1 - delta,
                random_state=seed,
                callback=callback,
            )
        better = certificate.better_labels
        if better is not None and better_labels is not None:
            write_labels(Path(better_labels), len(better), [LabelledBlock(0, better)])
    found = None
    if better is not None:  # never set for cosine
        inside = better != SET_ASIDE
        found = inertia(rows[inside], better[inside])
    if as_json:
        described = {**certificate.to_document(), "better_inertia": found}
        click.echo(json.dumps({"data": Path(data).name, **described}))
        return
    click.echo(summarize_certificate(certificate))
    if found is not None:
        click.echo(f"{'better F':<14} {found:.6g} ({_tell_file(better_labels)})")


def _tell_file(path: str | None) -> str:
    return "--better-labels FILE writes these clusters" if path is None else f"written to {path}"

"""The command ``certify``: labels of a file and what is proven of them.

States the certificate; the bounds are the library's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from projected_kmeans.certificates.certificate import certify as certify_labels
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.commands.data import load_data
from projected_kmeans.commands.label_files import read_labels_of
from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    quiet_option,
)
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import summarize_certificate


@click.command()
@data_argument
@click.argument("labels", metavar="LABELS", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(list(EFFORTS)),
    default="auto",
    show_default=True,
    help="Which bounds to try; full tries longest.",
)
@click.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    help="Stop after so long and keep what is proven until then.",
)
@click.option(
    "--delta",
    default=0.01,
    show_default=True,
    help="How probably a bound from a part of the rows may be wrong, in (0, 1).",
)
@click.option("--seed", default=0, show_default=True, help="Where all randomness starts from.")
@data_options
@quiet_option
@json_option
def certify(
    data: str,
    labels: str,
    method: str,
    time_limit: float | None,
    delta: float,
    seed: int,
    quiet: bool,
    as_json: bool,
    **choice: Any,
) -> None:
    """Prove how far the clustering LABELS of DATA can be from the best one.

    LABELS has the cluster of every row, as fit writes it. No clustering into as many clusters has
    an inertia below the lower bound, so that the inertia over this bound is how much could be
    gained at most. All rows are loaded, as a proof needs them: give a sample of data that does not
    fit, with the labels of its rows.

    \b
    Examples:
      projected-kmeans certify rows.npy model/labels.npy
      projected-kmeans certify faces.mat labels.npy --variable fea --method full
    """
    if not 0 < delta < 1:
        raise ValueError(f"--delta {delta:g} is no such probability; give one in (0, 1)")
    rows = load_data(data, **choice).array
    clusters = read_labels_of(labels, rows.shape[0])
    with show_progress(quiet=quiet) as callback:
        certificate = certify_labels(
            rows,
            clusters,
            method=method,
            time_limit=time_limit,
            confidence=1 - delta,
            random_state=seed,
            callback=callback,
        )
    if as_json:
        click.echo(json.dumps({"data": Path(data).name, **certificate.to_document()}))
    else:
        click.echo(summarize_certificate(certificate))

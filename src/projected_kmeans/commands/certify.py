"""The command ``certify``: prove how good the labels of a file are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.choices import PROOF_METHODS
from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    leave_out_option,
    metric_option,
    quiet_option,
    seed_option,
)

if TYPE_CHECKING:
    from projected_kmeans.certificates.certificate import Certificate
    from projected_kmeans.results import Labels


@click.command()
@data_argument
@click.argument("labels", metavar="LABELS", type=click.Path())
@click.option(
    "--method",
    type=click.Choice(PROOF_METHODS),
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
    from projected_kmeans.certificates.lower_bounds import certify as certify_labels
    from projected_kmeans.commands.data import load_data, read_label_file
    from projected_kmeans.commands.terminal import show_progress
    from projected_kmeans.commands.written_files import open_label_folder, write_labels
    from projected_kmeans.passes.labelling import LabelledBlock

    if not 0 < delta < 1:
        raise ValueError(f"--delta {delta:g} is not a probability in (0, 1); use for example 0.01")
    with open_label_folder(better_labels, with_ids=False, spreadsheet_safe=False):
        rows = load_data(data, on_missing=on_missing, **choice).array
        with show_progress(quiet=quiet) as callback:
            certificate = certify_labels(
                rows,
                read_label_file(labels, rows.shape[0]),
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
    better_inertia = None if better is None else _measure(rows, better)  # never for cosine
    if as_json:
        described = {**certificate.to_document(), "better_inertia": better_inertia}
        click.echo(json.dumps({"data": Path(data).name, **described}))
        return
    click.echo(_summarize(certificate))
    if better_inertia is not None:
        click.echo(f"{'better F':<14} {better_inertia:.6g} ({_tell_file(better_labels)})")


def _measure(rows: Any, labels: Labels) -> float:
    """Return the inertia of the rows that are in a cluster."""
    from projected_kmeans.passes.scoring import SET_ASIDE, inertia

    inside = labels != SET_ASIDE
    return inertia(rows[inside], labels[inside])


def _tell_file(path: str | None) -> str:
    return "--better-labels FILE writes these clusters" if path is None else f"written to {path}"


def _summarize(certificate: Certificate) -> str:
    """Return the sentence of a certificate, then its numbers, one per line."""
    kind = "certain" if certificate.certain else f"probability {certificate.confidence:g}"
    lines = {
        "inertia F": f"{certificate.inertia:.6g}",
        "lower bound": f"{certificate.lower_bound:.6g} ({certificate.method}, {kind})",
        "ratio": f"{certificate.ratio:.6g}",
        "parts": f"{certificate.part_rows} rows each; the parts alone cost a ratio of "
        f"{certificate.deal_ratio:.6g}"
        if certificate.part_rows
        else None,
        "seconds": f"{certificate.seconds:.3f}",
        **{f"no {name}": reason for name, reason in certificate.skipped.items()},
    }
    told = (f"{name:<14} {value}" for name, value in lines.items() if value is not None)
    return "\n".join([certificate.describe(), *told])

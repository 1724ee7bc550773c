"""What ``certify`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from projected_kmeans.certificates.certify_labels import certify as certify_labels
from projected_kmeans.commands.data import load_data
from projected_kmeans.commands.label_files import open_label_folder, read_label_file, write_labels
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.commands.summaries import summarize_certificate
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.passes.scoring import SET_ASIDE, inertia


def run_certify(
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
    """Prove how far the clustering LABELS of DATA can be from the best one."""
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

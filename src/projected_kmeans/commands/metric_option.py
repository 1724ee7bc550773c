"""The option ``--metric``, of all commands that compare rows.

Only names the metric; the library applies it.
"""

from __future__ import annotations

import click

from projected_kmeans.choices import METRICS

metric_option = click.option(
    "--metric",
    type=click.Choice(METRICS),
    default="euclidean",
    show_default=True,
    help="Compare rows by distance (euclidean), or by direction only (cosine).",
)

"""Results as the tables and sentences that commands print.

Returns text and tables; the commands print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.choosing_k.cluster_counts import ClusterCounts
from projected_kmeans.estimator.cluster_descriptions import ClusterDescription
from projected_kmeans.estimator.plan_fit import Plan

if TYPE_CHECKING:  # the demo loads scikit-learn's KMeans, which takes time
    from projected_kmeans.demo.comparison import DemoResult

# Where the t of Algorithm 1 comes from.
T_SOURCES = {
    "boutsidis2010": "by the paper's rule t = c k / eps^2",
    "n_features": "the number of columns, because t = k / eps^2 is more",
}

STEPS = ("convert", "check", "reduce", "seed", "cluster", "lift", "polish")


def summarize_fit(
    document: dict[str, Any], files: Sequence[Path], report: str | None = None
) -> str:
    """Return the summary of a fit, one quantity per line, and the names of the written files."""
    data, results, seconds = document["data"], document["results"], document["seconds"]
    sizes, theorem = results["cluster_sizes"], document.get("theorem1")
    steps = ", ".join(f"{step} {time:.3f}" for step, time in seconds.items())
    lines = {
        "data": f"{data['name']}, {data['shape'][0]} x {data['shape'][1]} {data['dtype']}",
        "clusters": f"{len(sizes)} of {min(sizes)} to {max(sizes)} rows, median {median(sizes):g}",
        "set aside": f"{results['set_aside']} rows (label -1)" if results["set_aside"] else None,
        "dimensions": f"{results['n_components']} ({results['projection'] or 'no projection'})",
        "inertia F": f"{results['inertia']:.6g}",
        "normalized F~": f"{results['normalized_inertia']:.6f}",
        "accuracy P": None if results["accuracy"] is None else f"{results['accuracy']:.4f}",
        "certificate": results["certificate"] and results["certificate"]["sentence"],
        "algorithm 1": theorem
        and f"t = {theorem['t']:,}, {T_SOURCES[theorem['rule']]}, c = {theorem['constant']:.3g}",
        "theorem 1": theorem and theorem["statement"],
        "iterations": f"{results['n_iter']} ({results['stopped']})",
        "seconds": f"{sum(seconds.values()):.3f} ({steps})",
        "planned": f"{document['plan']['seconds']:.3g} s, {document['plan']['megabytes']:.3g} MB "
        f"beyond the data: {document['plan']['reason']}",
    }
    text = [f"{name:<14} {value}" for name, value in lines.items() if value is not None]
    text += [f"{'report':<14} {report}"] if report is not None else []
    return "\n".join([*text, list_files(files)] if files else text)


def summarize_certificate(certificate: Certificate) -> str:
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
    sentence = certificate.describe()
    told = (f"{name:<14} {value}" for name, value in lines.items() if value is not None)
    return "\n".join([sentence, *told])


def compare_options(plan: Plan) -> Table:
    """Return a table of the approaches that a plan compared, the chosen one first."""
    table = Table(
        title=f"{plan.sizes.n_rows} x {plan.sizes.n_columns}, k = {plan.sizes.n_clusters}",
        caption=f"gaps: {plan.sample_rows} rows in {plan.sample_clusters} clusters"
        if plan.sample_rows
        else None,
    )
    for name in ("projection", "t", "restarts", "polish", "seconds", "MB", "gap"):
        table.add_column(name, justify="left" if name == "projection" else "right")
    for option in (plan.chosen, *plan.alternatives):
        way, cost = option.approach, option.forecast
        table.add_row(
            f"{option.name} (chosen)" if option is plan.chosen else option.name,
            str(way.n_components),
            str(way.n_init),
            str(way.polish_iter),
            f"{cost.total:.3g}",
            f"{cost.megabytes:.3g}",
            "" if option.gap is None else f"{100 * option.gap:+.2f} %",
        )
    return table


def compare_counts(choice: ClusterCounts) -> Table:
    """Return a table of the scores of each number of clusters; an arrow marks the suggestion."""
    table = Table(title=f"numbers of clusters, on a sketch of {choice.n_components} dimensions")
    bounds = ("lower bound", [f"{bound:.6g}" for bound in choice.lower_bound])
    if choice.proven_bound is not None and choice.proven_inertia is not None:
        pairs = zip(choice.proven_bound, choice.proven_inertia, strict=True)
        bounds = ("best possible", [write_interval(low, high) for low, high in pairs])
    for name in ("k", "inertia", "share", bounds[0], "silhouette", "gap", "error", ""):
        table.add_column(name, justify="right")
    rows = zip(
        choice.n_clusters,
        choice.inertia,
        choice.normalized_inertia,
        bounds[1],
        choice.silhouette,
        choice.gap,
        choice.gap_error,
        strict=True,
    )
    for count, inertia, share, bound, silhouette, gap, error in rows:
        table.add_row(
            str(count),
            f"{inertia:.6g}",
            f"{share:.4f}",
            bound,
            f"{silhouette:.3f}",
            f"{gap:.4f}",
            f"{error:.4f}",
            "<-" if count == choice.suggestion else "",
        )
    return table


def list_descriptions(described: Sequence[ClusterDescription]) -> Table:
    """Return a table of what each cluster is, the largest first."""
    table = Table(title=f"{len(described)} clusters", show_lines=True)
    for name in ("cluster", "rows", "share", "spread"):
        table.add_column(name, justify="right")
    table.add_column("stands out in (correlation)", overflow="fold")
    table.add_column("nearest rows", overflow="fold")
    for one in sorted(described, key=lambda one: -one.rows):
        pairs = zip(one.columns, one.correlations, strict=True)
        told = ", ".join(f"{name} {score:+.2f}" for name, score in pairs)
        table.add_row(
            str(one.cluster),
            str(one.rows),
            f"{one.share:.1%}",
            f"{one.spread:.4g}",
            escape(told),
            escape("\n".join(map(str, one.representatives))),
        )
    return table


def write_interval(low: float, high: float) -> str:
    """Return an interval with five digits, rounded outwards so that it stays true.

    Examples
    --------
    >>> write_interval(118.23456, 120.00001), write_interval(0.0, 0.0)
    ('118.23 to 120.01', '0 to 0')
    """
    down, up = Context(prec=5, rounding=ROUND_FLOOR), Context(prec=5, rounding=ROUND_CEILING)
    ends = (down.create_decimal(float(low)), up.create_decimal(float(high)))
    return " to ".join(f"{float(end):.5g}" for end in ends)


def compare_runs(result: DemoResult) -> Table:
    """Return a table of the demo's two runs, side by side."""
    runs = (result.original, result.projected)
    n_samples, n_features = result.glyphs.images.shape
    table = Table(title=f"{n_samples} images of {n_features} pixels, projected-kmeans demo")
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("dimensions", *(str(run.n_components) for run in runs))
    for step in STEPS:
        times = [run.seconds.get(step) for run in runs]
        table.add_row(f"{step} (s)", *("-" if time is None else f"{time:.3f}" for time in times))
    table.add_row("total (s)", *(f"{run.total_seconds:.3f}" for run in runs))
    table.add_row("normalized inertia F~", *(f"{run.normalized_inertia:.5f}" for run in runs))
    table.add_row("accuracy P", *(f"{run.accuracy:.4f}" for run in runs))
    return table


def describe_speed(result: DemoResult) -> str:
    """Return a sentence that compares time and inertia of the demo's runs."""
    direction = "above" if result.inertia_change > 0 else "below"
    return (
        f"ProjectedKMeans was {result.speed_ratio:.1f} times as fast, with F~ "
        f"{abs(result.inertia_change):.2%} {direction} that of the original space."
    )


def list_files(files: Sequence[Path]) -> str:
    """Return the folder that files were written to, and their names."""
    return f"written to {files[0].parent}: {', '.join(file.name for file in files)}"

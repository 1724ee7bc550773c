"""Results as the tables and sentences that commands print.

Returns text and tables; the commands print them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.estimator.cluster_descriptions import ClusterDescription
from projected_kmeans.passes.scoring import MatchedClusters
from projected_kmeans.result_tables import ResultTable

if TYPE_CHECKING:  # the demo loads scikit-learn's KMeans, which takes time
    from projected_kmeans.demo.comparison import DemoResult

# Where the t of Algorithm 1 comes from.
T_SOURCES = {
    "boutsidis2010": "by the paper's rule t = c k / eps^2",
    "n_features": "the number of columns, because t = k / eps^2 is more",
}

# The widest table in characters; wider ones are folded.
MAX_WIDTH = 1000

STEPS = ("convert", "check", "reduce", "seed", "cluster", "lift", "polish")


def summarize_fit(
    document: dict[str, Any], files: Sequence[Path], report: str | None = None
) -> str:
    """Return the summary of a fit, one quantity per line, and the names of the written files."""
    data, results, seconds = document["data"], document["results"], document["seconds"]
    sizes, theorem = results["cluster_sizes"], document.get("theorem1")
    explained, cosine = results.get("explained_variance_ratio"), results.get("mean_cosine")
    steps = ", ".join(f"{step} {time:.3f}" for step, time in seconds.items())
    lines = {
        "data": f"{data['name']}, {data['shape'][0]} x {data['shape'][1]} {data['dtype']}",
        "clusters": f"{len(sizes)} of {min(sizes)} to {max(sizes)} rows, median {median(sizes):g}",
        "set aside": count_set_aside(results["set_aside"], results["missing_rows"]),
        "dimensions": f"{results['n_components']} ({results['projection'] or 'no projection'})",
        "inertia F": f"{results['inertia']:.6g}",
        "explained": None if explained is None else f"{100 * explained:.2f} % of the variance",
        "mean cosine": None if cosine is None else f"{cosine:.6f} to the center",
        "normalized F~": f"{results['normalized_inertia']:.6f}" if cosine is None else None,
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


def count_set_aside(n_rows: int, n_missing: int) -> str | None:
    """Return how many rows have the label -1, and why; None if none has.

    Examples
    --------
    >>> count_set_aside(5, 3)
    '5 rows (label -1), 3 of them because they have a hole'
    """
    if not n_rows:
        return None
    holes = f", {n_missing} of them because they have a hole" if n_missing else ""
    return f"{n_rows} rows (label -1){holes}"


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


def draw_table(content: ResultTable, mark: str) -> Table:
    """Return a table of texts as one for the terminal; `mark` stands beside the answer."""
    table = Table(title=content.title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(content.heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    for index, row in enumerate(content.rows):
        first = f"{row[0]} {mark}" if index == content.marked else row[0]
        table.add_row(escape(first), *map(escape, row[1:]))
    return table


def print_table(table: Table) -> None:
    """Print a table; one that is wider than the terminal keeps all its digits."""
    console = Console()
    needed = Measurement.get(console, console.options.update(max_width=MAX_WIDTH), table).maximum
    Console(width=max(console.width, needed)).print(table)


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


def list_matches(matches: Sequence[MatchedClusters]) -> Table:
    """Return a table of which cluster became which."""
    table = Table()
    for name in ("cluster of A", "cluster of B", "shared rows", "rows in A", "rows in B"):
        table.add_column(name, justify="right")
    for one in matches:
        table.add_row(*("-" if value is None else str(value) for value in one))
    return table


def list_files(files: Sequence[Path]) -> str:
    """Return the folder that files were written to, and their names."""
    return f"written to {files[0].parent}: {', '.join(file.name for file in files)}"

"""The command ``demo``: cluster built-in data twice and compare the two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from projected_kmeans.commands.main import PROGRAM
from projected_kmeans.commands.options import quiet_option, seed_option

if TYPE_CHECKING:
    from rich.table import Table

    from projected_kmeans.demo.comparison import DemoResult

STEPS = ("convert", "check", "reduce", "seed", "cluster", "lift", "polish")


@click.command()
@click.option("--n-samples", default=10000, show_default=True, help="Number of images to draw.")
@seed_option()
@click.option(
    "--out",
    default=f"{PROGRAM}-demo",
    show_default=True,
    metavar="DIR",
    type=click.Path(),
    help="Folder to write the files to.",
)
@quiet_option
def demo(n_samples: int, seed: int, out: str, quiet: bool) -> None:
    """Compare with scikit-learn's k-means on built-in data.

    The data is drawn by the program: images of 40 characters, 64 x 64 pixels each. They are
    clustered twice, by scikit-learn's KMeans in all 4096 dimensions and by ProjectedKMeans. A table
    shows the seconds of each step, the normalized inertia F~ (smaller is better) and the accuracy P
    (the share of images that are in the cluster of their character). Labels, centers, model,
    result, a picture of the centers and a report to open in a browser are written to a folder.

    \b
    Example, in a few seconds:
      projected-kmeans demo --n-samples 2000 --out demo
    """
    from rich.console import Console

    from projected_kmeans.commands.terminal import list_files, show_progress
    from projected_kmeans.demo.comparison import run_demo, write_demo
    from projected_kmeans.optional_packages import install_command
    from projected_kmeans.output_files import open_output_folder

    with open_output_folder(out) as folder:
        with show_progress(quiet=quiet) as callback:
            result = run_demo(n_samples, seed=seed, callback=callback)
        files = write_demo(result, folder)
    if quiet:
        return
    Console().print(_compare_runs(result))
    direction = "above" if result.inertia_change > 0 else "below"
    click.echo(
        f"ProjectedKMeans was {result.speed_ratio:.1f} times as fast, with F~ "
        f"{abs(result.inertia_change):.2%} {direction} that of the original space."
    )
    click.echo(list_files(files))
    page = files[-1]
    click.echo(
        f"report: {page}"
        if page.suffix == ".html"
        else f"report: none, because bokeh is missing; {install_command('report')}"
    )


def _compare_runs(result: DemoResult) -> Table:
    """Return a table of the demo's two runs, side by side."""
    from rich.table import Table

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

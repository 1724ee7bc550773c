"""The command ``reproduce``: run the paper's experiments and show them beside the paper.

`paper.experiments` measures, `paper.views` draws; `reproduce_job` runs them in turn.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.choices import EXPERIMENTS


@click.command()
@click.argument("name", metavar="EXPERIMENT", type=click.Choice([*EXPERIMENTS, "all"]))
@click.option(
    "--data",
    metavar="FILE",
    help="The paper's face images, ORL_64x64.mat; by default searched in the data folder, as all "
    "other data sets are.",
)
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    metavar="DIR",
    help="Folder for results, tables and figures.",
)
@click.option("--page", metavar="FILE", help="Write a page with all results to this file, too.")
@click.option("--quick", is_flag=True, help="Measure small sizes only, in under a minute.")
@click.option("--fresh", is_flag=True, help="Measure again what is stored already.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress and no tables, only errors.")
def reproduce(**options: Any) -> None:
    """Run the paper's own experiments and print each result beside the paper's.

    EXPERIMENT is table1, table2, figure1, mailman, theorem, optimum (Theorem 1 on real data),
    beyond (Table 2 on other data) or all. Results are stored as JSON in the output folder; tables
    (.md, .tex, .csv) and figures (.png, .svg) are drawn from them. The same command continues a run
    that was stopped, and shows a stored result with the same parameters without measuring again.
    All experiments take less than 20 minutes on two cores. Data sets that are missing are left
    out, and a sentence says so.

    \b
    Examples:
      projected-kmeans reproduce table2 --data ORL_64x64.mat --out out
      projected-kmeans reproduce all --quick
    """
    from projected_kmeans.commands.reproduce_job import run_reproduce

    run_reproduce(**options)

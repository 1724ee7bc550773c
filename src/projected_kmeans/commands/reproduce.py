"""The command ``reproduce``: run the paper's experiments and show them beside the paper."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from projected_kmeans.choices import EXPERIMENTS
from projected_kmeans.commands.main import PROGRAM

if TYPE_CHECKING:
    from projected_kmeans.paper.data_sets import Faces
    from projected_kmeans.paper.experiment import Experiment

NEED_FACES = ("table2", "figure1")
USE_FACES = (*NEED_FACES, "table1", "theorem", "optimum", "beyond")


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
def reproduce(
    name: str,
    data: str | None,
    out: str,
    page: str | None,
    quick: bool,
    fresh: bool,
    seed: int,
    quiet: bool,
) -> None:
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
    from projected_kmeans.output_files import open_output_folder
    from projected_kmeans.paper.reproduction import plan_experiment

    names = EXPERIMENTS if name == "all" else (name,)
    command = name_command(name, data, quick=quick, fresh=fresh, seed=seed)
    with open_output_folder(out) as folder:
        faces = _find_faces(names, data)
        documents: dict[str, dict[str, Any]] = {}
        for planned in names:
            if documents and not quiet:
                click.echo()
            experiment = plan_experiment(planned, faces, key=seed, quick=quick)
            for sentence in experiment.parameters.get("missing", ()):
                click.echo(sentence, err=True)
            documents[planned] = _run(experiment, folder, command, fresh=fresh, quiet=quiet)
            text = _draw(documents[planned], folder)
            if not quiet:
                click.echo(text)
        if page is not None:
            _write_page(documents, Path(page), quiet=quiet)


def name_command(name: str, data: str | None, *, quick: bool, fresh: bool, seed: int) -> str:
    """Return the command that repeats a run, with the options that change what is measured.

    Folders are left out, because results are published.
    """
    words = [PROGRAM, "reproduce", name]
    words += ["--data", Path(data).name] if data else []
    words += ["--quick"] * quick + ["--fresh"] * fresh
    words += ["--seed", str(seed)] if seed else []
    return shlex.join(words)


def _find_faces(names: tuple[str, ...], data: str | None) -> Faces | None:
    """Return the face images, or None if no experiment needs them and none were found."""
    needed = any(name in NEED_FACES for name in names)
    if not any(name in USE_FACES for name in names):
        return None
    from projected_kmeans.paper.data_sets import find_faces

    try:
        return find_faces(data)
    except ValueError:
        if needed or data is not None:
            raise
        click.echo("no face images were found; the experiment runs without them", err=True)
        return None


def _run(
    experiment: Experiment, folder: Path, command: str, *, fresh: bool, quiet: bool
) -> dict[str, Any]:
    from projected_kmeans.commands.terminal import show_progress
    from projected_kmeans.paper.experiment import run_experiment
    from projected_kmeans.results import FitState

    begin = time.perf_counter()
    with show_progress(quiet=quiet) as callback:

        def tell(step: str, done: int, total: int) -> None:
            if callback is not None:
                callback(FitState(step, 0, done, total, None, time.perf_counter() - begin))

        return run_experiment(experiment, folder, fresh=fresh, on_unit=tell, command=command)


def _draw(document: Mapping[str, Any], folder: Path) -> str:
    """Write tables and figures; return the text to print."""
    from projected_kmeans.paper.charts import NoFigures
    from projected_kmeans.paper.reproduction import render_text, write_figures, write_tables

    write_tables(document, folder)
    try:
        write_figures(document, folder)
    except NoFigures as reason:
        click.echo(str(reason), err=True)
    return render_text(document)


def _write_page(documents: Mapping[str, Mapping[str, Any]], path: Path, *, quiet: bool) -> None:
    from projected_kmeans.paper.charts import NoFigures
    from projected_kmeans.paper.reproduction import write_page

    try:
        files = write_page(documents, path)
    except NoFigures as reason:
        click.echo(str(reason), err=True)
        return
    if not quiet:
        click.echo(f"written: {path} and {len(files) - 1} files beside it", err=True)

"""What ``reproduce`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from projected_kmeans.choices import EXPERIMENTS
from projected_kmeans.commands.progress import show_progress
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.paper.experiments.experiment import Experiment, run_experiment
from projected_kmeans.paper.experiments.faces import Faces, find_faces
from projected_kmeans.paper.experiments.plans import plan_experiment
from projected_kmeans.paper.views.charts import NoFigures
from projected_kmeans.paper.views.files import render_text, write_figures, write_tables
from projected_kmeans.paper.views.page import write_page
from projected_kmeans.results import FitState

NEED_FACES = ("table2", "figure1")
USE_FACES = (*NEED_FACES, "table1", "theorem", "optimum", "beyond")


def run_reproduce(
    name: str,
    data: str | None,
    out: str,
    page: str | None,
    quick: bool,
    fresh: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Run the paper's own experiments and print each result beside the paper's."""
    names = EXPERIMENTS if name == "all" else (name,)
    command = name_command(name, data, quick=quick, fresh=fresh, seed=seed)
    with open_output_folder(out) as folder:
        faces = _find_faces(names, data)
        documents: dict[str, dict[str, Any]] = {}
        for one in names:
            if documents and not quiet:
                click.echo()
            experiment = plan_experiment(one, faces, key=seed, quick=quick)
            for sentence in experiment.parameters.get("missing", ()):
                click.echo(sentence, err=True)
            documents[one] = _run(experiment, folder, command, fresh=fresh, quiet=quiet)
            text = _draw(documents[one], folder)
            if not quiet:
                click.echo(text)
        if page is not None:
            _write_page(documents, Path(page), quiet=quiet)


def name_command(name: str, data: str | None, *, quick: bool, fresh: bool, seed: int) -> str:
    """Return the command that repeats a run, with the options that change what is measured.

    Folders are left out, because results are published.
    """
    words = ["projected-kmeans", "reproduce", name]
    words += ["--data", Path(data).name] if data else []
    words += ["--quick"] * quick + ["--fresh"] * fresh
    words += ["--seed", str(seed)] if seed else []
    return shlex.join(words)


def _find_faces(names: tuple[str, ...], data: str | None) -> Faces | None:
    """Return the face images, or None if no experiment needs them and none were found."""
    needed = any(name in NEED_FACES for name in names)
    if not any(name in USE_FACES for name in names):
        return None
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
    begin = time.perf_counter()
    with show_progress(quiet=quiet) as callback:

        def tell(step: str, done: int, total: int) -> None:
            if callback is not None:
                callback(FitState(step, 0, done, total, None, time.perf_counter() - begin))

        return run_experiment(experiment, folder, fresh=fresh, on_unit=tell, command=command)


def _draw(document: Mapping[str, Any], folder: Path) -> str:
    """Write tables and figures; return the text to print."""
    write_tables(document, folder)
    try:
        write_figures(document, folder)
    except NoFigures as reason:
        click.echo(str(reason), err=True)
    return render_text(document)


def _write_page(documents: Mapping[str, Mapping[str, Any]], path: Path, *, quiet: bool) -> None:
    try:
        files = write_page(documents, path)
    except NoFigures as reason:
        click.echo(str(reason), err=True)
        return
    if not quiet:
        click.echo(f"written: {path} and {len(files) - 1} files beside it", err=True)

"""Where a fit goes: a folder, files of labels and representatives, a report, a summary.

Every place is opened before the fit begins, so that a path that cannot be written is refused
before the long work instead of after it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click
from numpy.typing import NDArray

from projected_kmeans.commands.main import PROGRAM
from projected_kmeans.commands.terminal import list_files
from projected_kmeans.commands.written_files import (
    GUARDS,
    check_file,
    open_file_folder,
    open_label_folder,
    pick_ids,
    write_labels,
    write_representatives,
)
from projected_kmeans.estimator.model_files import save_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import save_report
from projected_kmeans.reports.live_fit import LiveFit, watch_fit
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.pictures import ImageShape, check_image_shape
from projected_kmeans.reports.plots import load_script
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.interrupts import await_interrupt
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import RowIds

Callback = Callable[[FitState], object]

# Where the t of Algorithm 1 comes from.
T_SOURCES = {
    "boutsidis2010": "by the paper's rule t = c k / eps^2",
    "n_features": "the number of columns, because t = k / eps^2 is more",
}


@dataclass(frozen=True)
class FitOutputs:
    """What a fit was asked to write, serve and print: options of the command by their names.

    Attributes
    ----------
    live : LiveFit or None
        The page that a browser shows while the fit runs; set by `open_places`.
    """

    out: str | None
    out_labels: str | None
    representatives: str | None
    n_representatives: int
    spreadsheet_safe: bool
    report: str | None
    serve: int | None
    quiet: bool
    as_json: bool
    live: LiveFit | None = None

    @classmethod
    def take(cls, options: dict[str, Any]) -> FitOutputs:
        """Remove from the options of a command those that this value holds."""
        names = [field.name for field in fields(cls) if field.name != "live"]
        return cls(**{name: options.pop(name) for name in names})

    @contextmanager
    def open_places(self, name: str, n_clusters: int, with_ids: bool) -> Iterator[FitOutputs]:
        """Check and open all places, and serve the live page, which shows the name of the data."""
        files = (self.out_labels, self.representatives)
        if self.spreadsheet_safe and files == (None, None):
            raise ValueError(f"{GUARDS}; give --out-labels and a .csv file, or leave it out")
        with ExitStack() as stack:
            stack.enter_context(
                open_label_folder(
                    self.out_labels, with_ids=with_ids, spreadsheet_safe=self.spreadsheet_safe
                )
            )
            stack.enter_context(open_file_folder(self.representatives, [".csv"]))
            if self.out is not None:
                stack.enter_context(open_output_folder(self.out))
            if self.report is not None:
                page = check_file(self.report)
                load_script()
                stack.enter_context(open_output_folder(page.parent))
            live = None
            if self.serve is not None:
                live, address = stack.enter_context(watch_fit(name, n_clusters, self.serve))
                click.echo(f"watch at {address} (Ctrl-C ends)", err=True)
            yield replace(self, live=live)

    def listen(self, callback: Callback | None) -> Callback | None:
        """Return a callback that tells the live page, if there is one, and the given callback."""
        if self.live is None:
            return callback
        return self.live.listen(callback)

    def write(
        self,
        model: ProjectedKMeans,
        document: dict[str, Any],
        rows: RowSource,
        ids: RowIds | None,
        weights: Floats | None,
        truth: NDArray[Any] | None,
        image_shape: ImageShape | str | None,
    ) -> tuple[Path, ...]:
        """Write the fit and then its report; return the files in the folder.

        A report that fails or is interrupted must not lose the fit, whose summary is printed then.
        """
        files: tuple[Path, ...] = ()
        if self.out is not None:
            files = save_fit(model, document, Path(self.out), rows.feature_names)
        safe = self.spreadsheet_safe
        if self.out_labels is not None:
            labels = model.labels_
            taken = None if ids is None else ids.take_ids()
            blocks = [LabelledBlock(0, labels)]
            write_labels(Path(self.out_labels), len(labels), blocks, taken, spreadsheet_safe=safe)
        if self.representatives is not None:
            nearest = model.representatives(rows, self.n_representatives)
            write_representatives(self.representatives, nearest, ids, safe)
        if (self.out, self.report, self.live) == (None, None, None):
            return files
        try:
            report = describe_report(
                model,
                rows,
                document=document,
                feature_names=rows.feature_names,
                image_shape=image_shape,
                command=_repeat_command(),
                true_labels=truth,
                ids=None if ids is None else partial(pick_ids, ids),
                sample_weight=weights,
            )
            stored = () if self.out is None else (save_report(report, Path(self.out)),)
            if self.report is not None or self.live is not None:
                self._show(render_report(report))
        except BaseException:
            self.print_summary(document, files, with_report=False)
            raise
        return files + stored

    def _show(self, page: str) -> None:
        if self.report is not None:
            write_page(page, Path(self.report))
        if self.live is not None:
            self.live.finish(page)

    def keep_open(self) -> AbstractContextManager[Callable[[], None]]:
        """Return a context whose value waits for Ctrl-C if a browser shows the report.

        It is entered before the summary is printed: whoever has seen that may press Ctrl-C.
        """
        return nullcontext(lambda: None) if self.live is None else await_interrupt()

    def print_summary(
        self, document: dict[str, Any], files: Sequence[Path], *, with_report: bool = True
    ) -> None:
        """Print the summary or the document, and where files and the report lie."""
        if self.as_json:
            click.echo(json.dumps(document))
        elif not self.quiet:
            click.echo(summarize_fit(document, files, self.report if with_report else None))
            if self.out_labels is not None:
                n_rows = document["data"]["shape"][0]
                click.echo(f"{n_rows} labels written to {self.out_labels}")
            if self.representatives is not None:
                click.echo(f"representatives written to {self.representatives}")


def resolve_image_shape(
    image_shape: ImageShape | str | None, rows: RowSource
) -> ImageShape | str | None:
    """Return the shape of rows that are images, checked before the fit; "auto" if still unknown."""
    if isinstance(image_shape, str):
        return image_shape if rows.image_shape is None else rows.image_shape
    return check_image_shape(image_shape, rows.shape[1])


def _repeat_command() -> str | None:
    """Return the command that was typed, or None outside of the command line."""
    context = click.get_current_context(silent=True)
    words = None if context is None else context.obj
    return None if words is None else shlex.join([PROGRAM, *words])


def summarize_fit(document: dict[str, Any], files: Sequence[Path], report: str | None) -> str:
    """Return the summary of a fit, one quantity per line, and the names of the written files."""
    data, results, seconds = document["data"], document["results"], document["seconds"]
    sizes, theorem = results["cluster_sizes"], document.get("theorem1")
    explained, cosine = results.get("explained_variance_ratio"), results.get("mean_cosine")
    steps = ", ".join(f"{step} {time:.3f}" for step, time in seconds.items())
    lines = {
        "data": f"{data['name']}, {data['shape'][0]} x {data['shape'][1]} {data['dtype']}",
        "clusters": f"{len(sizes)} of {min(sizes)} to {max(sizes)} rows, median {median(sizes):g}",
        "set aside": _count_set_aside(results["set_aside"], results["missing_rows"]),
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
        "planned": f"{document['plan']['megabytes']:.3g} MB beyond the data: "
        f"{document['plan']['reason']}",
        "report": report,
    }
    text = [f"{name:<14} {value}" for name, value in lines.items() if value is not None]
    return "\n".join([*text, list_files(files)] if files else text)


def _count_set_aside(n_rows: int, n_missing: int) -> str | None:
    """Return how many rows have the label -1, and why; None if none has."""
    if not n_rows:
        return None
    holes = f", {n_missing} of them because they have a hole" if n_missing else ""
    return f"{n_rows} rows (label -1){holes}"

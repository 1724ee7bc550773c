"""What the command line does with a fit beside printing it: files, the report, the live page.

Opens every place before the long work, so that nothing is lost after it; it does not fit.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from projected_kmeans.estimator.model_files import save_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.reports.build import describe_report, write_page
from projected_kmeans.reports.files import save_report
from projected_kmeans.reports.live_fit import LiveFit, wait_for_interrupt, watch_fit
from projected_kmeans.reports.members import ImageShape, check_image_shape
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.plots import load_script
from projected_kmeans.results import FitState
from projected_kmeans.sources.protocol import RowSource

Callback = Callable[[FitState], object]


@dataclass(frozen=True)
class FitDisplay:
    """Where a fit goes: a folder, a page, a browser; each may be None."""

    model: ProjectedKMeans
    folder: Path | None
    page: Path | None
    live: LiveFit | None

    def listen(self, callback: Callback | None) -> Callback | None:
        """Return the callback of the fit: the terminal's, the live page's, or both."""
        if self.live is None:
            return callback

        def planned() -> float | None:
            known = getattr(self.model, "forecast_", None)
            return None if known is None else float(known.total)

        return self.live.listen(planned, callback)

    def keep(
        self, document: Mapping[str, Any], rows: RowSource, image_shape: ImageShape | str | None
    ) -> tuple[Path, ...]:
        """Write and show what was asked for; return the files in the folder.

        Parameters
        ----------
        document : mapping
            What `describe_fit` returned.
        rows : RowSource
            The rows of the fit.
        image_shape : tuple of int, "auto" or None
            How rows look, as `describe_report` takes it.
        """
        if self.folder is None and self.page is None and self.live is None:
            return ()
        report = describe_report(
            self.model,
            rows,
            document=document,
            feature_names=rows.feature_names,
            image_shape=image_shape,
            command=_command(),
        )
        files: tuple[Path, ...] = ()
        if self.folder is not None:
            kept = save_report(report, self.folder)
            files = (*save_fit(self.model, document, self.folder, rows.feature_names), kept)
        if self.page is not None or self.live is not None:
            page = render_report(report)
            if self.page is not None:
                write_page(page, self.page)
            if self.live is not None:
                self.live.finish(page)
        return files

    def stay(self) -> None:
        """Keep the report open in the browser until Ctrl-C."""
        if self.live is not None:
            wait_for_interrupt()


@contextmanager
def open_display(
    name: str, model: ProjectedKMeans, out: str | None, report: str | None, serve: int | None
) -> Iterator[FitDisplay]:
    """Open the places that a fit is asked to go to, before it begins.

    Parameters
    ----------
    name : str
        What the data is called.
    model : ProjectedKMeans
        About to be fitted.
    out, report : str or None
        A folder for all files, and a file for the page.
    serve : int or None
        The port of the live page, 0 for a free one; None for no such page.
    """
    with ExitStack() as stack:
        folder = None if out is None else stack.enter_context(open_output_folder(out))
        page = None if report is None else _check_page(Path(report))
        if page is not None:
            load_script()
            stack.enter_context(open_output_folder(page.parent))
        live = None
        if serve is not None:
            watched = watch_fit(name, model.n_clusters, serve)
            live, address = stack.enter_context(watched)
            click.echo(f"watch at {address} (Ctrl-C ends)", err=True)
        yield FitDisplay(model, folder, page, live)


def resolve_image_shape(
    image_shape: ImageShape | str | None, image_size: tuple[int, int] | None, n_features: int
) -> ImageShape | str | None:
    """Return how rows look, known before a long fit; "auto" where only the rows can tell.

    Parameters
    ----------
    image_shape : tuple of int, "auto" or None
        What the caller says.
    image_size : (int, int) or None
        Width and height to which images were resized.
    n_features : int
        Columns of the rows.

    Examples
    --------
    >>> resolve_image_shape("auto", (32, 16), 1536)
    (16, 32, 3)
    """
    if image_shape == "auto" and image_size is not None:
        width, height = image_size
        image_shape = (height, width) if width * height == n_features else (height, width, 3)
    return (
        image_shape if isinstance(image_shape, str) else check_image_shape(image_shape, n_features)
    )


def _check_page(path: Path) -> Path:
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    return path


def _command() -> str | None:
    """Return what was typed, where a command line was."""
    context = click.get_current_context(silent=True)
    words = None if context is None else context.obj
    return None if words is None else shlex.join(["projected-kmeans", *words])

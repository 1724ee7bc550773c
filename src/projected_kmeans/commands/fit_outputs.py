"""Where a fit goes besides the terminal: a folder of files, an HTML report, a live page.

Every place is opened before the fit begins, so that a path that cannot be written is refused
before the long work instead of after it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from projected_kmeans.commands.command_table import PROGRAM
from projected_kmeans.commands.named_files import check_file
from projected_kmeans.estimator.model_files import save_fit
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
from projected_kmeans.output_files import open_output_folder
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.files import save_report
from projected_kmeans.reports.live_fit import LiveFit, watch_fit
from projected_kmeans.reports.members import ImageShape, check_image_shape
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.plots import load_script
from projected_kmeans.reports.row_names import PickIds
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.interrupts import await_interrupt
from projected_kmeans.sources.protocol import RowSource

Callback = Callable[[FitState], object]


@dataclass(frozen=True)
class FitOutputs:
    """The places that a fit was asked to go to.

    Attributes
    ----------
    model : ProjectedKMeans
        The estimator, before and after its fit.
    folder : Path or None
        For labels, centers, model and result.
    page : Path or None
        The file of the HTML report.
    live : LiveFit or None
        The page that a browser shows while the fit runs.
    """

    model: ProjectedKMeans
    folder: Path | None
    page: Path | None
    live: LiveFit | None

    def listen(self, callback: Callback | None) -> Callback | None:
        """Return a callback that tells the live page, if there is one, and the given callback."""
        if self.live is None:
            return callback

        return self.live.listen(lambda: float(self.model.forecast_.total), callback)

    def save(self, document: Mapping[str, Any], rows: RowSource) -> tuple[Path, ...]:
        """Write the fit into the folder, if there is one; return the files.

        This comes first, so that a report that fails or is interrupted does not lose the fit.

        Parameters
        ----------
        document : mapping
            The description of the fit that `describe_fit` returned.
        rows : RowSource
            The rows of the fit.
        """
        if self.folder is None:
            return ()
        return save_fit(self.model, document, self.folder, rows.feature_names)

    def report(
        self,
        document: Mapping[str, Any],
        rows: RowSource,
        image_shape: ImageShape | str | None,
        truth: NDArray[Any] | None = None,
        ids: PickIds | None = None,
        weights: Floats | None = None,
    ) -> tuple[Path, ...]:
        """Write the reports and pages that were asked for; return the files in the folder.

        Parameters
        ----------
        document : mapping
            The description of the fit that `describe_fit` returned.
        rows : RowSource
            The rows of the fit.
        image_shape : tuple of int, "auto" or None
            The shape of rows that are images, as `describe_report` takes it.
        truth : ndarray (n,), optional
            True labels of the rows.
        ids : callable, optional
            Finds the ids of some rows.
        weights : ndarray of float64 (n,), optional
            The weights of the fit.
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
            true_labels=truth,
            ids=ids,
            sample_weight=weights,
        )
        files = () if self.folder is None else (save_report(report, self.folder),)
        if self.page is not None or self.live is not None:
            page = render_report(report)
            if self.page is not None:
                write_page(page, self.page)
            if self.live is not None:
                self.live.finish(page)
        return files

    def keep_open(self) -> AbstractContextManager[Callable[[], None]]:
        """Return a context whose value waits for Ctrl-C if a browser shows the report.

        It is entered before the summary is printed: whoever has seen that may press Ctrl-C.
        """
        return nullcontext(lambda: None) if self.live is None else await_interrupt()


@contextmanager
def open_outputs(
    name: str, model: ProjectedKMeans, out: str | None, report: str | None, serve: int | None
) -> Iterator[FitOutputs]:
    """Check and open the places that a fit is asked to go to.

    Parameters
    ----------
    name : str
        The name of the data.
    model : ProjectedKMeans
        The estimator that will be fitted.
    out, report : str or None
        A folder for all files, and a file for the HTML report.
    serve : int or None
        The port of the live page, 0 for a free port; None for no live page.
    """
    with ExitStack() as stack:
        folder = None if out is None else stack.enter_context(open_output_folder(out))
        page = None if report is None else check_file(report)
        if page is not None:
            load_script()
            stack.enter_context(open_output_folder(page.parent))
        live = None
        if serve is not None:
            watched = watch_fit(name, model.n_clusters, serve)
            live, address = stack.enter_context(watched)
            click.echo(f"watch at {address} (Ctrl-C ends)", err=True)
        yield FitOutputs(model, folder, page, live)


def resolve_image_shape(
    image_shape: ImageShape | str | None, rows: RowSource
) -> ImageShape | str | None:
    """Return the shape of rows that are images, checked before the fit; "auto" if still unknown.

    Parameters
    ----------
    image_shape : tuple of int, "auto" or None
        The value of ``--image-shape``.
    rows : RowSource
        Rows of image files know their shape.
    """
    if isinstance(image_shape, str):
        return image_shape if rows.image_shape is None else rows.image_shape
    return check_image_shape(image_shape, rows.shape[1])


def _command() -> str | None:
    """Return the command that was typed, or None outside of the command line."""
    context = click.get_current_context(silent=True)
    words = None if context is None else context.obj
    return None if words is None else shlex.join([PROGRAM, *words])

"""What becomes of a finished fit: its files, its report, and what is printed.

The places were opened before the fit (`fit_outputs`, `label_files`, `representative_files`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from projected_kmeans.commands.fit_outputs import FitOutputs
from projected_kmeans.commands.label_files import GUARDS, open_label_folder, write_labels
from projected_kmeans.commands.representative_files import (
    open_representative_folder,
    pick_ids,
    write_representatives,
)
from projected_kmeans.commands.summaries import summarize_fit
from projected_kmeans.passes.labelling import LabelledBlock
from projected_kmeans.results import Floats
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import RowIds


@dataclass(frozen=True)
class Wanted:
    """Which files a fit was asked to write beside its folder, and what to print.

    Attributes
    ----------
    out_labels : str or None
        The file of labels.
    representatives : str or None
        The file of the rows nearest to each center.
    n_representatives : int
        How many of them for each center.
    spreadsheet_safe : bool
        Whether ids in text are guarded.
    quiet, as_json : bool
        Whether to print nothing, or the document.
    """

    out_labels: str | None
    representatives: str | None
    n_representatives: int
    spreadsheet_safe: bool
    quiet: bool
    as_json: bool

    @classmethod
    def take(cls, options: dict[str, Any]) -> Wanted:
        """Remove from the options of a command those that this value holds."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    @contextmanager
    def open_folders(self, *, has_ids: bool) -> Iterator[None]:
        """Check, before the long work, that all files can be written."""
        with_ids = has_ids and (self.out_labels, self.representatives) != (None, None)
        safe = self.spreadsheet_safe
        if safe and (self.out_labels, self.representatives) == (None, None):
            raise ValueError(f"{GUARDS}; give --out-labels and a .csv file, or leave it out")
        with (
            open_label_folder(self.out_labels, with_ids=with_ids, spreadsheet_safe=safe),
            open_representative_folder(self.representatives),
        ):
            yield


@dataclass(frozen=True)
class Delivery:
    """A finished fit and where its parts go.

    Attributes
    ----------
    outputs : FitOutputs
        The folder, the report and the live page.
    document : dict
        The description of the fit that `describe_fit` returned.
    wanted : Wanted
        The other files, and what to print.
    """

    outputs: FitOutputs
    document: dict[str, Any]
    wanted: Wanted

    def write(
        self,
        rows: RowSource,
        ids: RowIds | None,
        weights: Floats | None,
        image_shape: tuple[int, ...] | str | None,
        truth: NDArray[Any] | None,
    ) -> tuple[Path, ...]:
        """Write the fit and then its report, whose failure must not lose the fit; return files."""
        files = self.outputs.save(self.document, rows)
        wanted = self.wanted
        safe = wanted.spreadsheet_safe
        if wanted.out_labels is not None:
            labels = self.outputs.model.labels_
            given = None if ids is None else ids.take_ids()
            blocks = [LabelledBlock(0, labels)]
            write_labels(Path(wanted.out_labels), len(labels), blocks, given, spreadsheet_safe=safe)
        if wanted.representatives is not None:
            found = self.outputs.model.representatives(rows, wanted.n_representatives)
            write_representatives(wanted.representatives, found, ids, spreadsheet_safe=safe)
        try:
            pick = None if ids is None else partial(pick_ids, ids)
            return files + self.outputs.report(
                self.document, rows, image_shape, truth, pick, weights
            )
        except BaseException:
            self.print_summary(files, None)
            raise

    def print_summary(self, files: Sequence[Path], report: str | None) -> None:
        """Print the summary or the document, and where files and the report lie."""
        if self.wanted.as_json:
            click.echo(json.dumps(self.document))
        elif not self.wanted.quiet:
            click.echo(summarize_fit(self.document, files, report))
            if self.wanted.out_labels is not None:
                n_rows = self.document["data"]["shape"][0]
                click.echo(f"{n_rows} labels written to {self.wanted.out_labels}")
            if self.wanted.representatives is not None:
                click.echo(f"representatives written to {self.wanted.representatives}")

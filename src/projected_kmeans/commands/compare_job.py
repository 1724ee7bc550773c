"""What ``compare`` does. Loaded when the command runs, so that its help need not wait."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from projected_kmeans.commands.label_files import check_label_file, read_label_file
from projected_kmeans.commands.summaries import list_matches
from projected_kmeans.output_files import open_output_folder, write_atomically
from projected_kmeans.passes.scoring import compare_clusterings

# Lines of the table of matched clusters.
MAX_SHOWN = 40


def run_compare(a: str, b: str, moved: str | None, quiet: bool, as_json: bool) -> None:
    """Compare two clusterings of the same rows."""
    if moved is not None and check_label_file(moved).suffix != ".csv":
        raise ValueError(f"{moved} is no .csv file; name one for the rows that moved")
    first = read_label_file(a)
    found = compare_clusterings(first, read_label_file(b, len(first)))
    if moved is not None:
        lines = "".join(f"{row}\n" for row in ("row", *found.moved_rows.tolist()))
        with open_output_folder(Path(moved).parent):
            write_atomically(Path(moved), lambda handle: handle.write(lines.encode()))
    if as_json:
        document = {name: value for name, value in vars(found).items() if name != "moved_rows"}
        matches = [one._asdict() for one in found.matches]
        document |= {"matches": matches, "n_moved": len(found.moved_rows)}
        click.echo(json.dumps({"a": Path(a).name, "b": Path(b).name, **document}))
    elif not quiet:
        click.echo(found.describe())
        Console().print(list_matches(found.matches[:MAX_SHOWN]))
        if len(found.matches) > MAX_SHOWN:
            click.echo(f"and {len(found.matches) - MAX_SHOWN} more clusters; --json lists all")
        if moved is not None:
            click.echo(f"{len(found.moved_rows)} rows written to {moved}")

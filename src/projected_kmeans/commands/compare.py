"""The command ``compare``: how much two files of labels agree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from projected_kmeans.commands.options import json_option, quiet_option

if TYPE_CHECKING:
    from rich.table import Table

    from projected_kmeans.passes.scoring import MatchedClusters

# Lines of the table of matched clusters.
MAX_SHOWN = 40


@click.command()
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@click.option(
    "--moved",
    metavar="FILE",
    type=click.Path(),
    help="Write the numbers of the rows that moved, from 0, to this .csv file.",
)
@quiet_option
@json_option
def compare(a: str, b: str, moved: str | None, quiet: bool, as_json: bool) -> None:
    """Compare two clusterings of the same rows.

    A and B are files with the cluster of every row, such as labels.npy of fit --out. Clusters are
    matched one to one, so that their numbers need not mean the same. Printed are the share of rows
    in matched clusters (overlap), the adjusted Rand index, the normalized mutual information, how
    many rows moved, and which cluster became which. Rows with the label -1 are in no cluster.

    \b
    Examples:
      projected-kmeans compare monday/labels.npy tuesday/labels.npy
      projected-kmeans compare old.csv new.csv --moved moved.csv
    """
    from rich.console import Console

    from projected_kmeans.commands.data import read_label_file
    from projected_kmeans.commands.written_files import check_file, write_csv
    from projected_kmeans.output_files import open_output_folder
    from projected_kmeans.passes.scoring import compare_clusterings

    if moved is not None and check_file(moved).suffix != ".csv":
        raise ValueError(f"{moved} is no .csv file; name one for the rows that moved")
    first = read_label_file(a)
    agreement = compare_clusterings(first, read_label_file(b, len(first)))
    moved_rows = agreement.moved_rows.tolist()
    if moved is not None:
        with open_output_folder(Path(moved).parent):
            write_csv(Path(moved), [["row"], *([row] for row in moved_rows)])
    if as_json:
        document = {name: value for name, value in vars(agreement).items() if name != "moved_rows"}
        matches = [match._asdict() for match in agreement.matches]
        document |= {"matches": matches, "n_moved": len(moved_rows)}
        click.echo(json.dumps({"a": Path(a).name, "b": Path(b).name, **document}))
    elif not quiet:
        click.echo(agreement.describe())
        Console().print(_list_matches(agreement.matches[:MAX_SHOWN]))
        if len(agreement.matches) > MAX_SHOWN:
            click.echo(f"and {len(agreement.matches) - MAX_SHOWN} more clusters; --json lists all")
        if moved is not None:
            click.echo(f"{len(moved_rows)} rows written to {moved}")


def _list_matches(matches: Sequence[MatchedClusters]) -> Table:
    """Return a table of which cluster became which."""
    from rich.table import Table

    table = Table()
    for name in ("cluster of A", "cluster of B", "shared rows", "rows in A", "rows in B"):
        table.add_column(name, justify="right")
    for match in matches:
        table.add_row(*("-" if value is None else str(value) for value in match))
    return table

"""The command ``compare``: how much two files of labels agree.

Reads both files and prints the comparison, which is that of `passes.comparison`.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from projected_kmeans.commands.label_files import check_label_file, read_label_file
from projected_kmeans.commands.options import json_option, quiet_option
from projected_kmeans.commands.summaries import list_matches
from projected_kmeans.output_files import open_output_folder, write_atomically
from projected_kmeans.passes.comparison import compare_clusterings

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

"""Which columns of DATA a stored model takes, if the caller does not say.

Chooses names; `open_rows` reads the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from projected_kmeans.blocks.known_columns import find_others
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.sources.feature_columns import list_names
from projected_kmeans.sources.side_columns import list_column_names


def choose_model_columns(
    model: FittedModel, data: str, options: dict[str, Any], *, quiet: bool = False
) -> None:
    """Set ``columns`` among the options of a command to those that a model was fitted to.

    Nothing is set if the caller chose columns, if the model knows no names, or if DATA has none.
    Columns that the model does not know are named on the standard error, except those that its fit
    left out on request, such as by ``--drop``.

    Parameters
    ----------
    model : FittedModel
        A loaded model.
    data : str
        The file or folder.
    options : dict
        The options of the command; changed.
    quiet : bool, default=False
        Whether to say nothing about other columns.
    """
    known = model.data_columns
    if known is None or options["columns"] is not None or options["drop"] is not None:
        return
    given = list_column_names(data, options["format"])
    if not given or given == list(known):
        return
    others = find_others(known, given, data)
    options["columns"] = list(known)
    named = {options.get("id_column"), options.get("label_column"), *model.left_out_columns}
    unknown = [name for name in others if name not in named]
    if unknown and not quiet:
        click.echo(f"columns that the model does not know: {list_names(unknown)}", err=True)


def list_left_out(data: str, choice: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns of DATA that the caller of a fit left out, or did not choose."""
    if choice["columns"] is None:
        return tuple(choice["drop"] or ())
    given = list_column_names(data, choice["format"])
    return tuple(name for name in given if name not in choice["columns"])


def name_columns(columns: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the columns that the caller of a fit chose, as the document of the fit holds them."""
    return {} if columns is None else {"columns": list(columns)}

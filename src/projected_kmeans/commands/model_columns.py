"""Which columns of DATA a stored model takes, if the caller does not say.

Chooses names; `open_rows` reads the columns.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.blocks.known_columns import find_others
from projected_kmeans.estimator.fitted_model import FittedModel
from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans
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


def note_columns(model: ProjectedKMeans, data: str, choice: dict[str, Any]) -> dict[str, list[str]]:
    """Tell a model which columns of DATA its fit left out; return those that the caller chose.

    Parameters
    ----------
    model : ProjectedKMeans
        A fitted model; changed.
    data : str
        The file or folder of the fit.
    choice : dict
        Arguments of `open_rows`.
    """
    columns = choice["columns"]
    if columns is None:
        model._left_out_columns = tuple(choice["drop"] or ())
        return {}
    given = list_column_names(data, choice["format"])
    model._left_out_columns = tuple(name for name in given if name not in columns)
    return {"columns": list(columns)}

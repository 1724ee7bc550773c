"""What a command reads: the rows of DATA, their ids, true labels and weights, names of columns.

Rows are loaded if they are few, otherwise read block by block. Both ways give the same rows and the
same result; loading is faster where the data fits in memory.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from projected_kmeans.blocks.inputs import find_others
from projected_kmeans.blocks.stored_blocks import StoredBlocks
from projected_kmeans.commands.options import DATA_CHOICES
from projected_kmeans.estimator.fit_folder import check_fit_file
from projected_kmeans.messages import first_line
from projected_kmeans.output_group import read_group
from projected_kmeans.results import Floats
from projected_kmeans.sources.array_source import ArrayRows
from projected_kmeans.sources.feature_columns import list_names
from projected_kmeans.sources.memory import machine_memory
from projected_kmeans.sources.open_rows import open_rows, read_labels, rename_columns
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import (
    ListedIds,
    RowIds,
    SideColumn,
    leave_out,
    list_column_names,
    open_side_column,
)

if TYPE_CHECKING:  # commands without a model need not load it
    from projected_kmeans.estimator.fitted_model import FittedModel
    from projected_kmeans.estimator.projected_kmeans import ProjectedKMeans

# Load rows that take at most this share of the machine's memory.
LOADED_SHARE = 1 / 8
# Bytes of memory to assume on systems that do not tell how much they have.
ASSUMED_MEMORY = 2**32


def open_data(
    path: str,
    *,
    memory_limit: str | None = None,
    load: bool = True,
    feature_names: str | None = None,
    **choice: Any,
) -> RowSource:
    """Return the rows of a file or folder, in memory if they are few and no limit is set.

    `load=False` never loads them; `feature_names` is a file of names of the columns; other
    arguments are those of `open_rows`.
    """
    source = open_rows(path, **choice)
    if feature_names is not None:
        source = rename_columns(source, read_feature_names(feature_names, source.shape[1]))
    size = StoredBlocks(source).row_bytes * source.shape[0]
    if not load or memory_limit is not None or size > LOADED_SHARE * find_machine_memory():
        return source
    return _load(source)


def unwrap(source: RowSource) -> Any:
    """Return the array of a loaded source, and any other source itself.

    Plans and proofs take rows as lying in memory only if they are an array.
    """
    return source.array if isinstance(source, ArrayRows) else source


def load_data(path: str, **choice: Any) -> ArrayRows:
    """Return all rows of a file or folder in memory, dense or sparse."""
    return _load(open_rows(path, **choice))


def _load(source: RowSource) -> ArrayRows:
    with source:
        loaded = ArrayRows(source.read(0, source.shape[0]))
        loaded.feature_names, loaded.labels = source.feature_names, source.labels
        loaded.row_ids, loaded.image_shape = source.row_ids, source.image_shape
        loaded.origin = source
        return loaded


def find_machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    size = machine_memory()
    return ASSUMED_MEMORY if math.isinf(size) else int(size)


class Choices(NamedTuple):
    """What is read of DATA and beside it.

    Attributes
    ----------
    rows : dict
        Arguments for `open_data`; columns that are not features are left out.
    ids : SideColumn or None
        The column that ``--id-column`` names.
    id_file : str or None
        The file that ``--ids`` names.
    labels, weights : SideColumn or None
        The columns that ``--label-column`` and ``--weight-column`` name.
    """

    rows: dict[str, Any]
    ids: SideColumn | None
    id_file: str | None
    labels: SideColumn | None
    weights: SideColumn | None

    def find_ids(self, rows: RowSource) -> RowIds | None:
        """Return the ids of rows: those that were asked for, or the names of image files."""
        if self.ids is not None:
            return self.ids
        if self.id_file is not None:
            return read_ids(self.id_file, rows.shape[0])
        return None if rows.row_ids is None else ListedIds(rows.row_ids, "file")

    def read_truth(self, rows: RowSource) -> NDArray[Any] | None:
        """Return the true labels of a column or of folders, if one of them was asked for."""
        if self.labels is not None:
            return self.labels.read_labels()
        return rows.labels if self.rows["folder_labels"] else None

    def find_truth(self, file: str | None, rows: RowSource) -> NDArray[Any] | None:
        """Return the true labels of a column, of a file or stored with the rows, if any."""
        if self.labels is not None:
            return self.labels.read_labels()
        return rows.labels if file is None else read_label_file(file, rows.shape[0])

    def read_weights(self) -> Floats | None:
        """Return the weights of all rows; None if every row counts once."""
        skips = self.rows["on_missing"] == "skip"
        return None if self.weights is None else self.weights.read_numbers(nan_holes=skips)


def has_ids(options: dict[str, Any]) -> bool:
    """Return whether the caller asked for ids beside the labels."""
    return options["id_column"] is not None or options["ids"] is not None


def check_truths(labels: str | None, options: dict[str, Any]) -> None:
    """Raise if a file of labels and another option both give the true labels."""
    for option in ("label_column", "folder_labels"):
        if labels is not None and options[option]:
            flag = f"--{option.replace('_', '-')}"
            raise ValueError(f"--labels and {flag} both give true labels; give one of them")


def take_choices(data: str, options: dict[str, Any]) -> Choices:
    """Remove from the options those that say how DATA is read, and open its side columns.

    ``on_missing`` stays, because it is a parameter of the fit, too.
    """
    choice = {name: options.pop(name) for name in DATA_CHOICES}
    choice["folder_labels"] = options.pop("folder_labels")
    choice["feature_names"] = options.pop("feature_names", None)
    choice["on_missing"] = options.get("on_missing") or "error"
    names = [options.pop(f"{kind}_column", None) for kind in ("id", "label", "weight")]
    if choice["folder_labels"] and names[1] is not None:
        raise ValueError(
            "--folder-labels and --label-column both give true labels; give one of them"
        )
    ids, labels, weights = (
        None if name is None else open_side_column(data, name, choice["format"]) for name in names
    )
    features = leave_out(choice, [name for name in names if name is not None])
    id_file = options.pop("ids")
    if ids is not None and id_file is not None:
        raise ValueError("--ids and --id-column both give ids; give one of them")
    return Choices(features, ids, id_file, labels, weights)


def take_model_choices(
    model: FittedModel, data: str, options: dict[str, Any], *, quiet: bool
) -> Choices:
    """Return what is read of DATA for a stored model, which treats holes as it was fitted."""
    _choose_model_columns(model, data, options, quiet=quiet)
    choices = take_choices(data, options)
    choices.rows["on_missing"] = model.settings.on_missing
    return choices


def _choose_model_columns(
    model: FittedModel, data: str, options: dict[str, Any], *, quiet: bool
) -> None:
    """Set ``columns`` among the options of a command to those that a model was fitted to.

    Nothing is set if the caller chose columns, if the model knows no names, or if DATA has none.
    Columns that the model does not know are named on the standard error, except those that its fit
    left out on request, such as by ``--drop``.
    """
    known = model.data_columns
    if known is None or options["columns"] is not None or options["drop"] is not None:
        return
    given = list_column_names(data, options["format"])
    if not given or given == list(known):
        return
    others = find_others(known, given, data)
    options["columns"] = list(known)
    sides = (options.get(f"{kind}_column") for kind in ("id", "label", "weight"))
    named = {*sides, *model.left_out_columns}
    unknown = [name for name in others if name not in named]
    if unknown and not quiet:
        click.echo(f"columns that the model does not know: {list_names(unknown)}", err=True)


def note_columns(model: ProjectedKMeans, data: str, choice: dict[str, Any]) -> dict[str, list[str]]:
    """Tell a model which columns of DATA its fit left out; return those that the caller chose."""
    columns = choice["columns"]
    if columns is None:
        model._left_out_columns = tuple(choice["drop"] or ())
        return {}
    given = list_column_names(data, choice["format"])
    model._left_out_columns = tuple(name for name in given if name not in columns)
    return {"columns": list(columns)}


def read_label_file(path: str, n_samples: int | None = None) -> NDArray[Any]:
    """Return the labels of a file; refuse a file that has not exactly one for each row.

    A table with a column "label", as --out-labels writes it, gives that column. Labels that lie
    beside the model of another fit are refused.
    """
    with read_group(Path(path).parent) as group:
        check_fit_file(group, Path(path).name)
        column = _find_label_column(path)
        truth = read_labels(path) if column is None else _read_label_column(path, column)
    if n_samples is not None and len(truth) != n_samples:
        raise ValueError(f"{path} has {len(truth)} labels for {n_samples} rows; give one for each")
    return truth


def _find_label_column(path: str) -> str | None:
    """Return the name of the column of labels in a table; None if a file is no such table."""
    names = list_column_names(path) if Path(path).suffix in (".csv", ".parquet") else []
    if names[:2] == ["label", "cluster"]:  # the ids have the name that labels usually have
        return "cluster"
    return "label" if "label" in names else None


def _read_label_column(path: str, column: str) -> NDArray[Any]:
    """Return the labels in a column of a table, as numbers if they are numbers."""
    cells = open_side_column(path, column).read_labels()
    try:
        return cells.astype(np.int64)
    except ValueError:
        return cells


def read_ids(path: str, n_rows: int) -> ListedIds:
    """Return the ids of a file; raise unless there is one for each row.

    A text file has one id per line, and a header if it has one line more; a ``.npy`` file has text
    or whole numbers.
    """
    file, name = Path(path), "id"
    cells: list[Any] = _read_id_array(file) if file.suffix == ".npy" else _read_lines(file, "id")
    if file.suffix != ".npy" and len(cells) == n_rows + 1:
        name, *cells = cells
    if len(cells) != n_rows:
        raise ValueError(f"{path} has {len(cells)} ids for {n_rows} rows; give one for each")
    return ListedIds(cells, name, path)


def _read_id_array(file: Path) -> list[Any]:
    try:
        stored = np.load(file, allow_pickle=False)
    except Exception as error:  # NumPy's parser raises nearly anything
        raise ValueError(
            f"{file} cannot be read as ids ({first_line(error)}); give an array of text or numbers"
        ) from error
    if stored.ndim != 1 or stored.dtype.kind not in "Uiu":
        raise ValueError(
            f"{file} holds {stored.dtype} of shape {stored.shape}; give one id a row, as text or "
            "whole numbers"
        )
    cells: list[Any] = stored.tolist()
    return cells


def read_feature_names(path: str, n_features: int) -> tuple[str, ...]:
    """Return the names in a file; refuse a file that has not exactly one for each column.

    A text file has one name per line. Of a ``.npz`` file, the first array of text with as many
    entries as there are columns is taken.
    """
    file = Path(path)
    is_array = file.suffix in (".npy", ".npz")
    names = _read_name_arrays(file, n_features) if is_array else _read_lines(file, "name")
    if len(names) != n_features:
        raise ValueError(
            f"{path} has {len(names)} names for {n_features} columns; give one for each"
        )
    return tuple(names)


def _read_lines(file: Path, what: str) -> list[str]:
    """Return the lines of a text file, each of which is a name or an id."""
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{file} cannot be read as {what}s ({first_line(error)}); give a text file with one "
            f"{what} per line"
        ) from error


def _read_name_arrays(file: Path, n_features: int) -> list[str]:
    try:
        stored = np.load(file, allow_pickle=False)
        arrays = [stored] if isinstance(stored, np.ndarray) else list(stored.values())
    except Exception as error:  # NumPy's parser raises nearly anything
        raise ValueError(
            f"{file} cannot be read as names ({first_line(error)}); give an array of text"
        ) from error
    texts = [array for array in arrays if array.ndim == 1 and array.dtype.kind == "U"]
    if not texts:
        raise ValueError(f"{file} holds no array of text; give a text file with one name per line")
    fitting = [array for array in texts if len(array) == n_features]
    return [str(name) for name in (fitting or texts)[0]]

"""What is read of DATA: its features, and ids, labels and weights that are no features."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from projected_kmeans.commands.id_files import IdChoice
from projected_kmeans.commands.options import DATA_CHOICES
from projected_kmeans.results import Floats
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.sources.side_columns import SideColumn, leave_out, open_side_column


class Choices(NamedTuple):
    """What is read of DATA.

    Attributes
    ----------
    rows : dict
        Arguments for `open_data`; columns that are not features are left out.
    ids : IdChoice
        Where ids come from.
    labels, weights : SideColumn or None
        The columns that ``--label-column`` and ``--weight-column`` name.
    """

    rows: dict[str, Any]
    ids: IdChoice
    labels: SideColumn | None
    weights: SideColumn | None

    def read_truth(self, rows: RowSource) -> NDArray[Any] | None:
        """Return the true labels of a column or of folders, if one of them was asked for."""
        if self.labels is not None:
            return self.labels.read_labels()
        return rows.labels if self.rows["folder_labels"] else None

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
    left = leave_out(choice, [name for name in names if name is not None])
    return Choices(left, IdChoice(ids, options.pop("ids")), labels, weights)

"""Files of labels as the command line reads and writes them, and columns compared by name.

Knows one label a line and .npy; which labels to ask for is the command's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from projected_kmeans.estimator import ProjectedKMeans
from projected_kmeans.files import Matrix
from projected_kmeans.label_formats import read_labels
from projected_kmeans.output_files import write_array, write_atomically


def read_labels_of(path: str, n_samples: int) -> NDArray[Any]:
    """Return the labels of a file, one for each of so many rows."""
    truth = read_labels(path)
    if len(truth) != n_samples:
        raise ValueError(f"{path} has {len(truth)} labels for {n_samples} rows; give one for each")
    return truth


def match_names(model: ProjectedKMeans, matrix: Matrix, data: str) -> None:
    """Raise where the columns of the data have other names than those of the fit."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or matrix.feature_names is None:
        return
    for column, pair in enumerate(zip(names, matrix.feature_names, strict=False), start=1):
        if pair[0] != pair[1]:
            raise ValueError(
                f"{data} has {pair[1]!r} in column {column} where the model has {pair[0]!r}; give "
                "the columns of the fit in the same order"
            )
    del model.feature_names_in_  # compared just now, and the rows alone carry no names


def check_label_file(out: str) -> Path:
    """Return where labels are to be written, if their format is known."""
    path = Path(out)
    if path.suffix not in (".npy", ".csv"):
        raise ValueError(f"{out} has the unknown format {path.suffix!r}; use .npy or .csv")
    if path.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    return path


def write_labels(path: Path, labels: NDArray[Any]) -> None:
    """Write labels as an array, or one a line."""
    if path.suffix == ".npy":
        write_array(path, labels)
    else:
        write_atomically(path, lambda handle: handle.write((join_labels(labels) + "\n").encode()))


def join_labels(labels: NDArray[Any]) -> str:
    """Return labels one a line."""
    return "\n".join(map(str, labels.tolist()))

"""Read the names of columns from a file, such as the vocabulary of texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from projected_kmeans.messages import first_line


def read_feature_names(path: str, n_features: int) -> tuple[str, ...]:
    """Return the names in a file; refuse a file that has not exactly one for each column.

    Parameters
    ----------
    path : str
        A text file with one name per line; a ``.npy`` file; or a ``.npz`` file, of which the first
        array of text with as many entries as there are columns is taken.
    n_features : int
        The number of columns.
    """
    file = Path(path)
    names = (
        _read_arrays(file, n_features)
        if file.suffix in (".npy", ".npz")
        else read_lines(file, "name")
    )
    if len(names) != n_features:
        raise ValueError(
            f"{path} has {len(names)} names for {n_features} columns; give one for each"
        )
    return names


def read_lines(file: Path, what: str) -> tuple[str, ...]:
    """Return the lines of a text file, each of which is a name, an id or the like."""
    try:
        return tuple(file.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{file} cannot be read as {what}s ({first_line(error)}); give a text file with one "
            f"{what} per line"
        ) from error


def _read_arrays(file: Path, n_features: int) -> tuple[str, ...]:
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
    return tuple(str(name) for name in (fitting or texts)[0])

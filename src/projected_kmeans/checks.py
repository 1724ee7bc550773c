"""Checks of parameters that several rooms share.

Each raises an error with one sentence that says what is wrong, what was passed, and what to use.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_count(name: str, value: Any, *, minimum: int = 1, word: str | None = None) -> None:
    """Raise unless a value is an integer of at least ``minimum``, or equals ``word``.

    Parameters
    ----------
    name : str
        The name of the parameter, for the error.
    value : object
        What the caller passed.
    minimum : int, default=1
        The smallest allowed integer.
    word : str, optional
        A text that is allowed in place of an integer, such as "auto".

    Examples
    --------
    >>> check_count("n_clusters", 0)
    Traceback (most recent call last):
    ...
    ValueError: n_clusters=0 is too small; use an integer of at least 1
    """
    if word is not None and isinstance(value, str) and value == word:
        return
    choice = f"an integer of at least {minimum}" + (f" or {word!r}" if word else "")
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not an integer; use {choice}")
    if value < minimum:
        raise ValueError(f"{name}={value} is too small; use {choice}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless a value is a finite number of at least 0."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not a number; use a finite number of at least 0")
    if not 0 <= value < np.inf:
        raise ValueError(f"{name}={value} is out of range; use a finite number of at least 0")


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise unless a value is one of the given choices."""
    known = list(choices)
    if not any(value is choice or value == choice for choice in known):
        listed = ", ".join(repr(choice) for choice in known)
        raise ValueError(f"{name}={value!r} is not known; use one of {listed}")


def check_components(n_components: Any, n_features: int) -> None:
    """Raise unless n_components is "auto" or an integer from 1 to n_features."""
    check_count("n_components", n_components, word="auto")
    if not isinstance(n_components, str) and n_components > n_features:
        raise ValueError(
            f"n_components={n_components} exceeds n_features={n_features}; "
            f"use at most {n_features} or 'auto'"
        )


def check_init(init: ArrayLike, n_clusters: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the first centers (k, d) as float64, or their row indices (k,) as int64.

    Parameters
    ----------
    init : array-like
        What the caller passed as ``init``, or what a callable ``init`` returned.
    n_clusters : int
        k.
    shape : (int, int)
        The number of rows and of columns of the data.
    """
    given = np.asarray(init)
    n_samples, n_features = shape
    if given.shape == (n_clusters,) and np.issubdtype(given.dtype, np.integer):
        if given.min() < 0 or given.max() >= n_samples:
            raise ValueError(
                f"init names rows {given.min()} to {given.max()} of n_samples={n_samples}; "
                f"use indices from 0 to {n_samples - 1}"
            )
        return given.astype(np.int64)
    if given.shape != (n_clusters, n_features):
        raise ValueError(
            f"init has shape {given.shape}; pass centers of shape ({n_clusters}, {n_features}) "
            f"or {n_clusters} row indices"
        )
    centers = np.ascontiguousarray(given, dtype=np.float64)
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"init contains {centers[row, column]} at row {row}, column {column}; "
            "use finite centers"
        )
    return centers

"""Checks of parameters that several rooms share.

Each raises an error with one sentence that says what is wrong, what was passed, and what to use.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_kmeans.messages import first_line

MAX_THREADS = 2**31 - 1  # kernels count threads in 32 bits


def check_count(
    name: str,
    value: Any,
    *,
    minimum: int = 1,
    most: tuple[str, int] | None = None,
    word: str | None = None,
) -> None:
    """Raise unless a value is an integer in some range, or a word such as "auto".

    The most that it may be has a name, which the error tells.
    """
    if word is not None and isinstance(value, str) and value == word:
        return
    choice = f"an integer of at least {minimum}" + (f" or {word!r}" if word else "")
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not an integer; use {choice}")
    if value < minimum:
        raise ValueError(f"{name}={value} is too small; use {choice}")
    if most is not None and int(value) > most[1]:
        allowed = f"at most {most[1]}" + (f" or {word!r}" if word else "")
        raise ValueError(f"{name}={value} exceeds {most[0]}={most[1]}; use {allowed}")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless a value is a finite number of at least 0."""
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r} is not a number; use a finite number of at least 0")
    if not 0 <= value < np.inf:
        raise ValueError(f"{name}={value} is out of range; use a finite number of at least 0")


def check_threads(n_threads: Any) -> None:
    """Raise unless the number of threads is None, or an integer that kernels can take."""
    if n_threads is None:
        return
    check_count("n_threads", n_threads)
    if n_threads > MAX_THREADS:
        raise ValueError(
            f"n_threads={n_threads} is too large; use at most {MAX_THREADS}, or None for all"
        )


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise unless a value is one of the given choices."""
    known = list(choices)
    if not any(value is choice or value == choice for choice in known):
        listed = ", ".join(repr(choice) for choice in known)
        raise ValueError(f"{name}={value!r} is not known; use one of {listed}")


def check_init(init: ArrayLike, n_clusters: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the first centers (k, d) as float64, or their row indices (k,) as int64.

    Centers are checked as the rows are: they are finite numbers whose squares do not overflow.
    """
    n_samples, n_features = shape
    allowed = f"centers of shape ({n_clusters}, {n_features}) or {n_clusters} row indices"
    try:
        given = np.asarray(init)
        given = given.astype(np.float64) if given.dtype == object else given
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"init is not an array of numbers ({first_line(error)}); pass {allowed}"
        ) from error
    if given.shape == (n_clusters,) and np.issubdtype(given.dtype, np.integer):
        if given.min() < 0 or given.max() >= n_samples:
            raise ValueError(
                f"init names rows {given.min()} to {given.max()} of n_samples={n_samples}; "
                f"use indices from 0 to {n_samples - 1}"
            )
        return given.astype(np.int64)
    if given.shape != (n_clusters, n_features):
        raise ValueError(f"init has shape {given.shape}; pass {allowed}")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"init has entries of type {given.dtype}; use integers or real numbers")
    centers = np.require(given, np.float64, ["C", "A", "E"])
    if not np.isfinite(centers).all():
        row, column = np.argwhere(~np.isfinite(centers))[0]
        raise ValueError(
            f"init contains {centers[row, column]} at row {row}, column {column}; "
            "use finite centers"
        )
    largest = float(np.max(np.abs(centers)))
    if squares_overflow(largest, shape):
        raise ValueError(
            f"init reaches {largest:.3g}, so that sums of squares overflow float64; "
            "use centers in the range of X"
        )
    return centers


def check_centers(name: str, centers: Any, n_features: int, advice: str) -> NDArray[Any]:
    """Return the centers of a model; raise, with advice, unless kernels can measure with them."""
    kind = getattr(centers, "dtype", None)
    if not isinstance(centers, np.ndarray) or kind not in (np.float32, np.float64):
        raise ValueError(
            f"{name} has the type {kind or type(centers).__name__} and not float32 or float64; "
            f"{advice}"
        )
    if centers.ndim != 2 or len(centers) == 0 or centers.shape[1] != n_features:
        raise ValueError(
            f"{name} has shape {centers.shape} and not one row for each cluster and "
            f"{n_features} columns; {advice}"
        )
    if not np.isfinite(centers).all():
        raise ValueError(f"{name} holds NaN or infinity; {advice}")
    largest = float(np.max(np.abs(centers)))
    if squares_overflow(largest, (1, n_features)):
        raise ValueError(f"{name} reaches {largest:.3g}, so that distances overflow; {advice}")
    return centers


def squares_overflow(largest: float, shape: tuple[int, int]) -> bool:
    """Return whether sums of squares could overflow float64, of differences in such an array."""
    with np.errstate(over="ignore"):  # an overflow gives infinity
        return not 4 * np.float64(largest) ** 2 * shape[0] * shape[1] < 1e300

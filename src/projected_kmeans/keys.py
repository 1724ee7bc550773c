"""Keys: the single number that fixes all randomness of a run.

Turns scikit-learn's ``random_state`` into a key, and a key into streams; draws nothing global.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from projected_kmeans import _native

RandomState: TypeAlias = int | np.random.RandomState | None

# The first word of a stream's path: one number for each use of a key, never reused.
SEEDING = 1
LOCAL_SEARCH = 2
CERTIFICATE = 4
SPECTRAL_ROWS = 5
SAMPLED_COLUMNS = 6
SWEEP = 11
REFERENCE_ROWS = 12
SUBSAMPLE = 13
PROBE = 14
STREAM = 15
REPORT_ROWS = 21


def resolve_key(random_state: RandomState) -> int:
    """Return the key for a ``random_state``: an integer below 2**64.

    A non-negative integer is its own key, so a run can be repeated from the ``key_`` it reports.

    Examples
    --------
    >>> resolve_key(7)
    7
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(
                f"random_state={random_state} is no key; use an integer from 0 to 2**64 - 1"
            )
        return int(random_state)
    generator = check_random_state(random_state)
    return int(generator.randint(0, 2**63 - 1, dtype=np.int64))


def open_stream(key: int, *path: int) -> np.random.Generator:
    """Return the generator of one named use of the key, independent of all other paths."""
    seeds = np.random.SeedSequence(key, spawn_key=path)
    return np.random.Generator(np.random.Philox(seeds))


def draw_signs(
    key: int, shape: tuple[int, int], *, row: int = 0, column: int = 0
) -> NDArray[np.int8]:
    """Return a rectangle of the infinite sign matrix of the key, entries -1 and +1.

    Entry (i, j) is a pure function of (key, row + i, column + j): the same on every machine, and
    the same whichever rectangle it is drawn in. The paper's R is this matrix over sqrt(t).

    Parameters
    ----------
    key : int
        What fixes the matrix.
    shape : (int, int)
        Rows (features) and columns (components) of the rectangle.
    row, column : int, default=0
        Its upper left corner.

    Examples
    --------
    >>> draw_signs(7, (2, 4))
    array([[ 1, -1,  1,  1],
           [ 1,  1, -1,  1]], dtype=int8)
    >>> draw_signs(7, (1, 2), row=1, column=2)
    array([[-1,  1]], dtype=int8)
    """
    signs = np.empty(shape, dtype=np.int8)
    _native.sign_rectangle(key, row, column, signs)
    return signs


def draw_words(
    key: int, shape: tuple[int, int], *, row: int = 0, column: int = 0
) -> NDArray[np.uint64]:
    """Return a rectangle of uniform 64-bit words, each a pure function of its coordinates."""
    words = np.empty(shape, dtype=np.uint64)
    _native.word_rectangle(key, row, column, words)
    return words

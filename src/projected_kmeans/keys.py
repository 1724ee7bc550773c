"""Keys: the one number that determines all random choices of a run.

`resolve_key` turns scikit-learn's ``random_state`` into a key. `open_stream` turns a key into a
random generator for one purpose; `draw_signs` and `draw_words` turn it into random matrices whose
entries can be computed one by one. No global random state is used.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from projected_kmeans import _native

RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None

# The first number of a path given to `open_stream`: one for each purpose, never reused.
SEEDING = 1
CERTIFICATE = 4
SPECTRAL_ROWS = 5
SAMPLED_COLUMNS = 6
SWEEP = 11
REFERENCE_ROWS = 12
SUBSAMPLE = 13
PROBE = 14
STREAM = 15
DEAL = 16
SWAPS = 17
SOLVER = 18
TRIMMING = 19
REPORT_ROWS = 21
FEW_ROWS = 22
CENTER_DIRECTIONS = 23


def resolve_key(random_state: RandomState) -> int:
    """Return the key for a ``random_state``: an integer below 2**64.

    A non-negative integer is its own key, so that a run can be repeated from the ``key_`` that the
    estimator reports. For None, a `RandomState` and a `Generator` a key is drawn.

    Examples
    --------
    >>> resolve_key(7)
    7
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(
                f"random_state={random_state} is out of range; use an integer from 0 to 2**64 - 1"
            )
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**63 - 1))
    generator = check_random_state(random_state)
    return int(generator.randint(0, 2**63 - 1, dtype=np.int64))


def open_stream(key: int, *path: int) -> np.random.Generator:
    """Return the random generator of a key for one purpose; those of other paths are independent.

    A path is one of the numbers at the top of this module, then any further numbers, such as the
    index of a restart.
    """
    seeds = np.random.SeedSequence(key, spawn_key=path)
    return np.random.Generator(np.random.Philox(seeds))


def draw_signs(
    key: int, shape: tuple[int, int], *, row: int = 0, column: int = 0
) -> NDArray[np.int8]:
    """Return a rectangle of the infinite sign matrix of the key, entries -1 and +1.

    Entry (i, j) is a function of (key, row + i, column + j) alone: it is the same on every machine,
    in whichever rectangle it is drawn. The paper's R is this matrix divided by sqrt(t).

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
    """Return a rectangle of the infinite matrix of uniform random 64-bit words of the key.

    As in `draw_signs`, an entry depends on the key and its own row and column alone.
    """
    words = np.empty(shape, dtype=np.uint64)
    _native.word_rectangle(key, row, column, words)
    return words

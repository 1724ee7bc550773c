"""Tasks: what a pass does with every block of rows, as a value that can be sent to other processes.

A task is a kernel and the arrays that it uses. Each array has a role, which says whether the kernel
gets the part for its rows or the whole array, and how the results of blocks are merged. Where the
rows lie and what is computed from them is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Called after a block with the number of rows done, including rows before the start of the walk.
OnBlock: TypeAlias = Callable[[int], object]


class Block(NamedTuple):
    """Consecutive rows and the index of the first among all rows."""

    start: int
    rows: Any  # an array of contiguous rows, or a CSR array with ascending indices

    @property
    def span(self) -> slice:
        """The range of the block's rows among all rows."""
        return slice(self.start, self.start + self.rows.shape[0])


class Role(Enum):
    """What a kernel does with an array.

    READ, UPDATE and FILL are for arrays with an entry for each row: the kernel gets the part for
    the rows of its block, and with FILL it does not read it. ADD, MINIMUM, MAXIMUM and FIRST are
    for totals over all rows: the kernel gets the whole array, and the totals of several blocks can
    be merged in any order, so sums must be exact. FIRST is for lists of rows of the type `RANKED`,
    merged by `merge_ranked`: each list keeps the rows that come first.
    """

    READ = "read"
    UPDATE = "update"
    FILL = "fill"
    ADD = "add"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    FIRST = "first"

    def __init__(self, word: str) -> None:
        self.of_rows = word in ("read", "update", "fill")  # the array has an entry for each row

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the total of no rows, to which the totals of blocks are merged."""
        return np.full(shape, np.array(_EMPTY[self], dtype), dtype)

    def merge(self, into: NDArray[Any], other: NDArray[Any]) -> None:
        """Merge the total of other blocks into a total of the same role."""
        _MERGE[self](into, other, out=into)


# A row in a list that is ordered by key, and by row where keys are equal.
RANKED = np.dtype([("key", np.float64), ("row", np.int64)])


def merge_ranked(one: NDArray[Any], other: NDArray[Any], out: NDArray[Any]) -> None:
    """Write to ``out`` the first rows of both lists, of the type `RANKED`, along the last axis."""
    both = np.concatenate([one, other], axis=-1)
    order = np.lexsort((both["row"], both["key"]), axis=-1)[..., : out.shape[-1]]
    out[...] = np.take_along_axis(both, order, -1)


_EMPTY = {
    Role.ADD: 0.0,
    Role.MINIMUM: np.inf,
    Role.MAXIMUM: -np.inf,
    Role.FIRST: (np.inf, -1),  # no row
}
_MERGE: dict[Role, Callable[..., object]] = {
    Role.ADD: np.add,
    Role.MINIMUM: np.minimum,
    Role.MAXIMUM: np.maximum,
    Role.FIRST: merge_ranked,
}


class Use(NamedTuple):
    """An array and what a kernel does with it; None is handed to the kernel as None.

    With the role FILL it may be new rows on a Dask cluster, made by `BlockSource.new_rows`.
    """

    role: Role
    array: Any


# Each is called with an array and says what a kernel does with it.
read = partial(Use, Role.READ)
update = partial(Use, Role.UPDATE)
fill = partial(Use, Role.FILL)
add = partial(Use, Role.ADD)
minimum = partial(Use, Role.MINIMUM)
maximum = partial(Use, Role.MAXIMUM)
first = partial(Use, Role.FIRST)


@dataclass(frozen=True)
class Task:
    """A kernel and the arrays that it uses, called as ``kernel(block, *parts)`` for each block.

    It must be possible to pickle the kernel, because it may be sent to other processes: use a
    `functools.partial` of a function of a module, with the arguments that are the same for all
    blocks. It raises a ValueError where rows are bad.
    """

    kernel: Callable[..., object]
    uses: tuple[Use, ...] = ()

    def parts(self, span: slice) -> list[Any]:
        """Return what the kernel gets of its arrays for a range of rows."""
        return [
            use.array[span] if use.role.of_rows and use.array is not None else use.array
            for use in self.uses
        ]

    def run(self, block: Block) -> None:
        """Call the kernel with a block of rows in this process."""
        self.kernel(block, *self.parts(block.span))


def prepare(change: Callable[[Any], Any], tasks: Sequence[Task]) -> Task:
    """Return some tasks as one task, which changes the rows of a block and then does them all."""
    kernels = tuple((task.kernel, len(task.uses)) for task in tasks)
    return Task(_Prepared(change, kernels), tuple(use for task in tasks for use in task.uses))


@dataclass(frozen=True)
class _Prepared:
    """The kernel of `prepare`: each of its kernels takes the next ``n_parts`` of all parts."""

    change: Callable[[Any], Any]
    kernels: tuple[tuple[Callable[..., object], int], ...]

    def __call__(self, block: Block, *parts: Any) -> None:
        changed, first = Block(block.start, self.change(block.rows)), 0
        for kernel, n_parts in self.kernels:
            kernel(changed, *parts[first : first + n_parts])
            first += n_parts

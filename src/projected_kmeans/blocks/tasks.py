"""Walks: what a pass does with every block of rows, as a value that can be sent to where they lie.

Knows blocks and arrays; it does not know where rows are, nor what is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Told how many rows are done, those before the first of a walk included.
OnBlock: TypeAlias = Callable[[int], object]


class Block(NamedTuple):
    """Consecutive rows and the index of the first.

    Rows are an array with unit stride inside a row, or a CSR array with ascending indices; kernels
    take either.
    """

    start: int
    rows: Any

    @property
    def span(self) -> slice:
        """Where the block's rows stand among all rows."""
        return slice(self.start, self.start + self.rows.shape[0])


class Role(Enum):
    """What a kernel does with an array.

    Of the first three it is handed the part that belongs to the block's rows, of the others all:
    what blocks bring to these can be merged in any order.
    """

    READ = "read"
    UPDATE = "update"
    FILL = "fill"
    ADD = "add"
    LEAST = "least"
    MOST = "most"

    @property
    def of_rows(self) -> bool:
        """Whether the array has an entry for each row."""
        return self in (Role.READ, Role.UPDATE, Role.FILL)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return what a merged array is before the first block."""
        return np.full(shape, _EMPTY[self], dtype)

    def merge(self, into: NDArray[Any], other: NDArray[Any]) -> None:
        """Take what other blocks brought into an array of the same role."""
        _MERGE[self](into, other, out=into)


_EMPTY = {Role.ADD: 0.0, Role.LEAST: np.inf, Role.MOST: -np.inf}
_MERGE = {Role.ADD: np.add, Role.LEAST: np.minimum, Role.MOST: np.maximum}


class Use(NamedTuple):
    """An array and what a kernel does with it; None where a kernel takes none.

    What is filled may be a place for rows elsewhere, which the source of a walk made.
    """

    role: Role
    array: Any

    def part(self, span: slice) -> Any:
        """Return what the kernel is handed for some rows."""
        return self.array[span] if self.role.of_rows and self.array is not None else self.array


def read(array: NDArray[Any] | None) -> Use:
    """Let a kernel read its rows' part of an array."""
    return Use(Role.READ, array)


def update(array: NDArray[Any]) -> Use:
    """Let a kernel read and overwrite its rows' part of an array."""
    return Use(Role.UPDATE, array)


def fill(array: Any) -> Use:
    """Let a kernel overwrite its rows' part of an array, whatever it holds."""
    return Use(Role.FILL, array)


def add(array: NDArray[Any]) -> Use:
    """Let a kernel add to an array, in sums that are exact in any order."""
    return Use(Role.ADD, array)


def least(array: NDArray[Any]) -> Use:
    """Let a kernel lower the entries of an array."""
    return Use(Role.LEAST, array)


def most(array: NDArray[Any]) -> Use:
    """Let a kernel raise the entries of an array."""
    return Use(Role.MOST, array)


@dataclass(frozen=True)
class Task:
    """A kernel and the arrays that it is called with, as ``kernel(block, *parts)``.

    Attributes
    ----------
    kernel : callable
        It is pickled where blocks lie elsewhere, so best a `functools.partial` of a function with
        what is the same for all blocks. It raises a ValueError where rows are bad.
    uses : tuple of Use
        One for each further argument.

    Examples
    --------
    >>> def add_up(block, total):
    ...     total += block.rows.sum(axis=0)
    >>> total = np.zeros(2)
    >>> Task(add_up, (add(total),)).run(Block(0, np.ones((3, 2))))
    >>> total
    array([3., 3.])
    """

    kernel: Callable[..., object]
    uses: tuple[Use, ...] = ()

    def run(self, block: Block) -> None:
        """Call the kernel with a block of rows that lie here."""
        self.kernel(block, *[use.part(block.span) for use in self.uses])


def walk_here(
    blocks: Iterable[Block], tasks: Sequence[Task], on_block: OnBlock | None = None
) -> None:
    """Do some tasks with every block, one after the other, in this process."""
    for block in blocks:
        for task in tasks:
            task.run(block)
        if on_block is not None:
            on_block(block.span.stop)


def prepare(change: Callable[[Any], Any], tasks: Sequence[Task]) -> Task:
    """Return some tasks as one, which hands them the rows of a block after some change.

    Examples
    --------
    >>> found = np.zeros(2)
    >>> task = Task(lambda block, out: np.copyto(out, block.rows[:, 0]), (fill(found),))
    >>> prepare(lambda rows: 2 * rows, [task]).run(Block(0, np.array([[1.0], [3.0]])))
    >>> found
    array([2., 6.])
    """
    kernels = tuple((task.kernel, len(task.uses)) for task in tasks)
    return Task(_Prepared(change, kernels), tuple(use for task in tasks for use in task.uses))


@dataclass(frozen=True)
class _Prepared:
    change: Callable[[Any], Any]
    kernels: tuple[tuple[Callable[..., object], int], ...]

    def __call__(self, block: Block, *parts: Any) -> None:
        changed, first = Block(block.start, self.change(block.rows)), 0
        for kernel, n_parts in self.kernels:
            kernel(changed, *parts[first : first + n_parts])
            first += n_parts

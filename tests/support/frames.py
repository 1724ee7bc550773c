"""The Python functions between a caller and a native kernel."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any


class FrameCounter:
    """A stand-in for a kernel that notes which Python functions called it, outermost first.

    Attributes
    ----------
    calls : list of list of str
        The functions on the stack of every call.
    """

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel = kernel
        self.calls: list[list[str]] = []

    def __call__(self, *arguments: Any) -> Any:
        """Note the callers, and call the kernel."""
        self.calls.append([frame.name for frame in traceback.extract_stack()[:-1]])
        return self.kernel(*arguments)

    def find_way(self, first: str, through: str) -> list[str]:
        """Return the functions from one on, in the first call that came through another."""
        callers = next(callers for callers in self.calls if through in callers)
        return callers[callers.index(first) :]

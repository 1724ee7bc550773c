"""Ctrl-C during a fit stops it gently, so that what was found is not lost.

Knows signals and threads; what a fit does at a Ctrl-C is decided by its monitor.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["catch_interrupts"]


@contextmanager
def catch_interrupts(take: Callable[[], None]) -> Iterator[None]:
    """Call ``take`` at a Ctrl-C inside the block, instead of raising KeyboardInterrupt.

    Nothing changes outside the main thread, which alone receives signals, and in a program that
    has its own handler for Ctrl-C. Python's handler is always restored afterwards.

    Parameters
    ----------
    take : callable
        Called by the main thread between two instructions. What it raises is raised there.

    Examples
    --------
    >>> import signal
    >>> taken = []
    >>> with catch_interrupts(lambda: taken.append("once")):
    ...     signal.raise_signal(signal.SIGINT)
    >>> taken
    ['once']
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, lambda number, frame: take())
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

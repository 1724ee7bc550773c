"""Ctrl-C during a fit: taken as a wish to stop, so that what was found is not lost.

Knows signals and threads; it does not know what a fit does with the wish.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["catch_interrupts"]


@contextmanager
def catch_interrupts(take: Callable[[], None]) -> Iterator[None]:
    """Call ``take`` at a Ctrl-C inside, instead of raising KeyboardInterrupt.

    Only the main thread hears signals, and a program that handles Ctrl-C in its own way keeps
    doing so: elsewhere nothing changes. Python's own handler is back afterwards in any case.

    Parameters
    ----------
    take : callable
        Called between two instructions of the main thread; what it raises is raised there.

    Examples
    --------
    >>> import signal
    >>> taken = []
    >>> with catch_interrupts(lambda: taken.append("once")):
    ...     signal.raise_signal(signal.SIGINT)
    >>> taken
    ['once']
    """
    hears = threading.current_thread() is threading.main_thread()
    if not hears or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, lambda number, frame: take())
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Signals: Ctrl-C stops a fit gently, and SIGTERM ends a command after it has cleaned up.

Knows signals and threads; what a fit does at a Ctrl-C is decided by its monitor.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = [
    "Terminated",
    "await_interrupt",
    "catch_interrupts",
    "raise_at_interrupt",
    "raise_at_termination",
]

# What a system or a closed terminal sends to end a process. Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
# How often a process that only waits looks for signals.
WAITED_SECONDS = 0.5
# Seconds after which a lost signal is sent again: longer than it takes to delete an object.
MOMENT = 0.05


class Terminated(BaseException):
    """A signal of this number asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        # Shells give such an exit code to a process that this signal ended: 143 for SIGTERM.
        self.number, self.exit_code = number, 128 + number


@contextmanager
def raise_at_termination() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM or SIGHUP inside the block, so that all is cleaned up.

    Without it the system ends the process at once, and temporary files and child processes stay.
    A second signal does so. Nothing changes outside the main thread, and for signals that have a
    handler or are ignored already, as by nohup.

    Python drops what is raised while it deletes an object, and prints a traceback of it. If a
    signal or a Ctrl-C arrives just then, it is sent again a moment later, and nothing is printed.
    """
    is_main = threading.current_thread() is threading.main_thread()
    ours = [one for one in ENDING if is_main and signal.getsignal(one) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
        raise Terminated(number)

    def send_again(dropped: sys.UnraisableHookArgs) -> None:
        error = dropped.exc_value
        if isinstance(error, Terminated):
            for one in ours:
                signal.signal(one, end)
        elif not isinstance(error, KeyboardInterrupt):
            show_dropped(dropped)
            return
        number = error.number if isinstance(error, Terminated) else signal.SIGINT
        timer = threading.Timer(MOMENT, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()

    show_dropped = sys.unraisablehook
    try:
        for one in ours:
            signal.signal(one, end)
        if is_main:
            sys.unraisablehook = send_again
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
        if is_main:
            sys.unraisablehook = show_dropped


@contextmanager
def catch_interrupts(take: Callable[[], None]) -> Iterator[None]:
    """Call ``take`` at a Ctrl-C inside the block, instead of raising KeyboardInterrupt.

    Nothing changes outside the main thread, which alone receives signals, and in a program that
    has its own handler for Ctrl-C. Python's handler is always restored afterwards. What ``take``
    raises is raised in the main thread, between two instructions.
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


@contextmanager
def raise_at_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at a Ctrl-C inside the block, also while a fit runs.

    A fit keeps its best result so far at a Ctrl-C. Where that would be taken for the result of a
    whole fit, as in a stored measurement, the block must end instead. Nothing changes outside the
    main thread, and in a program that has its own handler for Ctrl-C.
    """

    def end() -> None:
        raise KeyboardInterrupt

    with catch_interrupts(end):
        yield


@contextmanager
def await_interrupt() -> Iterator[Callable[[], None]]:
    """Yield a function that waits until Ctrl-C is pressed.

    A Ctrl-C that comes earlier inside the block counts, so that a command can first say how it is
    ended and then wait. A second one is raised as a KeyboardInterrupt.
    """
    # Unlike an Event, it may be filled by a signal that arrives while its lock is held.
    pressed: queue.SimpleQueue[None] = queue.SimpleQueue()

    def take() -> None:
        if not pressed.empty():
            raise KeyboardInterrupt
        pressed.put(None)

    def wait() -> None:
        # In pieces, because Python looks for signals between them: one that arrives just before an
        # endless wait would not end it.
        while True:
            with suppress(queue.Empty):
                return pressed.get(timeout=WAITED_SECONDS)

    with catch_interrupts(take):
        yield wait

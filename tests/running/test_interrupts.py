"""Ctrl-C inside a block: who gets it, and what is left of the handler afterwards."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest

from projected_kmeans.running.interrupts import (
    Terminated,
    await_interrupt,
    catch_interrupts,
    raise_at_interrupt,
    raise_at_termination,
)


def test_every_ctrl_c_is_taken() -> None:
    """Inside the block a Ctrl-C calls the function; afterwards Python raises as before."""
    taken: list[int] = []
    with catch_interrupts(lambda: taken.append(1)):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert taken == [1, 1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_the_function_raises_comes_out() -> None:
    """An exception of the function leaves the block, and the handler is restored."""

    def take() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), catch_interrupts(take):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_may_end_at_ctrl_c_though_a_fit_would_stop_gently() -> None:
    """Inside the outer block Ctrl-C raises, whatever an inner block would do."""
    with pytest.raises(KeyboardInterrupt), raise_at_interrupt(), catch_interrupts(pytest.fail):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_the_program_is_kept() -> None:
    """A program that handles Ctrl-C itself goes on doing so."""
    own: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: own.append(number))
    try:
        with catch_interrupts(lambda: pytest.fail("the program's handler was replaced")):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert own == [signal.SIGINT]


def test_other_threads_change_nothing() -> None:
    """In another thread, which receives no signals, the block is entered and left."""
    entered: list[bool] = []

    def work() -> None:
        with catch_interrupts(lambda: None):
            entered.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]


def test_a_wait_ends_at_ctrl_c_before_or_during_it() -> None:
    """A Ctrl-C counts from the beginning of the block on, and each wait takes one."""
    with await_interrupt() as wait:
        signal.raise_signal(signal.SIGINT)
        wait()
        timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
        timer.start()
        wait()
        timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_before_the_wait_is_raised() -> None:
    """Whatever keeps a command from its wait can be ended."""
    with await_interrupt():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_is_raised(number: int) -> None:
    """What is open when the signal comes is closed, and the code is that of shells."""
    closed = []

    def end() -> None:
        with raise_at_termination():
            try:
                signal.raise_signal(number)
            finally:
                closed.append(signal.getsignal(number))

    before = signal.signal(number, signal.SIG_DFL)  # nohup may have these tests ignore SIGHUP
    try:
        with pytest.raises(Terminated) as caught:
            end()
        assert caught.value.exit_code == 128 + number
        assert closed == [signal.SIG_DFL]  # a second signal ends the process at once
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_other_handlers_of_termination_stay() -> None:
    """A signal that is ignored, as by nohup, stays ignored, and threads set no handler."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with raise_at_termination():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    seen = []

    def look() -> None:
        with raise_at_termination():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]


class SignalAtEnd:
    """Sends a signal to this process while it is deleted."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        """Send the signal, and wait until its handler has run."""
        signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_meets_a_deletion_is_not_lost(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is raised a moment later, and Python's notice of the dropped exception is not printed."""
    before = sys.unraisablehook
    raised = KeyboardInterrupt if number == signal.SIGINT else Terminated

    def wait() -> None:
        with raise_at_termination():
            doomed = SignalAtEnd(number)
            del doomed
            time.sleep(30)

    with pytest.raises(raised):
        wait()
    assert capfd.readouterr().err == ""
    assert sys.unraisablehook is before


class ErrorAtEnd:
    """Raises an error while it is deleted."""

    def __del__(self) -> None:
        """Raise the error, which Python drops."""
        raise KeyError("mine")


def test_other_errors_of_deletions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that Python drops and that is no signal is told as it is outside the block."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))
    with raise_at_termination():
        doomed = ErrorAtEnd()
        del doomed
    assert told == [KeyError]

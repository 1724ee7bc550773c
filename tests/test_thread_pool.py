"""Pools of Python threads do their work on fewer threads where the system starts no more."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from projected_kmeans.thread_pool import ThreadPool


def limit_threads(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> list[threading.Thread]:
    """Let only this many threads start; return the list of those that did."""
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def start_some(self: threading.Thread, *arguments: Any) -> None:
        if len(started) == n_threads:
            raise RuntimeError("can't start new thread")
        start(self, *arguments)
        started.append(self)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    return started


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_that_start_do_all_the_work(
    monkeypatch: pytest.MonkeyPatch, n_threads: int
) -> None:
    """Work that asked for more threads than start is done in its order, and no work is lost."""
    started = limit_threads(monkeypatch, n_threads)
    first = threading.Event()

    def square(number: int) -> int:
        if number < n_threads:  # those that started are busy, so that the pool wants more
            assert first.wait(60)
        return number * number

    with ThreadPool(8) as pool:
        waiting = [pool.submit(square, number) for number in range(20)]
        first.set()
        assert [one.result(60) for one in waiting] == [number**2 for number in range(20)]
    assert len(started) == n_threads


def test_a_pool_without_any_thread_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not one thread starts, the work would wait forever; so the error is not hidden."""
    limit_threads(monkeypatch, 0)
    with ThreadPool(8) as pool, pytest.raises(RuntimeError, match="start new thread"):
        pool.submit(abs, -1)

"""Parts run side by side; errors and Ctrl-C end all of them."""

from __future__ import annotations

import threading
import time

import pytest

from projected_kmeans.certificates.semidefinite.side_by_side import work_side_by_side
from projected_kmeans.running.deadlines import Deadline

PARTS = [range(first, first + 3) for first in range(0, 12, 3)]


def test_two_parts_run_at_a_time() -> None:
    """Two threads meet in their parts, which would wait for ever one after the other."""
    barrier = threading.Barrier(2)

    def meet(part: range, deadline: Deadline) -> float:
        barrier.wait(timeout=60)
        return float(sum(part))

    found = work_side_by_side(PARTS, meet, n_threads=2, deadline=Deadline())
    assert found == [3.0, 12.0, 21.0, 30.0]


def test_an_error_ends_all_parts() -> None:
    """What a part raises is raised, and parts that were not begun never begin."""
    begun = []

    def fail(part: range, deadline: Deadline) -> None:
        begun.append(part)
        raise MemoryError("too large")

    with pytest.raises(MemoryError, match="too large"):
        work_side_by_side(PARTS, fail, n_threads=1, deadline=Deadline())
    assert len(begun) <= len(PARTS)


def test_an_interrupt_ends_all_parts() -> None:
    """If the thread that waits is interrupted, the deadline of running parts is over."""
    ended = []

    def wait(part: range, deadline: Deadline) -> bool:
        while not deadline.is_over and part[0] > 0:
            time.sleep(0.001)
        ended.append(float(part[0]))
        return True

    def interrupt(found: bool) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_side_by_side(PARTS, wait, n_threads=2, deadline=Deadline(), on_item=interrupt)
    assert 0.0 in ended


def test_time_is_divided_among_parts() -> None:
    """Of one hour, the first of four parts gets a quarter, or half if two run at a time."""
    for n_threads, share in ((1, 900), (2, 1800)):
        shares: list[float] = []

        def note(part: range, deadline: Deadline, into: list[float] = shares) -> bool:
            into.append(deadline.seconds_left)
            return True

        limit = Deadline(3600)
        work_side_by_side(PARTS, note, n_threads=n_threads, deadline=limit)
        assert min(shares) == pytest.approx(share, abs=60)

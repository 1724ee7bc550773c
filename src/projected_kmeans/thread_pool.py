"""A pool of Python threads that is content with fewer threads than it may have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor  # noqa: TID251


class ThreadPool(ThreadPoolExecutor):
    """A pool whose work goes on if the system does not start more threads.

    A system refuses threads where the address space has no room for their stacks, or where a
    process may have no more of them. Python's own pool then fails, and only sometimes: it starts a
    thread when it has none that waits, which depends on how fast the others are. Here, the threads
    that did start do the work. A pool without any thread fails, as Python's does.
    """

    def _adjust_thread_count(self) -> None:
        try:
            super()._adjust_thread_count()
        except RuntimeError:  # "can't start new thread"; the work waits in the queue already
            if not self._threads:
                raise

"""The live page of a running fit: its progress, and a button that stops it.

Receives progress through the estimator's callback; `page_server` serves the page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from projected_kmeans.reports.page import read_script, render_template
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.reports.plots import load_script
from projected_kmeans.results import FitState

# The most passes in the plot. Beyond that, every second point is dropped.
MAX_DRAWN_PASSES = 400


class LiveFit:
    """The state of a running fit, shared between the fit and the page; safe for threads.

    Examples
    --------
    >>> live = LiveFit("rows.npy", 3)
    >>> listen = live.listen()
    >>> listen(FitState("cluster", 0, 5, 300, 12.5, 1.0))
    False
    >>> live.stop()
    >>> listen(FitState("cluster", 0, 6, 300, 12.0, 1.1))
    True
    >>> state = live.state()
    >>> state["inertia"], state["stopping"], state["finished"]
    (12.0, True, False)
    """

    def __init__(self, name: str, n_clusters: int) -> None:
        self._lock = threading.Lock()
        self._live_page = render_template(
            "live.html", name=name, n_clusters=n_clusters, script=read_script("live.js")
        )
        self._state: FitState | None = None
        self._began = 0.0
        self._line: list[float] = []
        self._run: tuple[str, int] | None = None
        self._stride, self._skipped = 1, 0
        self._stopping = False
        self._page: str | None = None

    def listen(
        self, also: Callable[[FitState], object] | None = None
    ) -> Callable[[FitState], bool]:
        """Return a callback for the estimator; ``also`` is another one, which may stop the fit."""

        def hear(state: FitState) -> bool:
            with self._lock:
                self._note(state)
                stop = self._stopping
            return bool(also is not None and also(state)) or stop

        return hear

    def stop(self) -> None:
        """Ask the fit to stop after its current pass."""
        with self._lock:
            self._stopping = True

    def finish(self, page: str) -> None:
        """Serve the given page, the report, from now on."""
        with self._lock:
            self._page = page

    def state(self) -> dict[str, Any]:
        """Return the progress of the fit, as JSON can hold it."""
        with self._lock:
            state = self._state
            known = {"stopping": self._stopping, "finished": self._page is not None}
            if state is None:
                return {"step": None, **known}
            return {
                "step": state.step,
                "restart": state.restart,
                "iteration": state.iteration,
                "total": state.total,
                "inertia": state.inertia,
                "seconds": state.seconds,
                "step_left": self._step_left(state),
                "line": list(self._line),
                **known,
            }

    def page(self) -> str:
        """Return the live page, or the report after `finish`."""
        with self._lock:
            return self._live_page if self._page is None else self._page

    def _note(self, state: FitState) -> None:
        """Record a state; keep every ``_stride``-th inertia of the current restart for the plot."""
        if self._state is None or self._state.step != state.step:
            self._began = self._state.seconds if self._state is not None else 0.0
        run = (state.step, state.restart)
        if state.inertia is not None and state.step in ("cluster", "polish"):
            if run != self._run:
                self._run, self._line, self._stride, self._skipped = run, [], 1, 0
            self._skipped += 1
            if self._skipped >= self._stride:
                self._line.append(state.inertia)
                self._skipped = 0
            if len(self._line) > MAX_DRAWN_PASSES:
                self._line, self._stride = self._line[::2], 2 * self._stride
        self._state = state

    def _step_left(self, state: FitState) -> float | None:
        """Return the seconds that the step takes if it uses all its units, at the rate so far."""
        spent = state.seconds - self._began
        if state.iteration < 1 or spent <= 0:
            return None
        return (state.total - state.iteration) * spent / state.iteration


@contextmanager
def watch_fit(name: str, n_clusters: int, port: int = 0) -> Iterator[tuple[LiveFit, str]]:
    """Serve the live page of a fit that is about to run; yield its `LiveFit` and its address.

    Port 0 chooses a free one.
    """
    load_script()  # a missing package is reported now and not after a long fit
    live = LiveFit(name, n_clusters)
    with PageServer(live.page, live.state, live.stop, port) as server:
        yield live, server.address

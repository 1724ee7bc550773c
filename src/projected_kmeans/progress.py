"""Show the steps of a fit live on a terminal, fed by the estimator's callback.

It does not print where nobody watches: in a pipe it gives no callback at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from projected_kmeans.results import FitState

__all__ = ["show_progress"]


@contextmanager
def show_progress(
    console: Console | None = None, *, quiet: bool = False
) -> Iterator[Callable[[FitState], bool] | None]:
    """Open a live display of a fit.

    Parameters
    ----------
    console : rich.console.Console or None
        Where to draw; None takes the standard error stream.
    quiet : bool
        Whether to draw nothing, even on a terminal.

    Yields
    ------
    callable or None
        The callback to give to the estimator; None unless the console is a terminal.

    Examples
    --------
    >>> import io
    >>> with show_progress(Console(file=io.StringIO())) as callback:
    ...     print(callback)
    None
    """
    console = console or Console(stderr=True)
    if quiet or not console.file.isatty():  # not console.is_terminal, which FORCE_COLOR can turn on
        yield None
        return
    with _open_display(console) as display:
        yield _feed(display)


def _open_display(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),  # shows life in a step that reports no progress of its own
        TextColumn("{task.description:<12}"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:>5.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[detail]}"),
        console=console,
        transient=True,
    )


def _feed(display: Progress) -> Callable[[FitState], bool]:
    """Return a callback that gives every step one line, and never asks to stop."""
    tasks: dict[str, TaskID] = {}

    def update(state: FitState) -> bool:
        if state.step not in tasks:
            for task in display.tasks:  # a step that converged early is done all the same
                done = max(task.completed, 1)
                display.update(task.id, completed=done, total=done)
            tasks[state.step] = display.add_task(state.step, total=state.total, detail="")
        details = [
            f"{state.seconds:.1f} s",
            f"restart {state.restart + 1}" if state.restart else "",
            "" if state.inertia is None else f"inertia {state.inertia:.6g}",
        ]
        display.update(
            tasks[state.step],
            completed=state.iteration,
            total=max(state.total, state.iteration, 1),
            detail=", ".join(filter(None, details)),
        )
        return False

    return update
